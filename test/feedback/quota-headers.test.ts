import { describe, expect, test } from 'vitest';
import type { QuotaReading } from '../../src/base/verdict.ts';
import { headerReader } from '../../src/feedback/headers.ts';
import { readQuotas } from '../../src/feedback/quota-headers.ts';
import { KNOWN_APIS, NOW } from './known-apis.ts';

const context = { wallNow: () => NOW };
const read = (headers: object): readonly QuotaReading[] => readQuotas(headerReader(headers)!, context);

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
const requests = 'requests';

const DRAFTS: typeof KNOWN_APIS = [
  [
    'the IETF draft',
    {
      'ratelimit-policy': '"burst";q=100;w=60,"daily";q=1000;w=86400',
      ratelimit: '"burst";r=5;t=10, "daily";r=0;t=3600',
    },
    [
      { limit: 100, remaining: 5, resetMs: 10_000, windowMs: MINUTE, unit: requests, policy: 'burst' },
      { limit: 1_000, remaining: 0, resetMs: HOUR, windowMs: DAY, unit: requests, policy: 'daily' },
    ],
  ],
  [
    'the IETF draft with units, partitions and a policy of which nothing is said',
    {
      'ratelimit-policy': '"up";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:, "all";q=10;w=1',
      ratelimit: '"up";r=100;t=5;pk=:sdfjLJUOUH==:',
    },
    [
      { limit: 65_535, remaining: 100, resetMs: 5_000, windowMs: 10_000, unit: 'content-bytes', policy: 'up' },
      { limit: 10, windowMs: 1_000, unit: requests, policy: 'all' },
    ],
  ],
  [
    'the IETF draft, how many run at once',
    { 'ratelimit-policy': '"conc";q=5;qu="concurrent-requests"', ratelimit: '"conc";r=0' },
    [],
  ],
  [
    'a policy alone',
    { 'ratelimit-policy': '"default";q=100;w=60' },
    [{ limit: 100, windowMs: MINUTE, unit: requests, policy: 'default' }],
  ],
  [
    'the IETF draft without a policy',
    { ratelimit: '"default";r=50;t=30' },
    [{ remaining: 50, resetMs: 30_000, unit: requests, policy: 'default' }],
  ],
  [
    'names as tokens',
    { ratelimit: 'default;r=50;t=30' },
    [{ remaining: 50, resetMs: 30_000, unit: requests, policy: 'default' }],
  ],
  [
    'draft 07',
    { ratelimit: 'limit=100, remaining=0, reset=30', 'ratelimit-policy': '100;w=60, 1000;w=3600;comment="sliding"' },
    [
      { limit: 100, remaining: 0, resetMs: 30_000, windowMs: MINUTE, unit: requests },
      { limit: 1_000, windowMs: HOUR, unit: requests },
    ],
  ],
  [
    'drafts up to 06',
    { 'ratelimit-limit': '100', 'ratelimit-policy': '100;w=60', 'ratelimit-remaining': '50', 'ratelimit-reset': '50' },
    [{ limit: 100, remaining: 50, resetMs: 50_000, windowMs: MINUTE, unit: requests }],
  ],
];

describe.each([...KNOWN_APIS, ...DRAFTS])('%s', (_, headers, readings) => {
  test('as Node has the headers, as they are sent, and in Headers', () => {
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name.replaceAll(/\b\w/g, (c) => c.toUpperCase()), text]),
    );
    expect(read(headers)).toEqual(readings);
    expect(read(sent)).toEqual(readings);
    expect(read(new Headers(headers))).toHaveLength(readings.length);
    expect(read(new Headers(headers))).toEqual(expect.arrayContaining([...readings]));
  });

  test('not from a cache', () => {
    expect(read({ ...headers, age: '12' })).toEqual([]);
    expect(read({ ...headers, age: '0' })).toHaveLength(readings.length);
  });
});

test('a container that cannot list its headers is asked for those of every known family', () => {
  const known = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '30' };
  const opaque = { get: (name: string) => (known as Record<string, string>)[name] };
  expect(read(opaque)).toEqual([{ limit: 60, remaining: 59, resetMs: 30_000, unit: requests }]);
});

