/** Variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where a Prometheus endpoint listens. */
export interface PrometheusOptions {
  /** Default: OTEL_EXPORTER_PROMETHEUS_PORT, else 9464. 0: any port that is free. */
  readonly port?: number | undefined;
  /** Default: OTEL_EXPORTER_PROMETHEUS_HOST, else 127.0.0.1. */
  readonly host?: string | undefined;
}

/** What goes where. `undefined` leaves it to the SDK, which reads the same variables. */
export interface Destinations {
  readonly isDisabled: boolean;
  /** Exporters by name, as OTEL_TRACES_EXPORTER and its like list them; none where nobody configured one. */
  readonly traces: readonly string[];
  readonly metrics: readonly string[];
  readonly logs: readonly string[];
  readonly prometheus: { readonly port: number; readonly host: string } | undefined;
}

/**
 * Reads the standard variables. Unlike the SDK alone, an exporter is chosen only where somebody named it or a
 * collector: the SDK's own default is a collector on localhost, which few people have.
 *
 * @throws TypeError or RangeError for a port that is none.
 */
export function destinationsOf(env: Environment, option: boolean | PrometheusOptions | undefined): Destinations {
  const isDisabled = env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true';
  const named = exporters(env, 'METRICS');
  const isSound =
    option === undefined || typeof option === 'boolean' || (typeof option === 'object' && option !== null);
  if (!isSound) {
    throw new TypeError(`startTelemetry: prometheus: expected true, false or { port, host }, found ${String(option)}`);
  }
  const isAsked = option === undefined ? named.includes('prometheus') : option !== false;
  const pushed = named.filter((name) => name !== 'prometheus');
  // Whoever serves metrics and names a collector for everything means the traces; for both, it is said.
  const isPushed = !isAsked || listed(env.OTEL_METRICS_EXPORTER).length > 0 || isSet(env, 'METRICS');
  return {
    isDisabled,
    traces: exporters(env, 'TRACES'),
    metrics: [...(isPushed ? pushed : []), ...(isAsked ? ['prometheus'] : [])],
    logs: exporters(env, 'LOGS'),
    prometheus: isAsked ? address(env, typeof option === 'object' ? option : {}) : undefined,
  };
}

function exporters(env: Environment, signal: 'TRACES' | 'METRICS' | 'LOGS'): readonly string[] {
  const names = listed(env[`OTEL_${signal}_EXPORTER`]);
  if (names.includes('none')) return [];
  if (names.length > 0) return names;
  return isSet(env, signal) || filled(env.OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined ? ['otlp'] : [];
}

function isSet(env: Environment, signal: string): boolean {
  return filled(env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]) !== undefined;
}

function address(env: Environment, { port, host }: PrometheusOptions): { port: number; host: string } {
  const chosen = port ?? filled(env.OTEL_EXPORTER_PROMETHEUS_PORT) ?? 9464;
  const number = Number(chosen);
  if (!Number.isInteger(number) || number < 0 || number > 65_535) {
    const from = port === undefined ? 'OTEL_EXPORTER_PROMETHEUS_PORT' : 'prometheus.port';
    throw new RangeError(`startTelemetry: ${from}: expected a port, 0 to 65535, found ${JSON.stringify(chosen)}`);
  }
  return { port: number, host: host ?? filled(env.OTEL_EXPORTER_PROMETHEUS_HOST) ?? '127.0.0.1' };
}

function listed(value: string | undefined): readonly string[] {
  const names = (value ?? '').split(',').map((name) => name.trim());
  return [...new Set(names.filter((name) => name !== ''))];
}

/** An empty variable counts as unset, as OpenTelemetry has it. */
function filled(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim();
}
