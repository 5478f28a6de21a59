import { metrics, trace } from '@opentelemetry/api';
import * as later from 'api-1.10';
import { afterEach, expect, test } from 'vitest';
import { createTelemetry, type TelemetryOptions } from '../../src/telemetry/telemetry.ts';
import { callEvent, host, MetricLab, SpanLab } from './harness.ts';

afterEach(() => {
  for (const api of [metrics, trace, later.metrics, later.trace]) api.disable();
});

/** What the compiler says: providers of either version may be passed. */
const passed = (tracerProvider: later.TracerProvider, meterProvider: later.MeterProvider): TelemetryOptions => ({
  tracerProvider,
  meterProvider,
});

function play(options: TelemetryOptions): void {
  const telemetry = createTelemetry(host(), options);
  telemetry.take(callEvent('queued'));
  telemetry.take(callEvent('started', { waitedMs: 7 }));
}

async function expectTold(spans: SpanLab, meters: MetricLab): Promise<void> {
  expect(spans.waits).toHaveLength(1);
  const [value] = Object.values(await meters.histogram('downstream.wait_ms'));
  expect([value?.count, value?.sum]).toEqual([1, 7]);
}

test('providers that are passed are used, whatever is registered and by whichever version of the API', async () => {
  const [spans, meters] = [new SpanLab(), new MetricLab()];
  const [others, elsewhere] = [new SpanLab(), new MetricLab()];
  later.trace.setGlobalTracerProvider(others.provider as unknown as later.TracerProvider);
  later.metrics.setGlobalMeterProvider(elsewhere.provider as unknown as later.MeterProvider);
  play(passed(spans.provider as unknown as later.TracerProvider, meters.provider as unknown as later.MeterProvider));
  await expectTold(spans, meters);
  expect(others.waits).toEqual([]);
  expect(await elsewhere.histogram('downstream.wait_ms')).toEqual({});
});

test('what API 1.10 has registered is found', async () => {
  const [spans, meters] = [new SpanLab(), new MetricLab()];
  later.trace.setGlobalTracerProvider(spans.provider as unknown as later.TracerProvider);
  later.metrics.setGlobalMeterProvider(meters.provider as unknown as later.MeterProvider);
  play({});
  await expectTold(spans, meters);
});

test('the no-op providers of API 1.10 count as none', () => {
  const telemetry = createTelemetry(host(), passed(later.trace.getTracerProvider(), later.metrics.getMeterProvider()));
  telemetry.take(callEvent('started', { waitedMs: 7 }));
  expect(telemetry.kept()).toBe(0);
});

test('an SDK that was shut down harms no later call', async () => {
  const [spans, meters] = [new SpanLab(), new MetricLab()];
  const telemetry = createTelemetry(host(), { tracerProvider: spans.provider, meterProvider: meters.provider });
  telemetry.take(callEvent('queued'));
  await Promise.all([spans.provider.shutdown(), meters.provider.shutdown()]);
  telemetry.take(callEvent('started', { waitedMs: 7 }));
  telemetry.take(callEvent('refused', { callId: 2, code: 'RATE_LIMITED' }));
  await Promise.resolve();
  telemetry.close();
  expect(telemetry.kept()).toBe(0);
  createTelemetry(host(), { tracerProvider: spans.provider, meterProvider: meters.provider }).take(
    callEvent('started'),
  );
});
