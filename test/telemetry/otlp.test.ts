import { context, trace } from '@opentelemetry/api';
import { afterEach, expect, test, vi } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import { startTelemetry } from '../../src/telemetry.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { Receiver, valuesOf } from './receiver.ts';

afterEach(() => vi.unstubAllEnvs());

const CALLS = 800;

test('a fan-out of 800 as a collector sees it: waits under their tools, and as long as the histogram says', async () => {
  const receiver = new Receiver();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', await receiver.listen());
  vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json');
  vi.stubEnv('OTEL_BSP_MAX_QUEUE_SIZE', '4096');
  const telemetry = await startTelemetry({ serviceName: 'agent-runtime', serviceVersion: '7', environment: 'test' });
  expect(telemetry.exports).toEqual({ traces: ['otlp'], metrics: ['otlp'] });
  const clock = new ManualClock();
  const dispatcher = createDispatcher({ downstreams: { carrier: { quota: '1000/minute' } } }, { clock, env: {} });
  const tracer = trace.getTracer('agent');
  const job = tracer.startSpan('job');
  const calls = context.with(trace.setSpan(context.active(), job), () =>
    Array.from({ length: CALLS }, (_, index) =>
      tracer.startActiveSpan(`tool-${index}`, async (span) => {
        await dispatcher.callDownstream('carrier', async () => index, { tool: `tool-${index}` });
        span.end();
      }),
    ),
  );
  await clock.advance(120_000);
  await Promise.all(calls);
  job.end();
  await dispatcher.close();
  await telemetry.shutdown();
  receiver.close();

  const tools = new Map(receiver.spans.map((span) => [span.name, span]));
  const waits = receiver.spans.filter(({ name }) => name === 'downstream.wait');
  expect(waits.length).toBeGreaterThan(CALLS - 150);
  let sumMs = 0;
  for (const span of waits) {
    const attributes = valuesOf(span.attributes);
    const tool = tools.get(String(attributes['gen_ai.tool.name']));
    expect(span.parentSpanId).toBe(tool?.spanId);
    expect(span.traceId).toBe(job.spanContext().traceId);
    expect(attributes).toMatchObject({ downstream: 'carrier', 'service.peer.name': 'carrier' });
    sumMs += Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6;
  }
  const points = receiver.metrics.get('downstream.wait_ms')?.histogram?.dataPoints ?? [];
  expect(points.map(({ count }) => count)).toEqual([CALLS]);
  expect(points[0]?.explicitBounds?.at(-1)).toBe(300_000);
  const measuredMs = points[0]?.sum ?? 0;
  expect(measuredMs).toBeGreaterThan(1_000_000);
  expect(Math.abs(sumMs - measuredMs) / measuredMs).toBeLessThan(0.01);
  expect(receiver.resources[0]).toMatchObject({
    'service.name': 'agent-runtime',
    'service.version': '7',
    'deployment.environment.name': 'test',
  });
  expect(Object.keys(receiver.resources[0] ?? {}).filter((name) => name.startsWith('process.'))).toEqual([]);
});
