import { context, metrics, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, describe, expect, test } from 'vitest';
import { EventBus } from '../../src/base/bus.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { lane, totals } from '../support/lanes.ts';
import { AT, callEvent, host, MetricLab, SpanLab } from './harness.ts';

afterEach(() => {
  trace.disable();
  metrics.disable();
  context.disable();
});

describe('without an SDK', () => {
  test('nothing is asked for, nothing is kept, no ids are told', () => {
    const state = host();
    for (const waitSpans of ['waiting', 'always', { longerThan: 5 }] as const) {
      const telemetry = createTelemetry(state, { waitSpans });
      const bus = new EventBus(() => AT);
      bus.setTap(telemetry);
      expect([telemetry.isMeasuring(), telemetry.isTracing()]).toEqual([false, false]);
      expect([bus.wantsCalls, bus.wantsWaits]).toEqual([false, false]);
      telemetry.take(callEvent('queued'));
      expect(telemetry.traceOf(callEvent('queued'))).toBeUndefined();
      expect(telemetry.current()).toBeUndefined();
      expect(telemetry.kept()).toBe(0);
      telemetry.take(callEvent('started', { waitedMs: 3 }));
      telemetry.close();
    }
    expect(state.reads).toBe(0);
  });
});

describe('with an SDK registered globally', () => {
  test('metrics appear when it was registered after the dispatcher was made', async () => {
    const state = host([lane('carrier', { totals: totals({ throttled: 1 }) })]);
    const telemetry = createTelemetry(state);
    expect(telemetry.isMeasuring()).toBe(false);
    const lab = new MetricLab();
    metrics.setGlobalMeterProvider(lab.provider);
    expect(telemetry.isMeasuring()).toBe(true);
    telemetry.take(callEvent('started', { waitedMs: 8 }));
    const exported = await lab.collect();
    expect(exported.get('downstream.wait_ms')?.dataPoints).toHaveLength(1);
    expect(exported.get('downstream.throttled')?.dataPoints[0]?.value).toBe(1);
    expect(exported.get('downstream.in_flight')?.dataPoints).toHaveLength(1);
  });

  test('likewise where only events come, because somebody subscribed', async () => {
    const telemetry = createTelemetry(host());
    const lab = new MetricLab();
    metrics.setGlobalMeterProvider(lab.provider);
    telemetry.take(callEvent('started', { waitedMs: 8 }));
    expect((await lab.collect()).get('downstream.wait_ms')?.dataPoints).toHaveLength(1);
  });

  test('a provider that takes the place of another gets everything from then on, once', async () => {
    const telemetry = createTelemetry(host());
    const first = new MetricLab();
    metrics.setGlobalMeterProvider(first.provider);
    telemetry.take(callEvent('started'));
    metrics.disable();
    expect(telemetry.isMeasuring()).toBe(false);
    const second = new MetricLab();
    metrics.setGlobalMeterProvider(second.provider);
    telemetry.take(callEvent('started', { callId: 2 }));
    const counted = 'downstream=carrier,outcome=started';
    expect((await first.points('downstream.admissions'))[counted]).toBe(1);
    expect((await second.points('downstream.admissions'))[counted]).toBe(1);
  });

  test('spans appear when it was registered after the dispatcher was made, and end when it is taken away', () => {
    const telemetry = createTelemetry(host());
    expect(telemetry.isTracing()).toBe(false);
    const lab = new SpanLab();
    trace.setGlobalTracerProvider(lab.provider);
    expect(telemetry.isTracing()).toBe(true);
    telemetry.take(callEvent('queued'));
    expect(telemetry.kept()).toBe(1);
    trace.disable();
    expect(telemetry.isTracing()).toBe(false);
    expect([lab.open, lab.waits.length]).toEqual([0, 1]);
    expect(telemetry.kept()).toBe(0);
  });

  test('a call that was queued before the SDK came is told without a parent it never had', () => {
    const telemetry = createTelemetry(host());
    telemetry.take(callEvent('queued'));
    const lab = new SpanLab();
    trace.setGlobalTracerProvider(lab.provider);
    telemetry.take(callEvent('started', { waitedMs: 12 }));
    expect(lab.waits).toEqual([]);
    expect(lab.open).toBe(0);
  });

  test('NodeSDK as an application starts it', async () => {
    const spans = new InMemorySpanExporter();
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const telemetry = createTelemetry(host());
    const sdk = new NodeSDK({
      autoDetectResources: false,
      spanProcessors: [new SimpleSpanProcessor(spans)],
      metricReaders: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
    });
    sdk.start();
    trace.getTracer('app').startActiveSpan('execute_tool', (span) => {
      telemetry.take(callEvent('queued'));
      telemetry.take(callEvent('started', { waitedMs: 6 }));
      span.end();
    });
    const [wait, tool] = spans.getFinishedSpans();
    expect(wait?.name).toBe('downstream.wait');
    expect(wait?.parentSpanContext?.spanId).toBe(tool?.spanContext().spanId);
    telemetry.close();
    await sdk.shutdown();
    const names = exporter
      .getMetrics()
      .at(-1)
      ?.scopeMetrics[0]?.metrics.map((metric) => metric.descriptor.name);
    expect(names).toContain('downstream.wait_ms');
    expect(names).toContain('downstream.admissions');
  });
});
