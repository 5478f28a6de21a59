import { expect, test } from 'vitest';
import { DeadlineExceeded, DownstreamPaused, InvalidCall } from '../src/base/errors.ts';
import { explain } from '../src/explain.ts';

test('our own refusals are told as they are', () => {
  const paused = new DownstreamPaused('carrier is paused', { downstream: 'carrier', retryAfterMs: 60_000 });
  expect(explain(paused)).toEqual({
    code: 'RATE_LIMITED',
    retryable: true,
    started: false,
    retryAfterMs: 60_000,
    message: 'carrier is paused',
  });
  const late = new DeadlineExceeded('too late', { downstream: 'carrier', phase: 'running', started: true });
  expect(explain(late)).toEqual({
    code: 'DEADLINE_EXCEEDED',
    retryable: false,
    started: true,
    message: 'too late',
  });
  expect(explain(new InvalidCall('no', { downstream: 'carrier' }))).not.toHaveProperty('retryAfterMs');
});

test('so are those of another copy of the package', () => {
  const other = Object.assign(new Error('full'), {
    [Symbol.for('penstock.AdmissionError')]: true,
    code: 'RATE_LIMIT_QUEUE_FULL',
    retryable: true,
    started: false,
  });
  expect(explain(other)).toMatchObject({ code: 'RATE_LIMIT_QUEUE_FULL', retryable: true, message: 'full' });
});

test("the downstream's own 429 is told as feedback reads it", () => {
  const error = Object.assign(new Error('Too Many Requests'), {
    response: { status: 429, headers: { 'Retry-After': '7' } },
  });
  expect(explain(error)).toEqual({
    code: 'RATE_LIMITED',
    retryable: true,
    started: true,
    retryAfterMs: 7_000,
    message:
      'The downstream throttled the call (status 429): its quota is used up, and the call did no work. Try again in 7 s at the earliest.',
  });
  expect(explain({ status: 429 })).not.toHaveProperty('retryAfterMs');
  expect(explain({ status: 429 }).message).toContain('named no time');
  expect(explain(new Response('', { status: 429, headers: { 'retry-after': '0' } })).retryAfterMs).toBe(0);
});

test('an overloaded downstream: when to come back, but no word that repeating is safe', () => {
  expect(explain({ status: 503, headers: { 'retry-after': '2' } })).toMatchObject({
    code: 'FAILED',
    retryable: false,
    retryAfterMs: 2_000,
    message: expect.stringContaining('overloaded (status 503)'),
  });
});

test.each([
  ['an abort', new DOMException('This operation was aborted', 'AbortError'), 'CANCELLED'],
  ['a timeout', new DOMException('The operation timed out', 'TimeoutError'), 'TIMEOUT'],
  ['a timeout of the network', Object.assign(new Error('connect'), { code: 'ETIMEDOUT' }), 'TIMEOUT'],
  ['an error', new Error('no such parcel'), 'FAILED'],
  ['a status', { status: 404 }, 'FAILED'],
  ['text', 'no such parcel', 'FAILED'],
  ['nothing', undefined, 'FAILED'],
  ['null', null, 'FAILED'],
])('%s', (_, error, code) => {
  const explanation = explain(error);
  expect(explanation).toMatchObject({ code, retryable: false, started: true });
  expect(explanation.message).toMatch(/^The call .*\.$/);
  expect(explanation.message).not.toMatch(/undefined|null/);
});

test("the error's own words are quoted on one line and cut", () => {
  expect(explain(new Error('no\n  such   parcel')).message).toContain('(no such parcel)');
  expect(explain('x'.repeat(10_000)).message.length).toBeLessThan(450);
});

test('whatever is thrown, it answers', () => {
  const boom = (): never => {
    throw new Error('no');
  };
  const hostile = new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom });
  expect(explain(hostile)).toMatchObject({ code: 'FAILED', retryable: false });
});
