import { expect, test } from 'vitest';
import { isRefusal, refusalOf } from '../../../src/adapters/support/refusal.ts';
import { DeadlineExceeded, QueueFull } from '../../../src/index.ts';

const full = new QueueFull('carrier: 8 calls wait already', { downstream: 'carrier', retryAfterMs: 1_250.4 });

test('a refusal of ours, its time in whole milliseconds', () => {
  expect(refusalOf(full, 'web')).toEqual({
    error: {
      code: 'RATE_LIMIT_QUEUE_FULL',
      downstream: 'carrier',
      retryable: true,
      retry_after_ms: 1_251,
      message: 'carrier: 8 calls wait already',
    },
  });
});

test('no time where none is known', () => {
  const late = new DeadlineExceeded('too late', { downstream: '', phase: 'running', started: true });
  expect(refusalOf(late, 'web')).toEqual({
    error: { code: 'DEADLINE_EXCEEDED', downstream: 'web', retryable: false, message: 'too late' },
  });
});

test('one that a client has wrapped is still one', () => {
  const wrapped = new Error('Connection error.', { cause: new TypeError('fetch failed', { cause: full }) });
  expect(refusalOf(wrapped, 'web')).toEqual(refusalOf(full, 'web'));
});

test('what is none: failures, aborts, circles, hostile values', () => {
  const circle = new Error('round');
  circle.cause = circle;
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error('no');
      },
    },
  );
  const others = [new Error('boom'), new DOMException('stop', 'AbortError'), circle, hostile, null, undefined, 'text'];
  expect(others.map((error) => refusalOf(error, 'web'))).toEqual(others.map(() => undefined));
});

test('a refusal is known by its shape, also when it was JSON', () => {
  const refusal = refusalOf(full, 'web');
  expect(isRefusal(refusal)).toBe(true);
  expect(isRefusal(JSON.parse(JSON.stringify(refusal)))).toBe(true);
  const others = [
    undefined,
    null,
    'error',
    {},
    { error: 'no' },
    { error: null },
    { error: { code: 'X' } },
    { ...refusal, id: 1 },
  ];
  expect(others.map(isRefusal)).toEqual(others.map(() => false));
});
