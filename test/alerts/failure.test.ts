import { expect, test } from 'vitest';
import { failureOf, refusalIn } from '../../src/alerts/failure.ts';
import { DeliveryFailed } from '../../src/alerts/sink.ts';
import { NOW } from './facts.ts';

const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error('no');
    },
  },
);
const headers = (value: string): Headers => new Headers({ 'retry-after': value });

test.each<[string, unknown, string, boolean, number | undefined]>([
  ['a DeliveryFailed', new DeliveryFailed('x', { isRetryable: false, status: 410 }), 'status 410', false, undefined],
  ['one of another copy of the package', { isRetryable: false, retryAfterMs: 5 }, 'failed', false, 5],
  [
    'its own opinion counts',
    new DeliveryFailed('x', { isRetryable: true, status: 400 }),
    'status 400',
    true,
    undefined,
  ],
  ['a client error with a status', Object.assign(new Error('x'), { status: 404 }), 'status 404', false, undefined],
  [
    'a client error with a response',
    { response: { status: 429, headers: { 'retry-after': '7' } } },
    'status 429',
    true,
    7_000,
  ],
  ['an old client', Object.assign(new Error('x'), { statusCode: 503 }), 'status 503', true, undefined],
  ['a response that is thrown', new Response(null, { status: 503, headers: headers('2') }), 'status 503', true, 2_000],
  ['a date', { status: 429, headers: headers(new Date(NOW + 9_000).toUTCString()) }, 'status 429', true, 9_000],
  [
    'a date that has passed',
    { status: 429, headers: headers(new Date(NOW - 9_000).toUTCString()) },
    'status 429',
    true,
    undefined,
  ],
  ['a wait that is none', { status: 429, headers: headers('soon') }, 'status 429', true, undefined],
  [
    'a wait below zero',
    new DeliveryFailed('x', { isRetryable: true, retryAfterMs: -5 }),
    'DeliveryFailed',
    true,
    undefined,
  ],
  ['a wait that is no number', { isRetryable: true, retryAfterMs: Number.NaN }, 'failed', true, undefined],
  [
    'a wait of a month',
    new DeliveryFailed('x', { isRetryable: true, retryAfterMs: 2.6e9 }),
    'DeliveryFailed',
    true,
    86_400_000,
  ],
  [
    'fetch',
    Object.assign(new TypeError('x'), { cause: { code: 'ECONNREFUSED' } }),
    'TypeError ECONNREFUSED',
    true,
    undefined,
  ],
  [
    'a name that is text of somebody',
    Object.assign(new Error('x'), { name: 'https://a.example/secret' }),
    'failed',
    true,
    undefined,
  ],
  ['text', 'https://a.example/secret', 'failed', true, undefined],
  ['nothing', undefined, 'failed', true, undefined],
  ['what throws when it is looked at', hostile, 'failed', true, undefined],
])('what was thrown is read by its structure: %s', (_, error, kind, isRetryable, retryAfterMs) => {
  expect(failureOf(error, NOW)).toMatchObject({ kind, isRetryable, retryAfterMs });
});

test('an answer that is handed on is read too; what is no answer is none', () => {
  expect(refusalIn(new Response(null, { status: 500 }), NOW)).toMatchObject({ kind: 'status 500', isRetryable: true });
  expect(refusalIn({ status: 401, ok: false }, NOW)).toMatchObject({ kind: 'status 401', isRetryable: false });
  for (const fine of [undefined, null, 'ok', 500, { status: 'error' }, { status: 202 }, { ok: false }, hostile]) {
    expect(refusalIn(fine, NOW)).toBeUndefined();
  }
});
