import { context, type Span, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import type { CallEvent } from '../../src/base/events.ts';
import type { DownstreamSnapshot, InventorySnapshot, Snapshot } from '../../src/base/snapshot.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { lane, totals } from '../support/lanes.ts';

/** A real meter provider whose metrics are read back in memory. */
export class MetricLab {
  readonly exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly reader = new PeriodicExportingMetricReader({
    exporter: this.exporter,
    exportIntervalMillis: 3_600_000,
  });
  readonly provider = new MeterProvider({ readers: [this.reader] });

  /** What one collection exports, by metric name. */
  async collect(): Promise<Map<string, MetricData>> {
    this.exporter.reset();
    await this.reader.forceFlush();
    const scopes = this.exporter.getMetrics().at(-1)?.scopeMetrics ?? [];
    return new Map(scopes.flatMap((scope) => scope.metrics.map((metric) => [metric.descriptor.name, metric])));
  }

  /** The points of one metric: attributes as `a=1,b=2`, and the value. */
  async points(name: string): Promise<Record<string, number>> {
    const points = (await this.collect()).get(name)?.dataPoints ?? [];
    return Object.fromEntries(points.map((point) => [series(point), Number(point.value)]));
  }

  /** The same of a histogram. */
  async histogram(name: string): Promise<Record<string, Histogram>> {
    const points = (await this.collect()).get(name)?.dataPoints ?? [];
    return Object.fromEntries(points.map((point) => [series(point), point.value as Histogram]));
  }
}

/** A data point's attributes in order of their names. */
export function series(point: DataPoint<unknown>): string {
  const entries = Object.entries(point.attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([key, value]) => `${key}=${String(value)}`).join(',');
}

/** A real tracer provider that also counts what was started and never ended. */
export class SpanLab {
  readonly exporter = new InMemorySpanExporter();
  open = 0;
  readonly provider: BasicTracerProvider;

  constructor() {
    const counter: SpanProcessor = {
      onStart: () => {
        this.open += 1;
      },
      onEnd: () => {
        this.open -= 1;
      },
      forceFlush: async () => {},
      shutdown: async () => {},
    };
    this.provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(this.exporter), counter],
    });
  }

  /** Runs `fn` inside a span of the caller, which ends after it. */
  within<T>(name: string, fn: (span: Span) => T): T {
    const span = this.provider.getTracer('caller').startSpan(name);
    try {
      return context.with(trace.setSpan(context.active(), span), () => fn(span));
    } finally {
      span.end();
    }
  }

  get waits(): ReadableSpan[] {
    return this.exporter.getFinishedSpans().filter((span) => span.name === 'downstream.wait');
  }

  span(name: string): ReadableSpan {
    const found = this.exporter.getFinishedSpans().find((span) => span.name === name);
    if (found === undefined) throw new Error(`no span ${name}`);
    return found;
  }
}

/** Milliseconds that a span lasted. */
export function lengthOf(span: ReadableSpan): number {
  return span.duration[0] * 1_000 + span.duration[1] / 1e6;
}

export const AT = 1_790_000_000_000;

/** A call event with the fields a test does not care about filled in. */
export function callEvent(type: CallEvent['type'], fields: Partial<CallEvent> = {}): CallEvent {
  return { at: AT, downstream: 'carrier', type, callId: 1, priority: 'normal', waitedMs: 0, ...fields };
}

/** A dispatcher's snapshot with these lanes. */
export function snapshot(downstreams: readonly DownstreamSnapshot[], dropped: Record<string, number> = {}): Snapshot {
  return {
    schema: 1,
    at: AT,
    policyHash: 'h',
    isClosed: false,
    alerts: { pending: 0, dropped },
    downstreams,
  };
}

/** What a process sent to hosts of no downstream. */
export function inventory(requests: Readonly<Record<string, number>>, others = 0): InventorySnapshot {
  const unclaimed = Object.entries(requests).map(([host, count]) => ({
    host,
    requests: count,
    firstAt: AT,
    lastAt: AT,
  }));
  return { since: AT, claimed: [], unclaimed, others };
}

/** A host whose snapshot can be changed and counts how often it was read. */
export function host(lanes: readonly DownstreamSnapshot[] = [lane('carrier')]) {
  const clock = new ManualClock();
  const state = {
    clock,
    setTimer: (delayMs: number, fire: () => void) => clock.setTimer(delayMs, fire),
    version: '1.2.3',
    lanes,
    dropped: {} as Record<string, number>,
    inventory: undefined as InventorySnapshot | undefined,
    hash: 'h',
    reads: 0,
    at: AT,
    wallNow: () => state.at,
    snapshot: () => {
      state.reads += 1;
      const { inventory } = state;
      const told = snapshot(state.lanes, state.dropped);
      return { ...told, policyHash: state.hash, ...(inventory === undefined ? {} : { inventory }) };
    },
  };
  return state;
}

/** Telemetry over a real meter provider, to be fed by hand. */
export function measured(state = host()) {
  const lab = new MetricLab();
  const telemetry = createTelemetry(state, { meterProvider: lab.provider });
  const feed = (...events: CallEvent[]): void => {
    for (const event of events) telemetry.take(event);
  };
  return { lab, telemetry, state, feed };
}

/** A lane in which everything happens. */
export const busy = lane('carrier', {
  queued: 3,
  classes: {
    interactive: { length: 1, oldestMs: 40 },
    normal: { length: 0, oldestMs: 0 },
    batch: { length: 2, oldestMs: 900 },
  },
  running: 4,
  orphaned: 1,
  holds: [{ cause: 'retry-after', leftMs: 2_500, until: 0 }],
  expectedWaitMs: 3_750,
  quotas: [
    {
      quota: '60/minute',
      unit: 'requests',
      permits: -2,
      burst: 6,
      declaredPerSecond: 1,
      sizedPerSecond: 0.8,
    },
    {
      quota: '200000 tokens/minute',
      unit: 'tokens',
      permits: 1_000,
      burst: 20_000,
      declaredPerSecond: 3_333,
      sizedPerSecond: 2_666,
    },
  ],
  totals: totals({ throttled: 2 }),
});
