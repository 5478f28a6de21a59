import { context, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import type { EventTap, TraceIds } from '../base/bus.ts';
import { durationMs } from '../base/duration.ts';
import type { CallEvent, DispatcherEvent } from '../base/events.ts';
import type { Snapshot } from '../base/snapshot.ts';
import type { Duration } from '../base/words.ts';
import { CallerIds } from './caller-ids.ts';
import type { Timers } from './crowd.ts';
import { Meters } from './meters.ts';
import { realTracer, registeredTracerProvider } from './providers.ts';
import { idsIn, type SpanRule, WaitSpans } from './wait-spans.ts';

/** What telemetry asks of its dispatcher. */
export interface TelemetryHost extends Timers {
  /** Epoch milliseconds. */
  readonly wallNow: () => number;
  /** Read at most once per collection, never during a call. */
  readonly snapshot: () => Snapshot;
  /** Version of the package, for the instrumentation scope. */
  readonly version: string;
}

/** How a dispatcher is seen through OpenTelemetry. Without providers, those registered globally are used, whenever they are registered. */
export interface TelemetryOptions {
  readonly tracerProvider?: TracerProvider | undefined;
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * Which calls get a `downstream.wait` span: those that wait (default), every call, or those that wait
   * longer than a duration. Refused calls always get one; a crowd that is refused in one turn, one per trace.
   */
  readonly waitSpans?: 'waiting' | 'always' | { readonly longerThan: Duration } | undefined;
}

/** The tap, and its end. */
export interface Telemetry extends EventTap {
  /** Tells what is untold, ends open spans, observes nothing more. Twice is once. */
  readonly close: () => void;
  /** Spans open and ids kept now; 0 when no call waits or runs. */
  readonly kept: () => number;
}

/**
 * Turns a dispatcher's events into spans and metrics. Costs next to nothing while no SDK is registered.
 *
 * @throws RangeError where `longerThan` is not a duration.
 */
export function createTelemetry(host: TelemetryHost, options: TelemetryOptions = {}): Telemetry {
  const tap = new Tap(host, options);
  tap.isMeasuring();
  tap.isTracing();
  return {
    isMeasuring: () => tap.isMeasuring(),
    isTracing: () => tap.isTracing(),
    traceOf: (event) => tap.traceOf(event),
    current: () => idsIn(context.active()),
    take: (event) => tap.take(event),
    close: () => tap.close(),
    kept: () => tap.kept,
  };
}

class Tap {
  readonly #host: TelemetryHost;
  readonly #tracerProvider: TracerProvider | undefined;
  readonly #tracesAll: boolean;
  readonly #meters: Meters;
  readonly #spans: WaitSpans;
  readonly #ids = new CallerIds();
  #seen: TracerProvider | undefined;
  #isClosed = false;

  constructor(host: TelemetryHost, { tracerProvider, meterProvider, waitSpans }: TelemetryOptions) {
    const rule = spanRule(waitSpans);
    this.#host = host;
    this.#tracerProvider = tracerProvider;
    this.#tracesAll = rule.always;
    this.#meters = new Meters(host, meterProvider);
    this.#spans = new WaitSpans(rule, host);
  }

  isMeasuring(): boolean {
    return this.#meters.current() !== undefined || (this.#tracesAll && this.isTracing());
  }

  isTracing(): boolean {
    if (this.#isClosed) return false;
    const provider = this.#tracerProvider ?? registeredTracerProvider();
    if (provider !== this.#seen) {
      this.#seen = provider;
      this.#spans.use(realTracer(provider, this.#host.version), this.#host.wallNow());
    }
    return this.#spans.isOn;
  }

  get kept(): number {
    return this.#spans.size + this.#ids.size;
  }

  take(event: DispatcherEvent): void {
    if (!isCallEvent(event)) return;
    this.#meters.current()?.take(event);
    this.#ids.take(event, this.#span(event));
  }

  traceOf(event: DispatcherEvent): TraceIds | undefined {
    return isCallEvent(event) ? this.#ids.of(event) : undefined;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#spans.use(undefined, this.#host.wallNow());
    this.#ids.forget();
    this.#meters.close();
  }

  #span(event: CallEvent): TraceIds | undefined {
    if (!isOfWait(event) || !this.isTracing()) return undefined;
    if (event.type !== 'queued') return this.#spans.end(event);
    this.#spans.begin(event);
    return undefined;
  }
}

function isCallEvent(event: DispatcherEvent): event is CallEvent {
  return 'callId' in event;
}

/** Begins or ends a real wait. */
function isOfWait({ type, started }: CallEvent): boolean {
  return type === 'queued' || type === 'started' || type === 'refused' || (type === 'aborted' && started !== true);
}

function spanRule(waitSpans: TelemetryOptions['waitSpans'] = 'waiting'): SpanRule {
  if (typeof waitSpans === 'string') return { always: waitSpans === 'always', longerThanMs: -1 };
  return { always: false, longerThanMs: durationMs(waitSpans.longerThan) };
}
