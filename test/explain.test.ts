import { describe, expect, test } from 'vitest';
import { DeadlineExceeded, DownstreamPaused, InvalidCall } from '../src/base/errors.ts';
import { createDispatcher } from '../src/dispatcher.ts';
import { explain } from '../src/explain.ts';
import { ManualClock } from '../src/testing.ts';

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

test("a downstream's refusal without a status, by its own name; a quota of a day, with its reset", () => {
  expect(explain({ name: 'ThrottlingException', $metadata: {} }).message).toContain('(ThrottlingException)');
  expect(explain({ code: 8, details: 'x', metadata: {} })).toMatchObject({ code: 'RATE_LIMITED', retryable: true });
  const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '3600', 'retry-after': '1' };
  const daily = { status: 429, headers, error: { code: 'insufficient_quota' } };
  expect(explain(daily)).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 3_600_000 });
  expect(explain(daily).message).toContain('(status 429, insufficient_quota): a quota is used up that waiting');
});

describe('an error is explained as its lane has read it', () => {
  async function rejected(error: unknown, policy: object, classify = {}): Promise<unknown> {
    const options = { clock: new ManualClock(), alertSinks: [], env: {}, classify };
    const { callDownstream } = createDispatcher({ downstreams: { api: policy } }, options);
    return callDownstream('api', () => Promise.reject(error)).catch((thrown: unknown) => thrown);
  }

  test('by the statuses of its policy', async () => {
    const forbidden = { status: 403 };
    expect(explain(forbidden).code).toBe('FAILED');
    expect(await rejected(forbidden, { throttleStatuses: [403] })).toBe(forbidden);
    expect(explain(forbidden)).toMatchObject({
      code: 'RATE_LIMITED',
      message: expect.stringContaining('(status 403)'),
    });
    expect(explain({ ...forbidden }).code).toBe('FAILED');
  });

  test('by its classifier, which may also say that a 429 is none', async () => {
    const inWords = new Error('come back in 5 s');
    const server = { retryAfterMs: 5_000 };
    await rejected(inWords, {}, { api: () => ({ outcome: 'throttled', server }) });
    expect(explain(inWords)).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 5_000 });
    const locked = { status: 429, code: 'lock_timeout' };
    await rejected(locked, {}, { api: () => ({ outcome: 'failed', server: { status: 429 } }) });
    expect(explain(locked).code).toBe('FAILED');
  });

  test('in nested calls, by the lane that reads a refusal in it', async () => {
    const forbidden = Object.freeze({ status: 403 });
    const inner = rejected(forbidden, { throttleStatuses: [403] });
    await rejected(await inner, {});
    expect(explain(forbidden).code).toBe('RATE_LIMITED');
  });
});

test.each([
  ['no time that anybody knows', {}, false, 'do not repeat'],
  ['a reset', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '3600' }, true, '60 min'],
])('what is exhausted is worth another try where it is known when: %s', (_, headers, retryable, words) => {
  const error = Object.assign(new Error('no'), { status: 429, code: 'insufficient_quota', headers });
  const told = explain(error);
  expect(told).toMatchObject({ code: 'RATE_LIMITED', retryable, started: true });
  expect(told.message).toContain(words);
});

describe('what somebody has wrapped is told as what it is', () => {
  const paused = new DownstreamPaused('carrier is paused', { downstream: 'carrier', retryAfterMs: 60_000 });

  test.each([
    ['by fetch', new TypeError('fetch failed', { cause: paused })],
    ['by an SDK', new Error('Connection error.', { cause: new TypeError('fetch failed', { cause: paused }) })],
    ['by one who has tried again', Object.assign(new Error('Failed after 3'), { lastError: paused })],
  ])('a refusal, %s', (_, error) => {
    expect(explain(error)).toEqual(explain(paused));
  });

  test('a timeout of undici', () => {
    const cause = Object.assign(new Error('Headers Timeout Error'), { code: 'UND_ERR_HEADERS_TIMEOUT' });
    expect(explain(new TypeError('fetch failed', { cause })).code).toBe('TIMEOUT');
  });

  test('a circle, and what cannot be read, are failures', () => {
    const circle = new Error('round');
    circle.cause = new Error('and round', { cause: circle });
    const locked = {
      get cause() {
        throw new Error('no');
      },
    };
    expect([circle, locked].map((error) => explain(error).code)).toEqual(['FAILED', 'FAILED']);
  });
});
