import { type Attributes, type Context, ROOT_CONTEXT, type TracerProvider, trace } from '@opentelemetry/api';
import type { Alert, AlertSeverity } from '../../base/alert.ts';
import { VERSION } from '../../version.ts';
import type { PacedSink } from '../sink.ts';
import { common, type SinkHost } from './host.ts';
import { bounded, oneLine, suggestionLine } from './words.ts';

/** What we use of a logger of `@opentelemetry/api-logs`. */
export interface OtelLogger {
  readonly emit: (record: OtelLogRecord) => void;
}

export interface OtelLogRecord {
  readonly eventName: string;
  readonly timestamp: Date;
  readonly severityNumber: number;
  readonly severityText: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly context: Context;
}

export interface OtelSinkOptions {
  /** With a logger a log record is emitted, without one a span of no length: `logs.getLogger('penstock')`. */
  readonly logger?: OtelLogger | undefined;
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider | undefined;
}

const NAME = 'downstream.alert';

/** Numbers of the OpenTelemetry log data model: INFO, WARN, and what syslog's "critical" is mapped to, ERROR2. */
const SEVERITY_NUMBERS: Readonly<Record<AlertSeverity, number>> = { info: 9, warning: 13, critical: 18 };

/** Attributes of the span or the log record. */
export function otelAttributes(alert: Alert): Record<string, string | number> {
  const { incident, action, impact, server, origin } = alert;
  const all: Record<string, string | number | undefined> = {
    downstream: oneLine(alert.downstream, 256),
    'downstream.lane': alert.lane,
    'downstream.alert.id': alert.id,
    'downstream.alert.name': alert.name,
    'downstream.alert.status': alert.status,
    'downstream.alert.severity': alert.severity,
    'downstream.alert.explanation': bounded(alert.explanation, 8_000),
    'downstream.alert.hypothesis': alert.hypothesis,
    'downstream.alert.suggestion': suggestionLine(alert, 1_000),
    'downstream.alert.owner': alert.owner,
    'downstream.alert.runbook': alert.runbook,
    'downstream.incident.id': incident.id,
    'downstream.incident.throttles': incident.throttles,
    'downstream.incident.in_a_row': incident.inARow,
    'downstream.alert.action': action.kind,
    'downstream.alert.hold_until': action.until,
    'downstream.alert.waiting': impact.waiting,
    'downstream.alert.refused': impact.refused,
    'downstream.alert.in_flight': impact.inFlight,
    'http.response.status_code': server.status,
    'downstream.alert.retry_after_ms': server.retryAfterMs,
    'gen_ai.tool.name': alert.tool,
    'downstream.alert.instance': origin.instance,
    'downstream.alert.policy': origin.policyHash,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([key, value]) => {
      if (value === undefined || value === '') return [];
      const isText = typeof value === 'string' && key !== 'downstream.alert.explanation';
      return [[key, isText ? oneLine(value, 1_000) : value]];
    }),
  );
}

/** The log record of an alert. */
export function otelLogRecord(alert: Alert): OtelLogRecord {
  return {
    eventName: NAME,
    timestamp: new Date(alert.at),
    severityNumber: SEVERITY_NUMBERS[alert.severity],
    severityText: alert.severity.toUpperCase(),
    body: bounded(alert.explanation, 8_000),
    attributes: otelAttributes(alert),
    context: contextOf(alert),
  };
}

/** The trace of the call that was throttled, so that both are found together; sampled, for an alert is never left out. */
function contextOf({ traceId, spanId }: Alert): Context {
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1, isRemote: true });
}

/** For those who route everything through OpenTelemetry: a span `downstream.alert` of no length, or a log record. */
export function otelSink(options: OtelSinkOptions = {}, host: SinkHost = {}): PacedSink {
  return {
    ...common('otel', host),
    spacingMs: 0,
    deliver: (alert) => {
      if (options.logger !== undefined) {
        options.logger.emit(otelLogRecord(alert));
        return;
      }
      // Asked for each time: a provider that starts after the sink was made is found.
      const tracer = (options.tracerProvider ?? trace).getTracer('penstock', VERSION);
      const at = new Date(alert.at);
      const attributes: Attributes = otelAttributes(alert);
      tracer.startSpan(NAME, { startTime: at, attributes }, contextOf(alert)).end(at);
    },
  };
}
