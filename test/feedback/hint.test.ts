import { describe, expect, test } from 'vitest';
import { headerReader } from '../../src/feedback/headers.ts';
import { readHint, readWait } from '../../src/feedback/hint.ts';
import { bySeven, judge, NOW, noHint } from './judges.ts';

describe('B39: a hint of 7 s in every container and place', () => {
  class LookAlike {
    readonly #map = new Map([['retry-after', '7']]);
    get(name: string): string | undefined {
      return this.#map.get(name.toLowerCase());
    }
  }
  const bare: Record<string, string> = Object.create(null);
  bare['Retry-After'] = '7';
  const containers: readonly (readonly [string, object])[] = [
    ['lower case', { 'retry-after': '7' }],
    ['title case', { 'Retry-After': '7' }],
    ['upper case', { 'RETRY-AFTER': '7' }],
    ['a list of values', { 'Retry-after': ['7'] }],
    ['several values', { 'retry-after': ['2', '7'] }],
    ['a number', { 'Retry-After': 7 }],
    ['Headers', new Headers({ 'Retry-After': '7' })],
    ['a look-alike with get()', new LookAlike()],
    ['a Map', new Map([['Retry-After', '7']])],
    [
      'pairs',
      [
        ['Date', 'x'],
        ['Retry-After', '7'],
      ],
    ],
    ['a flat list', ['Date', 'x', 'Retry-After', '7']],
    ['a null prototype', bare],
    ['a header named get', { get: '1', 'retry-after': '7' }],
    [
      'a get() that throws',
      {
        get: () => {
          throw new Error('no');
        },
        'retry-after': '7',
      },
    ],
  ];
  test.each(containers)('%s', (_, headers) => {
    expect(judge({ status: 429, headers }, true)).toEqual(bySeven);
    expect(judge({ status: 429, headers }, false)).toEqual(bySeven);
    expect(judge({ response: { status: 429, headers } }, true)).toEqual(bySeven);
    expect(judge({ statusCode: 429, responseHeaders: headers }, true)).toEqual(bySeven);
    expect(judge({ statusCode: 429, responseHeaders: headers }, false)).toEqual(bySeven);
  });

  test.each([
    ['text', 'Retry-After: 7'],
    ['a number', 7],
    ['a Set', new Set(['Retry-After: 7'])],
    [
      'something that throws',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
    ],
    [
      'an iterator that throws',
      {
        [Symbol.iterator]: () => {
          throw new Error('no');
        },
      },
    ],
    ['null', null],
    ['a symbol as value', { 'retry-after': Symbol('7') }],
  ])('%s is no container: no hint and no exception', (_, headers) => {
    expect(judge({ status: 429, headers }, true)).toEqual(noHint);
  });
});

describe('where a wait is found', () => {
  const serverOf = (outcome: object): unknown => judge({ status: 429, ...outcome }, true).server;

  test('milliseconds come before seconds, and unusable ones do not hide them', () => {
    const both = { 'retry-after': '7', 'retry-after-ms': '6500' };
    expect(serverOf({ headers: both })).toEqual({
      status: 429,
      retryAfterMs: 6_500,
      readFrom: 'retry-after-ms',
    });
    expect(serverOf({ headers: { ...both, 'retry-after-ms': 'x' } })).toEqual(bySeven.server);
    expect(serverOf({ headers: { 'x-ms-retry-after-ms': '20' } })).toMatchObject({ retryAfterMs: 20 });
  });

  test('an unusable header in one place does not hide a usable one in another', () => {
    expect(serverOf({ headers: { 'retry-after': '-1' }, responseHeaders: { 'retry-after': '7' } })).toEqual(
      bySeven.server,
    );
  });

  test('B35: an epoch is noted where the alert will show it', () => {
    expect(serverOf({ headers: { 'retry-after': String(NOW / 1_000 + 30) } })).toEqual({
      status: 429,
      retryAfterMs: 30_000,
      readFrom: 'retry-after (read as an epoch in seconds)',
    });
  });

  test('B36: Date and Age are read from the same container', () => {
    const headers = { 'Retry-After': 'Thu, 01 Jan 2026 00:01:30 GMT', Date: 'Thu, 01 Jan 2026 00:01:00 GMT' };
    expect(serverOf({ headers })).toMatchObject({ retryAfterMs: 30_000 });
    expect(serverOf({ headers: { ...headers, Age: '3' } })).toMatchObject({ retryAfterMs: 90_000 });
  });

  test('B38: zero is a value, B27: a number with 400 digits is a very long wait', () => {
    expect(serverOf({ headers: { 'retry-after': '0' } })).toMatchObject({ retryAfterMs: 0 });
    expect(serverOf({ headers: { 'retry-after': 0 } })).toMatchObject({ retryAfterMs: 0 });
    const longest = { retryAfterMs: Number.MAX_SAFE_INTEGER };
    expect(serverOf({ headers: { 'retry-after': '9'.repeat(400) } })).toMatchObject(longest);
    expect(serverOf({ headers: { 'retry-after': 1e300 } })).toMatchObject(longest);
    expect(serverOf({ headers: { 'retry-after': Number.NaN } })).toEqual({ status: 429 });
    expect(serverOf({ headers: { 'retry-after': 1e-7 } })).toMatchObject({ retryAfterMs: 1 });
  });

  test('retryAfterMs on the outcome itself counts; beside a header the longer of the two', () => {
    expect(judge({ status: 429, retryAfterMs: 1_500.2 }, false)).toEqual({
      outcome: 'throttled',
      server: { status: 429, retryAfterMs: 1_501, readFrom: 'retryAfterMs' },
    });
    expect(serverOf({ retryAfterMs: 9_000, headers: { 'retry-after': '7' } })).toMatchObject({
      retryAfterMs: 9_000,
    });
    expect(serverOf({ retryAfterMs: 1_000, headers: { 'retry-after': '7' } })).toMatchObject({
      retryAfterMs: 7_000,
    });
    expect(serverOf({ retryAfterMs: Number.POSITIVE_INFINITY })).toMatchObject({
      retryAfterMs: Number.MAX_SAFE_INTEGER,
    });
    expect(serverOf({ retryAfterMs: Number.NaN })).toEqual({ status: 429 });
    expect(serverOf({ retryAfterMs: -1 })).toEqual({ status: 429 });
  });
});

