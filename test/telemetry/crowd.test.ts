import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { callEvent, host, lengthOf, MetricLab, SpanLab } from './harness.ts';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());

const MANY = 10_000;
const MOST_SPANS = 1_024;

/** The SDK as an application has it: a batch processor with its default limits. */
function batched(sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(1) })) {
  const exporter = new InMemorySpanExporter();
  const processor = new BatchSpanProcessor(exporter);
  const provider = new BasicTracerProvider({ sampler, spanProcessors: [processor] });
  const waits = async (): Promise<ReadableSpan[]> => {
    await processor.forceFlush();
    return exporter.getFinishedSpans().filter(({ name }) => name === 'downstream.wait');
  };
  return { provider, waits, silent: new BasicTracerProvider({ sampler }) };
}

type Gate = ReturnType<typeof gate>;

function gate(traces: number, calls = MANY, sampler?: ParentBasedSampler) {
  const clock = new ManualClock();
  const spans = batched(sampler);
  const metrics = new MetricLab();
  const telemetry = { tracerProvider: spans.provider, meterProvider: metrics.provider };
  const dispatcher = createDispatcher(
    { downstreams: { carrier: { quota: '60/minute' } } },
    { clock, env: {}, alertSinks: [], telemetry },
  );
  const leaver = new AbortController();
  const tracer = spans.silent.getTracer('agent');
  const roots = Array.from({ length: traces }, () => tracer.startSpan('job', { root: true }));
  const begin = async (deadline?: number): Promise<{ readonly done: Promise<unknown> }> => {
    const burst = Array.from({ length: 6 }, () => dispatcher.callDownstream('carrier', async () => {}));
    await clock.advance(0);
    await Promise.all(burst);
    const all = Array.from({ length: calls }, (_, index) =>
      context.with(trace.setSpan(context.active(), roots[index % traces]!), () =>
        dispatcher.callDownstream('carrier', async () => {}, { signal: leaver.signal, deadline }),
      ),
    );
    return { done: Promise.allSettled(all) };
  };
  return { clock, dispatcher, leaver, spans, metrics, roots, begin };
}

const number = (span: ReadableSpan, name: string): number => Number(span.attributes[name] ?? 0);
const count = (spans: readonly ReadableSpan[]): number =>
  spans.reduce((sum, span) => sum + (number(span, 'downstream.group.count') || 1), 0);
const leftOut = (spans: readonly ReadableSpan[], what: string): number =>
  spans.reduce((sum, span) => sum + number(span, `downstream.left_out.${what}`), 0);

const endings: Record<string, [string, string | undefined, (lab: Gate) => unknown]> = {
  'a pause': ['refused', 'RATE_LIMITED', ({ dispatcher }) => dispatcher.pause('carrier', { for: '1h' })],
  'a close': ['refused', 'DISPATCHER_CLOSED', ({ dispatcher }) => dispatcher.close()],
  'an abort by one shared signal': ['aborted', undefined, ({ leaver }) => leaver.abort()],
};

describe('a mass of refusals and a batch processor with its default limits', () => {
  for (const [cause, [outcome, code, end]] of Object.entries(endings)) {
    for (const traces of [1, 5, 3_000]) {
      test(`${cause}, ${MANY} waiters under ${traces} traces: none is lost without a word`, async () => {
        const lab = gate(traces);
        const { done } = await lab.begin();
        await lab.clock.advance(100);
        end(lab);
        await lab.clock.advance(200);
        await done;
        const waits = await lab.spans.waits();
        expect(waits).toHaveLength(Math.min(traces, MOST_SPANS));
        expect(count(waits) + leftOut(waits, 'calls')).toBe(MANY);
        expect(leftOut(waits, 'traces')).toBe(Math.max(traces - MOST_SPANS, 0));
        expect(new Set(waits.map((span) => span.spanContext().traceId)).size).toBe(waits.length);
        const [span] = waits;
        expect(span?.parentSpanContext?.spanId).toBe(lab.roots[0]?.spanContext().spanId);
        expect(span?.attributes['downstream.outcome']).toBe(outcome);
        expect(span?.attributes['error.type']).toBe(code);
        expect(span?.status.code).toBe(code === undefined ? SpanStatusCode.UNSET : SpanStatusCode.ERROR);
        expect(lengthOf(span!)).toBe(100);
        await lab.dispatcher.close();
      });
    }
  }
});