describe('nothing', () => {
  test('is said: one frozen list, always the same', () => {
    const nothing = read({ 'content-type': 'text/plain' });
    expect(nothing).toEqual([]);
    expect(Object.isFrozen(nothing)).toBe(true);
    expect(read({})).toBe(nothing);
    expect(read(new Headers({ date: 'x' }))).toBe(nothing);
  });

  test.each([
    ['malformed: no closing quote', { ratelimit: '"default;r=1;t=2' }],
    ['malformed: a trailing comma', { ratelimit: '"default";r=1;t=2,' }],
    ['malformed: no remaining', { ratelimit: '"default";t=2' }],
    ['malformed: a negative one', { ratelimit: '"default";r=-1;t=2' }],
    ['malformed: text for a number', { ratelimit: '"default";r="1"' }],
    ['malformed: an inner list', { ratelimit: '("a" "b");r=1' }],
    ['malformed policy', { 'ratelimit-policy': '"default";q=;w=60' }],
    ['a policy that is a name only', { 'x-rate-limit-policy': 'gold' }],
    ['text', { 'x-ratelimit-limit': 'many', 'x-ratelimit-remaining': 'some' }],
    ['numbers that are none', { 'x-ratelimit-limit': '1e3', 'x-ratelimit-remaining': '0x10' }],
    ['a number with something behind it', { 'x-ratelimit-limit': '100/200' }],
    ['another one', { 'x-ratelimit-limit': '100/fortnight' }],
    ['a bucket in prose', { 'x-ratelimit-limit': 'burst:100;rate:10' }],
    ['no limit', { 'x-ratelimit-limit': '0', 'x-ratelimit-remaining': '0' }],
    ['a rate below one', { 'x-amzn-ratelimit-limit': '0.5' }],
    ['empty', { 'x-ratelimit-limit': '', 'x-ratelimit-remaining': ' ' }],
    ['other words', { 'x-ratelimit-cost': '5', 'x-ratelimit-scope': 'shared', 'ratelimit-reason': 'burst' }],
    ['how many run at once', { 'twilio-concurrent-requests': '5', 'x-ratelimit-limit-concurrency': '5' }],
    ['a page', { 'x-page-limit': '20', 'x-limit': '20' }],
    ['of a gateway', { 'x-envoy-ratelimited': 'true' }],
    ['a share without a limit', { 'x-shopify-shop-api-call-limit': '5/0' }],
  ])('is read from %s', (_, headers) => {
    expect(read(headers)).toEqual([]);
  });
});

describe('numbers', () => {
  test.each([
    [
      { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '-1' },
      { limit: 60, unit: requests },
    ],
    [
      { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '-7' },
      { limit: 60, remaining: 0, unit: requests },
    ],
    [
      { 'x-ratelimit-limit': '-1', 'x-ratelimit-remaining': '3' },
      { remaining: 3, unit: requests },
    ],
    [{ 'x-ratelimit-limit': '9'.repeat(400) }, { limit: Number.MAX_SAFE_INTEGER, unit: requests }],
    [
      { 'x-ratelimit-limit': '60, 60', 'x-ratelimit-remaining': '59, 59' },
      { limit: 60, remaining: 59, unit: requests },
    ],
    [{ 'x-ratelimit-limit': '100/minute' }, { limit: 100, windowMs: MINUTE, unit: requests }],
    [
      { 'x-ratelimit-limit': '100/30s', 'x-ratelimit-remaining': '7' },
      { limit: 100, remaining: 7, windowMs: 30_000, unit: requests },
    ],
    [{ 'x-ratelimit-remaining': '0' }, { remaining: 0, unit: requests }],
    [{ 'x-ratelimit-reset': '30' }, { resetMs: 30_000, unit: requests }],
    [
      { 'x-ratelimit-limit': '1,000', 'x-ratelimit-remaining': '999' },
      { limit: 1_000, remaining: 999, unit: requests },
    ],
  ])('%o', (headers, reading) => {
    expect(read(headers)).toEqual([reading]);
  });

  test('of one header sent twice with one limit the most cautious', () => {
    const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '12, 3', 'x-ratelimit-reset': '5, 9' };
    expect(read(headers)).toEqual([{ limit: 60, remaining: 3, resetMs: 9_000, unit: requests }]);
  });
});

test('names are short and safe', () => {
  const [reading] = read({ ratelimit: `"a<b>\\"${'x'.repeat(100)}";r=1` });
  expect(reading?.policy).toBe(`ab${'x'.repeat(62)}`);
  expect(read({ 'x-ratelimit-remaining': '1', 'x-ratelimit-resource': 'a\nb' })[0]).not.toHaveProperty('policy');
  expect(read({ 'ratelimit-policy': '"a";q=1;w=1;qu="\\"\\""' })[0]?.unit).toBe('unknown');
});
