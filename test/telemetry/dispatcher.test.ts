import { AsyncLocalStorage } from 'node:async_hooks';
import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DispatcherEvent } from '../../src/base/events.ts';
import { createDispatcher } from '../../src/dispatcher.ts';
import type { Admission } from '../../src/telemetry/series.ts';
import type { TelemetryOptions } from '../../src/telemetry/telemetry.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { lengthOf, MetricLab, SpanLab } from './harness.ts';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());

/** 48 a minute, six at once: the seventh call waits 1.25 s. */
const carrier = { quota: '60/minute' };

function gate(downstream: object = carrier, waitSpans?: TelemetryOptions['waitSpans']) {
  const clock = new ManualClock();
  const spans = new SpanLab();
  const metrics = new MetricLab();
  const events: DispatcherEvent[] = [];
  const telemetry = { tracerProvider: spans.provider, meterProvider: metrics.provider, waitSpans };
  const dispatcher = createDispatcher(
    { downstreams: { carrier: downstream } },
    { clock, env: {}, alertSinks: [], telemetry },
  );
  dispatcher.subscribe((event) => events.push(event));
  /** One tool call of an agent, in a span of its own; `undefined` where it was refused. */
  const tool = <T>(name: string, fn: () => T | Promise<T>, ctx: object = {}): Promise<T | undefined> =>
    spans.provider.getTracer('agent').startActiveSpan(name, async (span) => {
      try {
        return await dispatcher.callDownstream('carrier', async () => await fn(), { tool: name, ...ctx });
      } catch {
        return undefined;
      } finally {
        span.end();
      }
    });
  return { clock, spans, metrics, events, dispatcher, tool };
}

/** Uses up the burst with calls that nobody looks at. */
async function drain({ dispatcher, clock }: ReturnType<typeof gate>): Promise<void> {
  const calls = Array.from({ length: 6 }, () => dispatcher.callDownstream('carrier', async () => {}));
  await clock.advance(0);
  await Promise.all(calls);
}

describe('a call that waits', () => {
  test('has a span under its tool, as long as the wait, whoever woke it', async () => {
    const lab = gate();
    await drain(lab);
    const calls = ['a', 'b', 'c'].map((name) => lab.tool(name, () => name));
    await lab.clock.advance(10_000);
    expect(await Promise.all(calls)).toEqual(['a', 'b', 'c']);
    expect(lab.spans.waits).toHaveLength(3);
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      const span = lab.spans.waits[index]!;
      expect(span.parentSpanContext?.spanId).toBe(lab.spans.span(name).spanContext().spanId);
      expect(lengthOf(span)).toBeCloseTo(1_250 * (index + 1), 0);
      expect(span.attributes).toMatchObject({
        downstream: 'carrier',
        'downstream.outcome': 'started',
        'downstream.limited_by': 'quota:60/minute',
        'downstream.queue.position': index + 1,
        'gen_ai.tool.name': name,
      });
    }
    await lab.dispatcher.close();
  });

  test('B95: finds its own context in fn and after it, with 100 callers at once', async () => {
    const lab = gate();
    const store = new AsyncLocalStorage<number>();
    const spanNow = (): string | undefined => trace.getActiveSpan()?.spanContext().spanId;
    const tracer = lab.spans.provider.getTracer('agent');
    const calls = Array.from({ length: 100 }, (_, index) =>
      store.run(index, () =>
        tracer.startActiveSpan(`caller-${index}`, async (span) => {
          const own = span.spanContext().spanId;
          const inside = await lab.dispatcher.callDownstream('carrier', async () => {
            const before = [store.getStore(), spanNow()];
            await Promise.resolve();
            return [...before, store.getStore(), spanNow()];
          });
          expect([...inside, store.getStore(), spanNow()]).toEqual([index, own, index, own, index, own]);
          span.end();
          return index;
        }),
      ),
    );
    await lab.clock.advance(130_000);
    expect(await Promise.all(calls)).toEqual(calls.map((_, index) => index));
    expect(lab.spans.waits).toHaveLength(94);
    await lab.dispatcher.close();
  });

  test('is named in the audit by its caller, whatever its end', async () => {
    const lab = gate();
    await drain(lab);
    const controller = new AbortController();
    const calls = [
      lab.tool('waits', () => 1),
      lab.tool('leaves', () => 1, { signal: controller.signal }),
      lab.tool('refused', () => 1, { deadline: lab.clock.wallNow() + 10 }),
      lab.tool('hangs', () => new Promise(() => {}), { deadline: lab.clock.wallNow() + 5_000 }),
    ];
    await lab.clock.advance(100);
    lab.spans.within('somebody else', () => controller.abort());
    await lab.clock.advance(10_000);
    await Promise.all(calls);
    const spanOf = (name: string): unknown => lab.spans.span(name).spanContext().spanId;
    const told = lab.events.filter((event) => 'callId' in event && event.tool !== undefined);
    expect(told.length).toBeGreaterThanOrEqual(9);
    for (const event of told) {
      if (!('callId' in event)) continue;
      expect(event.spanId, `${event.type} ${event.tool}`).toBe(spanOf(event.tool!));
    }
    await lab.dispatcher.close({ within: 0 });
  });
});

