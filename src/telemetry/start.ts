import { context, diag, metrics, propagation, trace } from '@opentelemetry/api';
import { systemClock } from '../base/clock.ts';
import { DURATION_FORM, parseDuration } from '../base/duration.ts';
import { show } from '../base/text.ts';
import type { Duration } from '../base/words.ts';
import { type Destinations, destinationsOf, type Environment, type PrometheusOptions } from './destinations.ts';
import { loadPeers, type Peers } from './peers.ts';
import { type Endpoint, type Scrape, serve } from './prometheus.ts';
import { realMeter, realTracer, registeredMeterProvider, registeredTracerProvider } from './providers.ts';

export type { PrometheusOptions } from './destinations.ts';

/** How telemetry is started. What is not said here comes from the standard `OTEL_*` variables. */
export interface StartOptions {
  /** OTEL_SERVICE_NAME, where it is set, goes before it: the same program may be deployed under several names. */
  readonly serviceName: string;
  readonly serviceVersion?: string | undefined;
  /** `deployment.environment.name`. */
  readonly environment?: string | undefined;
  /** Serves the metrics at `/metrics` instead of pushing them. Default: only where OTEL_METRICS_EXPORTER says `prometheus`. */
  readonly prometheus?: boolean | PrometheusOptions | undefined;
  /** Longest time that `shutdown` and `forceFlush` take. Default 5s. */
  readonly within?: Duration | undefined;
}

