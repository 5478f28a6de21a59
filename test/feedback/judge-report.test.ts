import { describe, expect, test } from 'vitest';
import { judgeReport } from '../../src/feedback/report.ts';
import { judge, NOW } from './judges.ts';

const read = (outcome: unknown) => judgeReport(judge, outcome, { wallNow: () => NOW });

describe('a refusal that was seen elsewhere', () => {
  test.each([
    ['a status and a wait', { status: 429, retryAfterMs: 2_000 }, 'throttled', 2_000],
    ['a status and headers', { status: 429, headers: { 'Retry-After': '7' } }, 'throttled', 7_000],
    ['a wait alone', { retryAfterMs: 2_000 }, 'throttled', 2_000],
    ['a verdict', { outcome: 'exhausted', server: { retryAfterMs: 2_000 } }, 'exhausted', 2_000],
    ['an error', Object.assign(new Error('x'), { response: { status: 429 } }), 'throttled', undefined],
    ['an error as JSON', { name: 'x', code: 'ThrottlingException', message: 'x' }, 'throttled', undefined],
    ['an error of gRPC as JSON', { code: 8, details: 'x' }, 'throttled', undefined],
    ['a part of a stream', { type: 'error', error: { statusCode: 429, responseHeaders: {} } }, 'throttled', undefined],
    ["a tool's result", { isError: true, structuredContent: { code: 'RATE_LIMITED' } }, 'throttled', undefined],
    ['headers of HTTP/2', { ':status': 429, 'retry-after': '7' }, 'throttled', 7_000],
    [
      'a forbidden with nothing left',
      { status: 403, headers: { 'x-ratelimit-remaining': '0' } },
      'throttled',
      undefined,
    ],
  ])('%s', (_, outcome, expected, waitMs) => {
    const { outcome: found, server } = read(outcome);
    expect([found, server?.retryAfterMs]).toEqual([expected, waitMs]);
  });
});

describe('headers alone tell what is left, and no outcome', () => {
  const record = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '3', 'X-RateLimit-Reset': '30' };
  test.each([
    ['a record', record],
    ['Headers', new Headers(record)],
    ['a Map', new Map(Object.entries(record))],
    ['pairs', Object.entries(record)],
    ['a flat list', Object.entries(record).flat()],
    ['a value with headers', { headers: record }],
    ['a response around them', { response: { headers: record } }],
  ])('%s', (_, outcome) => {
    const { outcome: found, server, quotas } = read(outcome);
    expect(['throttled', 'overloaded', 'exhausted']).not.toContain(found);
    expect(server).toBeUndefined();
    expect(quotas).toMatchObject([{ limit: 60, remaining: 3, resetMs: 30_000 }]);
  });

  test('Retry-After among them is no refusal: it holds as a spent quota does', () => {
    expect(read(new Headers({ 'retry-after': '7' })).quotas).toEqual([
      { remaining: 0, resetMs: 7_000, unit: 'requests' },
    ]);
    expect(read({ 'Retry-After': '0' })).toEqual({ outcome: 'success' });
    const spent = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '30', 'retry-after': '30' };
    expect(read(spent).quotas).toHaveLength(1);
  });
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['text', '429'],
  ['a number', 429],
  ['a good answer', { status: 200, headers: {} }],
  ['a record', { id: 7, parcel: 'x' }],
  ['a wait that is none', { retryAfterMs: Number.NaN }],
])('%s changes nothing', (_, outcome) => {
  expect(read(outcome)).toEqual({ outcome: 'success' });
});

test('whatever is reported, it answers', () => {
  const boom = (): never => {
    throw new Error('no');
  };
  const hostile = new Proxy({}, { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom });
  expect(read(hostile).outcome).toBe('success');
  expect(read({ outcome: 'throttled', server: hostile }).outcome).toBe('throttled');
});