describe('nothing is left open and nothing is told twice', () => {
  const at = (clock: ManualClock, ms: number): number => clock.wallNow() + ms;
  const hang = (): Promise<never> => new Promise(() => {});
  /** What brings the end about, and the outcome of the wait span that it leaves where calls that wait have one. */
  const ways: Record<string, [Admission | undefined, (lab: ReturnType<typeof gate>) => Promise<unknown>[]]> = {
    'answered at once': [undefined, ({ tool }) => [tool('t', () => 1)]],
    'thrown at once': [
      undefined,
      ({ tool }) => [
        tool('t', () => {
          throw new Error('no');
        }),
      ],
    ],
    'answered after a wait': ['started', (lab) => [drain(lab), lab.tool('t', () => 1)]],
    'deadline refused on entry': [
      'refused',
      (lab) => [drain(lab), lab.tool('t', () => 1, { deadline: at(lab.clock, 5) })],
    ],
    'deadline while it ran': [undefined, (lab) => [lab.tool('t', hang, { deadline: at(lab.clock, 500) })]],
    'aborted before it came': [undefined, (lab) => [lab.tool('t', () => 1, { signal: AbortSignal.abort() })]],
    'aborted while it waited': [
      'aborted',
      (lab) => {
        const controller = new AbortController();
        lab.clock.setTimer(50, () => controller.abort());
        return [drain(lab), lab.tool('t', () => 1, { signal: controller.signal })];
      },
    ],
    'aborted while it ran': [
      undefined,
      (lab) => {
        const controller = new AbortController();
        lab.clock.setTimer(50, () => controller.abort());
        return [lab.tool('t', hang, { signal: controller.signal })];
      },
    ],
    'refused by a pause while it waited': [
      'refused',
      (lab) => {
        lab.clock.setTimer(50, () => lab.dispatcher.pause('carrier', { for: '1h' }));
        return [drain(lab), lab.tool('t', () => 1)];
      },
    ],
    'refused by a hold that its deadline cannot outlast': [
      'refused',
      (lab) => {
        lab.clock.setTimer(50, () => lab.dispatcher.pause('carrier', { for: '1m' }));
        return [drain(lab), lab.tool('t', () => 1, { deadline: at(lab.clock, 5_000) })];
      },
    ],
    'unregistered while it waited': [
      'refused',
      (lab) => {
        lab.clock.setTimer(50, () => lab.dispatcher.unregister('carrier'));
        return [drain(lab), lab.tool('t', () => 1)];
      },
    ],
    'closed while it waited': [
      'refused',
      (lab) => {
        lab.clock.setTimer(50, () => void lab.dispatcher.close());
        return [drain(lab), lab.tool('t', () => 1)];
      },
    ],
  };

  for (const [name, [outcome, begin]] of Object.entries(ways)) {
    for (const waitSpans of ['waiting', 'always', { longerThan: 10 }] as const) {
      test(`${name} (${JSON.stringify(waitSpans)})`, async () => {
        const lab = gate(carrier, waitSpans);
        const calls = begin(lab);
        await lab.clock.advance(20_000);
        await Promise.allSettled(calls);
        expect(lab.spans.open).toBe(0);
        const ended = lab.events.filter((event) => 'callId' in event && isEnd(event.type));
        expect(new Set(ended.map((event) => 'callId' in event && event.callId)).size).toBe(ended.length);
        const spanned = lab.spans.waits.filter((span) => span.attributes['gen_ai.tool.name'] === 't');
        const outcomes = spanned.map((span) => span.attributes['downstream.outcome']);
        if (waitSpans !== 'always') expect(outcomes).toEqual(outcome === undefined ? [] : [outcome]);
        if (waitSpans === 'always') expect(lab.spans.waits).toHaveLength(ended.length);
        await sumsAgree(lab);
        await lab.dispatcher.close({ within: 0 });
        expect(lab.spans.open).toBe(0);
      });
    }
  }

  test('no room: refused calls of a full queue have spans, and sums agree', async () => {
    const lab = gate({ ...carrier, maxQueueDepth: 10, maxWait: '5s' });
    const calls = Array.from({ length: 60 }, (_, index) =>
      lab.tool(`t${index}`, () => index, {
        priority: (['interactive', 'normal', 'batch'] as const)[index % 3],
        runId: `run-${index % 7}`,
      }),
    );
    await lab.clock.advance(30_000);
    await Promise.all(calls);
    expect(lab.spans.open).toBe(0);
    const refused = lab.events.filter((event) => event.type === 'refused').length;
    expect(refused).toBeGreaterThan(40);
    expect(lab.spans.waits.filter((span) => span.attributes['error.type'] !== undefined)).toHaveLength(refused);
    await sumsAgree(lab);
    await lab.dispatcher.close();
  });
});