/** Telemetry that runs. */
export interface StartedTelemetry {
  /** What is exported, by the names of OTEL_TRACES_EXPORTER and its like; empty lists where nobody configured anything. */
  readonly exports: { readonly traces: readonly string[]; readonly metrics: readonly string[] };
  /** The endpoint that is served, as it is, and not as it was asked for. */
  readonly prometheus?: { readonly url: string; readonly host: string; readonly port: number };
  /** Sends what there is. Never rejects, takes `within` at most. */
  readonly forceFlush: () => Promise<void>;
  /**
   * Sends what there is and unregisters everything. Never rejects: what could not be sent is told to
   * OpenTelemetry's `diag`. Takes `within` at most; twice is once.
   */
  readonly shutdown: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

const WITHIN_MS = 5_000;

/** The one thing of Node that is here at once; everything else is loaded when it is needed. */
function process(): { readonly env: Environment; readonly emitWarning: (warning: string) => void } {
  return (globalThis as unknown as { process: ReturnType<typeof process> }).process;
}

let isStarting = false;

/**
 * Starts the OpenTelemetry SDK for an application that has none: traces and metrics go where the standard
 * variables say (OTLP), or the metrics are served to Prometheus on the loopback interface. Dispatchers made before
 * or after are seen. A collector that nobody configured is not looked for; no signal handler is installed.
 *
 * @throws Error where an SDK is registered already, the port is in use, or `@opentelemetry/sdk-node` is missing.
 * @example
 * const telemetry = await startTelemetry({ serviceName: 'agent-runtime', prometheus: true });
 * console.log(telemetry.prometheus?.url); // http://127.0.0.1:9464/metrics
 */
export async function startTelemetry(options: StartOptions): Promise<StartedTelemetry> {
  const { env } = process();
  check(options);
  const withinMs = options.within === undefined ? WITHIN_MS : parseDuration(options.within);
  if (withinMs === undefined) throw unexpected('within', DURATION_FORM, options.within);
  const destinations = destinationsOf(env, options.prometheus);
  if (destinations.isDisabled) return started({ ...destinations, traces: [], metrics: [] }, undefined, NOTHING);
  if (isStarting || isRegistered()) throw new Error(REGISTERED);
  isStarting = true;
  try {
    const running = await run(options, destinations, env, withinMs);
    return running;
  } finally {
    isStarting = false;
  }
}

const REGISTERED =
  'startTelemetry: an OpenTelemetry SDK is registered in this process already; dispatchers use that one, so this call can go.';

interface Ends {
  readonly forceFlush: () => Promise<void>;
  readonly shutdown: () => Promise<void>;
}

const NOTHING: Ends = { forceFlush: async () => {}, shutdown: async () => {} };

async function run(
  options: StartOptions,
  destinations: Destinations,
  env: Environment,
  withinMs: number,
): Promise<StartedTelemetry> {
  const { traces, metrics: measured, logs } = destinations;
  if (traces.length + measured.length + logs.length === 0) {
    const { emitWarning } = process();
    const how = 'set OTEL_EXPORTER_OTLP_ENDPOINT, or prometheus: true';
    emitWarning(`startTelemetry exports nothing, for nobody has configured where to: ${how}.`);
    return started(destinations, undefined, NOTHING);
  }
  const peers = await loadPeers();
  const reader = destinations.prometheus === undefined ? undefined : prometheusReader(peers);
  const endpoint =
    reader === undefined || destinations.prometheus === undefined
      ? undefined
      : await serve(destinations.prometheus, (request, response) => reader.getMetricsRequestHandler(request, response));
  const sdk = new peers.sdkNode.NodeSDK(configuration(options, destinations, env, peers, reader));
  sdk.start();
  const undo = unregistering(peers);
  const end = async (): Promise<void> => {
    await bounded(Promise.all([sdk.shutdown(), endpoint?.close()]), withinMs);
    undo();
  };
  return started(destinations, endpoint, { forceFlush: () => bounded(flushAll(), withinMs), shutdown: end });
}

type Configuration = ConstructorParameters<Peers['sdkNode']['NodeSDK']>[0];
type Reader = NonNullable<NonNullable<Configuration>['metricReaders']>[number];
type PrometheusReader = Reader & { readonly getMetricsRequestHandler: Scrape };

function configuration(
  { serviceName, serviceVersion, environment }: StartOptions,
  { traces, metrics: measured, logs }: Destinations,
  env: Environment,
  { sdkNode, partOfSdk }: Peers,
  prometheus: Reader | undefined,
): Configuration {
  const { resources } = sdkNode;
  const { envDetector, hostDetector, serviceInstanceIdDetector } = resources;
  const own = resources.resourceFromAttributes({
    'service.name': serviceName,
    ...(serviceVersion === undefined ? {} : { 'service.version': serviceVersion }),
    ...(environment === undefined ? {} : { 'deployment.environment.name': environment }),
  });
  const pushed = measured.filter((name) => name !== 'prometheus');
  const readers = pushed.flatMap((name) => pushReader(name, env, sdkNode, partOfSdk));
  return {
    resource: resources.defaultResource().merge(own),
    // Not the process detector: it exports the command line, and people pass secrets there. Without an id of its
    // own per process, workers of one service would overwrite each other's counts at the collector.
    ...(env.OTEL_NODE_RESOURCE_DETECTORS === undefined
      ? { resourceDetectors: [hostDetector, serviceInstanceIdDetector, envDetector] }
      : {}),
    metricReaders: prometheus === undefined ? readers : [...readers, prometheus],
    ...(traces.length === 0 ? { spanProcessors: [] } : {}),
    ...(logs.length === 0 ? { logRecordProcessors: [] } : {}),
  };
}

function pushReader(
  name: string,
  env: Environment,
  { metrics: sdk }: Peers['sdkNode'],
  partOfSdk: Peers['partOfSdk'],
): Reader[] {
  const exporter = pushExporter(name, env, sdk, partOfSdk);
  if (exporter === undefined) {
    diag.warn(`penstock: OTEL_METRICS_EXPORTER: ${JSON.stringify(name)} is not known: otlp, prometheus, console, none`);
    return [];
  }
  const exportIntervalMillis = positive(env.OTEL_METRIC_EXPORT_INTERVAL) ?? 60_000;
  const exportTimeoutMillis = Math.min(positive(env.OTEL_METRIC_EXPORT_TIMEOUT) ?? 30_000, exportIntervalMillis);
  return [new sdk.PeriodicExportingMetricReader({ exporter, exportIntervalMillis, exportTimeoutMillis })];
}

type PushExporter = ConstructorParameters<Peers['sdkNode']['metrics']['PeriodicExportingMetricReader']>[0]['exporter'];

const PROTOCOLS: Readonly<Record<string, string>> = {
  grpc: 'grpc',
  'http/json': 'http',
  'http/protobuf': 'proto',
};

function pushExporter(
  name: string,
  env: Environment,
  sdk: Peers['sdkNode']['metrics'],
  partOfSdk: Peers['partOfSdk'],
): PushExporter | undefined {
  if (name === 'console') return new sdk.ConsoleMetricExporter();
  if (name !== 'otlp') return undefined;
  const protocol = env.OTEL_EXPORTER_OTLP_METRICS_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL ?? '';
  const kind = PROTOCOLS[protocol.trim()] ?? 'proto';
  const { OTLPMetricExporter } = partOfSdk(`@opentelemetry/exporter-metrics-otlp-${kind}`) as {
    OTLPMetricExporter: new () => PushExporter;
  };
  return new OTLPMetricExporter();
}

function prometheusReader({ partOfSdk }: Peers): PrometheusReader {
  const { PrometheusExporter } = partOfSdk('@opentelemetry/exporter-prometheus') as {
    PrometheusExporter: new (options: { readonly preventServerStart: true }) => PrometheusReader;
  };
  return new PrometheusExporter({ preventServerStart: true });
}

/** Takes out of the API what was put there, and nothing that somebody else has put there since. */
function unregistering({ partOfSdk }: Peers): () => void {
  const [tracing, measuring] = [registeredTracerProvider(), registeredMeterProvider()];
  return () => {
    if (registeredMeterProvider() === measuring) metrics.disable();
    if (registeredTracerProvider() !== tracing) return;
    trace.disable();
    context.disable();
    propagation.disable();
    (partOfSdk('@opentelemetry/api-logs') as { logs: { disable: () => void } }).logs.disable();
  };
}

function isRegistered(): boolean {
  const isMeasuring = realMeter(registeredMeterProvider(), '') !== undefined;
  return isMeasuring || realTracer(registeredTracerProvider(), '') !== undefined;
}

async function flushAll(): Promise<void> {
  const providers: readonly object[] = [registeredTracerProvider(), registeredMeterProvider()];
  await Promise.all(providers.map((provider) => (provider as { forceFlush?: () => unknown }).forceFlush?.()));
}

/** Resolves when it is done, has failed, or takes too long. */
async function bounded(work: Promise<unknown>, withinMs: number): Promise<void> {
  let cancel = (): void => {};
  const tooLong = new Promise<void>((resolve) => {
    cancel = systemClock.setTimer(withinMs, () => {
      diag.warn(`penstock: telemetry could not be sent within ${withinMs} ms`);
      resolve();
    });
  });
  const done = work.then(
    () => undefined,
    (error: unknown) => diag.warn('penstock: telemetry could not be sent', error),
  );
  await Promise.race([done, tooLong]);
  cancel();
}

function started({ traces, metrics: measured }: Destinations, endpoint: Endpoint | undefined, ends: Ends) {
  let ending: Promise<void> | undefined;
  const shutdown = (): Promise<void> => {
    ending ??= ends.shutdown();
    return ending;
  };
  const telemetry: StartedTelemetry = {
    exports: { traces, metrics: measured },
    ...(endpoint === undefined ? {} : { prometheus: { url: endpoint.url, host: endpoint.host, port: endpoint.port } }),
    forceFlush: ends.forceFlush,
    shutdown,
    [Symbol.asyncDispose]: shutdown,
  };
  return telemetry;
}

function check(options: StartOptions): void {
  const { serviceName } = options ?? {};
  if (typeof serviceName === 'string' && serviceName.trim() !== '') return;
  throw unexpected('serviceName', 'a name', serviceName);
}

function unexpected(option: string, expected: string, found: unknown): TypeError {
  return new TypeError(`startTelemetry: ${option}: expected ${expected}, found ${show(found)}`);
}

function positive(value: string | undefined): number | undefined {
  const number = Number(value);
  return number > 0 ? number : undefined;
}