describe('which header names the wait', () => {
  const read = (headers: object) => readHint(headerReader(headers)!, { wallNow: () => NOW });
  test.each([
    ['retry-after-ms', '1500', 1_500],
    ['x-ms-retry-after-ms', '1500', 1_500],
    ['x-amz-retry-after', '1500', 1_500],
    ['grpc-retry-pushback-ms', '1500', 1_500],
    ['x-retry-after-ms', '1500', 1_500],
    ['x-rate-limit-retry-after-milliseconds', '1500', 1_500],
    ['acme-retry-after-ms', '1500', 1_500],
    ['retry-after', '15', 15_000],
    ['x-retry-after', '15', 15_000],
    ['x-ratelimit-retry-after', '15', 15_000],
    ['x-rate-limit-retry-after-seconds', '15', 15_000],
    ['acme-retry-after', '15', 15_000],
    ['x-retry-after-minutes', '15', 900_000],
    ['retry-after', '1m30s', 90_000],
    ['retry-after', '500ms', 500],
    ['retry-after', '2026-01-01T00:00:30Z', 30_000],
    ['retry-after-ms', '0.5', 1],
    ['retry-after-ms', String(NOW + 30_000), 30_000],
    ['retry-after-ms', '9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ])('%s: %s', (name, text, ms) => {
    expect(read({ [name]: text })?.retryAfterMs).toBe(ms);
    expect(read({ [name]: text })?.readFrom).toMatch(name);
    expect(read(new Headers({ [name]: text }))?.retryAfterMs).toBe(ms);
  });

  test.each([
    ['not-retry-after-all', '15'],
    ['retry', '15'],
    ['grpc-retry-pushback-ms', '-1'],
    ['retry-after-ms', '-1'],
    ['x-ratelimit-remaining', '0'],
  ])('not %s: %s', (name, text) => {
    expect(read({ [name]: text })).toBeUndefined();
  });

  test('milliseconds, Retry-After, its relatives, then resets; of one rank the longest; what is unusable hides nothing', () => {
    const all = {
      'retry-after-ms': '100',
      'x-ms-retry-after-ms': '200',
      'retry-after': '3',
      'x-retry-after': '4',
      'x-ratelimit-retry-after': '5',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '60',
    };
    const order = [
      'x-ms-retry-after-ms',
      'retry-after-ms',
      'retry-after',
      'x-ratelimit-retry-after',
      'x-retry-after',
      'x-ratelimit-reset',
    ];
    for (let at = 0; at < order.length; at++) {
      const unusable = Object.fromEntries(order.slice(0, at).map((name) => [name, '-1']));
      expect(read({ ...all, ...unusable })?.readFrom).toBe(order[at]);
    }
  });

  test('a container that cannot list its headers is asked for the known ones', () => {
    const opaque = (name: string, text: string) => read({ get: (asked: string) => (asked === name ? text : null) });
    expect(opaque('x-amz-retry-after', '1500')?.retryAfterMs).toBe(1_500);
    expect(opaque('ratelimit', '"a";r=0;t=30')?.retryAfterMs).toBe(30_000);
  });

  test('what an overloaded server says is no reset of a limit', () => {
    const spent = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' };
    expect(readWait(headerReader(spent)!, { wallNow: () => NOW })).toBeUndefined();
    expect(readWait(headerReader({ ...spent, 'retry-after': '3' })!, { wallNow: () => NOW })?.retryAfterMs).toBe(3_000);
  });
});
