import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { SpanLab } from './harness.ts';

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());

/** Nobody subscribes and nobody collects metrics: only waits and refusals are told. */
function traced(downstream: object) {
  const clock = new ManualClock();
  const spans = new SpanLab();
  const telemetry = { tracerProvider: spans.provider };
  const dispatcher = createDispatcher(
    { downstreams: { mail: downstream } },
    { clock, env: {}, alertSinks: [], telemetry },
  );
  return { clock, spans, dispatcher };
}

test('a wait that ends in the instant in which it began leaves no span open', async () => {
  const { clock, spans, dispatcher } = traced({ maxConcurrent: 1 });
  const calls = [1, 2, 3].map((n) => dispatcher.callDownstream('mail', async () => n));
  await clock.advance(0);
  expect(await Promise.all(calls)).toEqual([1, 2, 3]);
  expect(spans.open).toBe(0);
  expect(spans.waits.map((span) => span.attributes['downstream.outcome'])).toEqual(['started', 'started']);
  await dispatcher.close();
});

test('waits, refusals and aborts have their spans, calls at once have none', async () => {
  const { clock, spans, dispatcher } = traced({ quota: '1/second' });
  const leaver = new AbortController();
  const calls = [
    dispatcher.callDownstream('mail', async () => {}),
    dispatcher.callDownstream('mail', async () => {}),
    dispatcher.callDownstream('mail', async () => {}, { signal: leaver.signal }),
    dispatcher.callDownstream('mail', async () => {}, { deadline: clock.wallNow() + 10 }),
    dispatcher.callDownstream('mail', async () => {}),
  ];
  const answers = Promise.allSettled(calls);
  await clock.advance(100);
  leaver.abort();
  await clock.advance(1_500);
  await dispatcher.close();
  await answers;
  expect(spans.open).toBe(0);
  expect(spans.waits.map((span) => span.attributes['error.type'] ?? span.attributes['downstream.outcome'])).toEqual([
    'DEADLINE_EXCEEDED',
    'aborted',
    'started',
    'DISPATCHER_CLOSED',
  ]);
});