describe('a span that stands for many', () => {
  function bench() {
    const lab = new SpanLab();
    const state = host();
    const telemetry = createTelemetry(state, { tracerProvider: lab.provider });
    /** So many waiters that are refused in one turn, having waited 1, 2, 3 ... ms. */
    const refuse = (calls: number, fields: (index: number) => object = () => ({})): void => {
      for (let callId = 1; callId <= calls; callId++)
        telemetry.take(callEvent('queued', { callId, limit: 'concurrency' }));
      for (let callId = 1; callId <= calls; callId++) {
        telemetry.take(callEvent('refused', { callId, waitedMs: callId, code: 'RATE_LIMITED', ...fields(callId) }));
      }
    };
    return { lab, state, telemetry, refuse };
  }

  test('is as long as the longest wait, and knows the shortest, their sum, and what they have in common', async () => {
    const { lab, state, refuse } = bench();
    lab.within('job', () => refuse(100, () => ({ tool: 'send' })));
    await state.clock.advance(50);
    expect(lab.waits).toHaveLength(1);
    expect(lab.waits[0]?.attributes).toEqual({
      downstream: 'carrier',
      'service.peer.name': 'carrier',
      'downstream.wait_ms': 100,
      'downstream.outcome': 'refused',
      'error.type': 'RATE_LIMITED',
      'downstream.limited_by': 'concurrency',
      'gen_ai.tool.name': 'send',
      'downstream.group.count': 100,
      'downstream.group.wait_ms_min': 1,
      'downstream.group.wait_ms_sum': 5_050,
    });
    expect(lengthOf(lab.waits[0]!)).toBe(100);
  });

  test('names no tool and no limit where they differ', async () => {
    const { lab, state, refuse } = bench();
    lab.within('job', () => refuse(100, (index) => ({ tool: `tool-${index % 3}`, limit: `quota:${index % 2}/s` })));
    await state.clock.advance(50);
    expect(Object.keys(lab.waits[0]?.attributes ?? {})).not.toContain('gen_ai.tool.name');
    expect(Object.keys(lab.waits[0]?.attributes ?? {})).not.toContain('downstream.limited_by');
  });

  test('never mixes codes, outcomes, downstreams or traces', async () => {
    const { lab, state, refuse } = bench();
    const kinds = [{}, { code: 'DISPATCHER_CLOSED' }, { downstream: 'mail' }, { type: 'aborted', code: undefined }];
    lab.within('job', () => refuse(100, (index) => kinds[index % 4]!));
    await state.clock.advance(50);
    expect(lab.waits.map(({ attributes }) => attributes['downstream.group.count'])).toEqual([25, 25, 25, 25]);
  });

  test('sixteen of one turn have a span each, under their own callers', async () => {
    const { lab, refuse } = bench();
    lab.within('job', () => refuse(16));
    await Promise.resolve();
    expect(lab.waits).toHaveLength(16);
    expect(lab.waits.every(({ attributes }) => !('downstream.group.count' in attributes))).toBe(true);
  });

  test('gathers what comes in slices, and is told after a second though refusals go on', async () => {
    const { lab, state, refuse } = bench();
    for (let slice = 0; slice < 50; slice++) {
      lab.within('job', () => refuse(40));
      await state.clock.advance(10);
    }
    expect(lab.waits).toHaveLength(0);
    for (let slice = 0; slice < 60; slice++) {
      lab.within('job', () => refuse(40));
      await state.clock.advance(10);
    }
    expect(lab.waits.length).toBeGreaterThan(0);
  });

  test('is told at once by close, and nothing stays behind', () => {
    const { lab, telemetry, refuse, state } = bench();
    refuse(100);
    expect(telemetry.kept()).toBe(100);
    telemetry.close();
    expect(lab.waits.map(({ attributes }) => attributes['downstream.group.count'])).toEqual([100]);
    expect([telemetry.kept(), state.clock.pendingTimers]).toEqual([0, 0]);
  });

  test('a tracer that throws harms nobody', async () => {
    const telemetry = createTelemetry(host(), {
      tracerProvider: {
        getTracer: () => ({
          startSpan: () => {
            throw new Error('no span today');
          },
          startActiveSpan: () => undefined as never,
        }),
      },
    });
    telemetry.take(callEvent('refused', { code: 'RATE_LIMITED' }));
    await Promise.resolve();
    expect(telemetry.kept()).toBe(0);
  });

  test('traces that are not sampled take no room and are not counted as left out', async () => {
    const lab = gate(3_000, 9_000, new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(0.1) }));
    const sampled = lab.roots.filter((root) => root.isRecording()).length;
    const { done } = await lab.begin();
    lab.dispatcher.pause('carrier', { for: '1h' });
    await lab.clock.advance(100);
    await done;
    const waits = await lab.spans.waits();
    expect(waits).toHaveLength(sampled);
    expect(count(waits)).toBe(3 * sampled);
    expect(leftOut(waits, 'traces')).toBe(0);
    await lab.dispatcher.close();
  });

  test('events of what would have been make no span and are nobody else’s', () => {
    const { lab, telemetry } = bench();
    const always = createTelemetry(host(), { tracerProvider: lab.provider, waitSpans: 'always' });
    lab.within('somebody else', () => {
      for (const type of ['would-start', 'would-refuse'] as const) {
        const event = callEvent(type, { waitedMs: 5 });
        for (const one of [telemetry, always]) {
          one.take(event);
          expect(one.traceOf(event)).toBeUndefined();
        }
      }
    });
    expect(lab.waits).toEqual([]);
    expect([telemetry.kept(), always.kept()]).toEqual([0, 0]);
  });
});
