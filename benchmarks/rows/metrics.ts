import { counted, nsPerCall } from '../lib/measure.ts';
import { PLENTY, penstock } from '../lib/penstock.ts';
import { atMost, type Row, type Variant } from '../lib/row.ts';

const MOST_NS = 3_000;

/** A real SDK that collects every second into memory, registered as an application would. */
async function registerSdk() {
  const { metrics } = await import('@opentelemetry/api');
  const sdk = await import('@opentelemetry/sdk-metrics');
  const exporter = new sdk.InMemoryMetricExporter(sdk.AggregationTemporality.CUMULATIVE);
  const reader = new sdk.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1000 });
  const provider = new sdk.MeterProvider({ readers: [reader] });
  metrics.setGlobalMeterProvider(provider);
  const counted = async (name: string): Promise<number> => {
    await provider.forceFlush();
    const all =
      exporter
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    const points = all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
    return points.reduce((sum, { value }) => sum + (typeof value === 'number' ? value : 0), 0);
  };
  return { meter: metrics.getMeter('by-hand'), counted };
}

const floor: Variant = {
  name: 'bare await fn()',
  role: 'floor',
  note: 'SDK registered, nothing recorded',
  run: async (isQuick) => {
    await registerSdk();
    const { fn, done } = counted();
    return nsPerCall(() => fn(), done, isQuick);
  },
};

const ours: Variant = {
  name: 'penstock',
  role: 'ours',
  note: 'every metric it has, SDK collecting each second',
  run: async (isQuick) => {
    const sdk = await registerSdk();
    const { createDispatcher } = await penstock();
    const { callDownstream } = createDispatcher({ downstreams: { carrier: { quota: PLENTY } } });
    const { fn, done } = counted();
    const sample = await nsPerCall(() => callDownstream('carrier', fn), done, isQuick);
    const seen = await sdk.counted('downstream.admissions');
    if (seen !== done()) throw new Error(`${done()} calls were run, the SDK counted ${seen}`);
    return sample;
  },
};

const sdkAlone: Variant = {
  name: 'two histogram records alone',
  role: 'beside',
  note: 'what the SDK takes of it: it hashes the attributes anew for each record',
  run: async (isQuick) => {
    const sdk = await registerSdk();
    const waits = sdk.meter.createHistogram('wait_ms');
    const calls = sdk.meter.createHistogram('call_ms');
    const started = { downstream: 'carrier', outcome: 'started', priority: 'normal' };
    const success = { downstream: 'carrier', outcome: 'success' };
    const { fn, done } = counted();
    const call = async () => {
      waits.record(0, started);
      await fn();
      calls.record(0.01, success);
    };
    return nsPerCall(call, done, isQuick);
  },
};

const byHand: Variant = {
  name: 'limiter and three instruments',
  role: 'beside',
  note: 'the same two histograms and counter written by hand around a peer',
  run: async (isQuick) => {
    const sdk = await registerSdk();
    const { RateLimiter } = await import('limiter');
    const limiter = new RateLimiter({ tokensPerInterval: 1_000_000_000, interval: 'second' });
    const waits = sdk.meter.createHistogram('wait_ms');
    const calls = sdk.meter.createHistogram('call_ms');
    const admissions = sdk.meter.createCounter('admissions');
    const { fn, done } = counted();
    const call = async () => {
      const askedAt = performance.now();
      await limiter.removeTokens(1);
      const startedAt = performance.now();
      waits.record(startedAt - askedAt, { downstream: 'carrier', outcome: 'started', priority: 'normal' });
      admissions.add(1, { downstream: 'carrier', outcome: 'started' });
      await fn();
      calls.record(performance.now() - startedAt, { downstream: 'carrier', outcome: 'success' });
    };
    const sample = await nsPerCall(call, done, isQuick);
    const seen = await sdk.counted('admissions');
    if (seen !== done()) throw new Error(`${done()} calls were run, the SDK counted ${seen}`);
    return sample;
  },
};

/** With the OpenTelemetry SDK collecting. */
export const metrics: Row = {
  id: 'metrics',
  title: 'The same with the OpenTelemetry SDK collecting metrics',
  unit: 'ns per call',
  target: 'at most 3 µs above bare',
  rounds: 5,
  variants: [floor, ours, sdkAlone, byHand],
  judge: (medians) => {
    const bare = medians.get(floor.name)?.value;
    const own = medians.get(ours.name)?.value;
    if (bare === undefined || own === undefined) return [];
    return [atMost('time above bare', own - bare, MOST_NS, 'ns')];
  },
};