test('counters agree with the audit, and 429s reach theirs', async () => {
  const lab = gate();
  const limited = Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '2' } });
  const calls = [
    lab.tool('ok', () => 1),
    lab.tool('limited', () => {
      throw limited;
    }),
  ];
  await lab.clock.advance(1_000);
  await Promise.all(calls);
  expect(await lab.metrics.points('downstream.throttled')).toEqual({ 'downstream=carrier': 1 });
  const held = await lab.metrics.points('downstream.hold_ms');
  expect(held['downstream=carrier,cause=retry-after'] ?? held['cause=retry-after,downstream=carrier']).toBeCloseTo(
    1_000,
    0,
  );
  const admissions = await lab.metrics.points('downstream.admissions');
  expect(admissions['downstream=carrier,outcome=started']).toBe(2);
  const took = await lab.metrics.histogram('downstream.call_ms');
  expect(Object.keys(took).sort()).toEqual([
    'downstream=carrier,outcome=success',
    'downstream=carrier,outcome=throttled',
  ]);
  await lab.dispatcher.close();
});

function isEnd(type: DispatcherEvent['type']): boolean {
  return type === 'settled' || type === 'refused' || type === 'aborted';
}

/** The audit's waits are the histogram's, and its ends are the counter's. */
async function sumsAgree({ events, metrics }: ReturnType<typeof gate>): Promise<void> {
  const waits = Object.values(await metrics.histogram('downstream.wait_ms'));
  const total = (of: (value: (typeof waits)[number]) => number): number =>
    waits.reduce((sum, value) => sum + of(value), 0);
  let waitedMs = 0;
  let ends = 0;
  for (const event of events) {
    if (!('callId' in event) || !isEnd(event.type)) continue;
    waitedMs += event.waitedMs;
    ends += 1;
  }
  expect(total((value) => value.count)).toBe(ends);
  expect(total((value) => value.sum ?? 0)).toBeCloseTo(waitedMs, 6);
  const admitted = Object.values(await metrics.points('downstream.admissions'));
  expect(admitted.reduce((sum, count) => sum + count, 0)).toBe(ends);
}
