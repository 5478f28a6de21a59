import { describe, expect, test } from 'vitest';
import type { QuotaReading } from '../../src/base/verdict.ts';
import { headerReader } from '../../src/feedback/headers.ts';
import { readQuotas } from '../../src/feedback/quota-headers.ts';

const NOW = Date.UTC(2026, 7, 7, 20, 59, 30);
const context = { wallNow: () => NOW };
const read = (headers: object): readonly QuotaReading[] => readQuotas(headerReader(headers)!, context);

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
const requests = 'requests';

const DIALECTS: readonly (readonly [string, Record<string, string>, readonly QuotaReading[]])[] = [
  [
    'GitHub',
    {
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': '4987',
      'x-ratelimit-used': '13',
      'x-ratelimit-reset': '1786136400',
      'x-ratelimit-resource': 'core',
    },
    [{ limit: 5_000, remaining: 4_987, resetMs: 30_000, unit: requests, policy: 'core' }],
  ],
  [
    'GitLab',
    {
      'ratelimit-limit': '60',
      'ratelimit-name': 'throttle_authenticated_web',
      'ratelimit-observed': '67',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '1786136400',
      'ratelimit-resettime': 'Fri, 07 Aug 2026 21:00:00 GMT',
    },
    [{ limit: 60, remaining: 0, resetMs: 30_000, unit: requests, policy: 'throttle_authenticated_web' }],
  ],
  [
    'OpenAI',
    {
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-limit-tokens': '150000',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-reset-tokens': '6m0s',
    },
    [
      { limit: 60, remaining: 59, resetMs: 1_000, unit: requests },
      { limit: 150_000, remaining: 149_984, resetMs: 360_000, unit: 'tokens' },
    ],
  ],
  [
    'Azure OpenAI that does not know',
    { 'x-ratelimit-limit-tokens': '-1', 'x-ratelimit-remaining-tokens': '-1', 'x-ratelimit-reset-tokens': '0' },
    [],
  ],
  [
    'Cerebras',
    {
      'x-ratelimit-limit-requests-day': '1000',
      'x-ratelimit-remaining-requests-day': '999',
      'x-ratelimit-reset-requests-day': '33011.382867097855',
      'x-ratelimit-limit-tokens-minute': '60000',
      'x-ratelimit-remaining-tokens-minute': '0',
      'x-ratelimit-reset-tokens-minute': '11.382867097854614',
    },
    [
      { limit: 1_000, remaining: 999, resetMs: 33_011_383, windowMs: DAY, unit: requests },
      { limit: 60_000, remaining: 0, resetMs: 11_383, windowMs: MINUTE, unit: 'tokens' },
    ],
  ],
  [
    'Anthropic, a reset before its Date',
    {
      date: 'Fri, 07 Aug 2026 20:59:30 GMT',
      'anthropic-ratelimit-requests-limit': '1000',
      'anthropic-ratelimit-requests-remaining': '999',
      'anthropic-ratelimit-requests-reset': '2026-08-07T20:59:29Z',
      'anthropic-ratelimit-input-tokens-limit': '30000',
      'anthropic-ratelimit-input-tokens-remaining': '12000',
      'anthropic-ratelimit-input-tokens-reset': '2026-08-07T21:00:06Z',
    },
    [
      { limit: 1_000, remaining: 999, resetMs: 0, unit: requests },
      { limit: 30_000, remaining: 12_000, resetMs: 36_000, unit: 'input-tokens' },
    ],
  ],
  [
    'Linear',
    {
      'x-ratelimit-requests-limit': '1500',
      'x-ratelimit-requests-remaining': '1499',
      'x-ratelimit-requests-reset': '1786139970000',
      'x-ratelimit-complexity-limit': '250000',
      'x-ratelimit-complexity-remaining': '249000',
      'x-ratelimit-complexity-reset': '1786139970000',
      'x-ratelimit-endpoint-requests-limit': '40',
      'x-ratelimit-endpoint-requests-remaining': '39',
      'x-ratelimit-endpoint-name': 'issueCreate',
      'x-complexity': '7',
    },
    [
      { limit: 1_500, remaining: 1_499, resetMs: HOUR, unit: requests },
      { limit: 250_000, remaining: 249_000, resetMs: HOUR, unit: 'complexity' },
      { limit: 40, remaining: 39, unit: requests, policy: 'endpoint-requests' },
    ],
  ],
  [
    'RapidAPI',
    {
      'x-ratelimit-requests-limit': '500',
      'x-ratelimit-requests-remaining': '499',
      'x-ratelimit-requests-reset': '2163603',
    },
    [{ limit: 500, remaining: 499, resetMs: 2_163_603_000, unit: requests }],
  ],
  [
    'X',
    { 'x-rate-limit-limit': '900', 'x-rate-limit-remaining': '847', 'x-rate-limit-reset': '1786136400' },
    [{ limit: 900, remaining: 847, resetMs: 30_000, unit: requests }],
  ],
  [
    'Reddit',
    { 'x-ratelimit-used': '2', 'x-ratelimit-remaining': '598.0', 'x-ratelimit-reset': '245' },
    [{ remaining: 598, resetMs: 245_000, unit: requests }],
  ],
  [
    'Discord',
    {
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1786136399.470',
      'x-ratelimit-reset-after': '0.57',
      'x-ratelimit-bucket': 'abcd1234',
      'x-ratelimit-scope': 'shared',
    },
    [{ limit: 5, remaining: 0, resetMs: 570, unit: requests, policy: 'abcd1234' }],
  ],
  ['Shopify', { 'x-shopify-shop-api-call-limit': '32/40' }, [{ limit: 40, remaining: 8, unit: requests }]],
  [
    'Salesforce',
    { 'sforce-limit-info': 'api-usage=18/5000' },
    [{ limit: 5_000, remaining: 4_982, windowMs: DAY, unit: requests, policy: 'api-usage' }],
  ],
  [
    'Jira Cloud',
    { 'x-ratelimit-limit': '350', 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': '2026-08-07T21:00Z' },
    [{ limit: 350, remaining: 12, resetMs: 30_000, unit: requests }],
  ],
  [
    'Jira Data Center: 20 per 60 s into a bucket of 100',
    {
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '97',
      'x-ratelimit-fillrate': '20',
      'x-ratelimit-interval-seconds': '60',
      'retry-after': '0',
    },
    [{ limit: 100, remaining: 97, windowMs: 5 * MINUTE, unit: requests }],
  ],
  [
    'HubSpot: the interval is no reset',
    {
      'x-hubspot-ratelimit-max': '100',
      'x-hubspot-ratelimit-remaining': '96',
      'x-hubspot-ratelimit-interval-milliseconds': '10000',
      'x-hubspot-ratelimit-daily': '250000',
      'x-hubspot-ratelimit-daily-remaining': '249500',
      'x-hubspot-ratelimit-secondly': '10',
      'x-hubspot-ratelimit-secondly-remaining': '9',
    },
    [
      { limit: 100, remaining: 96, windowMs: 10_000, unit: requests },
      { limit: 250_000, remaining: 249_500, windowMs: DAY, unit: requests },
      { limit: 10, remaining: 9, windowMs: 1_000, unit: requests },
    ],
  ],
  [
    'BigCommerce',
    {
      'x-rate-limit-requests-quota': '150',
      'x-rate-limit-requests-left': '35',
      'x-rate-limit-time-reset-ms': '15000',
      'x-rate-limit-time-window-ms': '30000',
    },
    [{ limit: 150, remaining: 35, resetMs: 15_000, windowMs: 30_000, unit: requests }],
  ],
  [
    'Kong',
    {
      'x-ratelimit-limit-minute': '5',
      'x-ratelimit-remaining-minute': '4',
      'ratelimit-limit': '5',
      'ratelimit-remaining': '4',
      'ratelimit-reset': '12',
    },
    [
      { limit: 5, remaining: 4, windowMs: MINUTE, unit: requests },
      { limit: 5, remaining: 4, resetMs: 12_000, unit: requests },
    ],
  ],
  [
    'Docker Hub',
    { 'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': '76;w=21600' },
    [{ limit: 100, remaining: 76, windowMs: 6 * HOUR, unit: requests }],
  ],
  [
    'Brave',
    {
      'x-ratelimit-limit': '1, 15000',
      'x-ratelimit-policy': '1;w=1, 15000;w=2592000',
      'x-ratelimit-remaining': '1, 1000',
      'x-ratelimit-reset': '1, 1419704',
    },
    [
      { limit: 1, remaining: 1, resetMs: 1_000, windowMs: 1_000, unit: requests },
      { limit: 15_000, remaining: 1_000, resetMs: 1_419_704_000, windowMs: 30 * DAY, unit: requests },
    ],
  ],
  [
    'Whoop',
    {
      'x-ratelimit-limit': '100, 100;window=60, 10000;window=86400',
      'x-ratelimit-remaining': '98',
      'x-ratelimit-reset': '3',
    },
    [
      { limit: 100, remaining: 98, resetMs: 3_000, windowMs: MINUTE, unit: requests },
      { limit: 10_000, windowMs: DAY, unit: requests },
    ],
  ],
  [
    'Strava',
    { 'x-ratelimit-limit': '200,2000', 'x-ratelimit-usage': '182,22' },
    [
      { limit: 200, remaining: 18, unit: requests },
      { limit: 2_000, remaining: 1_978, unit: requests },
    ],
  ],
  [
    'Riot',
    { 'x-app-rate-limit': '20:1,100:120', 'x-app-rate-limit-count': '1:1,99:120' },
    [
      { limit: 20, remaining: 19, windowMs: 1_000, unit: requests },
      { limit: 100, remaining: 1, windowMs: 2 * MINUTE, unit: requests },
    ],
  ],
  [
    'Zendesk',
    {
      'x-rate-limit': '700',
      'x-rate-limit-remaining': '699',
      'zendesk-ratelimit-tickets-index': 'total=100; remaining=99; resets=59',
    },
    [
      { limit: 700, remaining: 699, unit: requests },
      { limit: 100, remaining: 99, resetMs: 59_000, unit: 'tickets-index' },
    ],
  ],
  [
    'IBM API Connect',
    { 'x-ratelimit-limit': 'name=default,100;', 'x-ratelimit-remaining': 'name=default,38;' },
    [{ limit: 100, remaining: 38, unit: requests }],
  ],
  [
    'Imgur',
    { 'x-ratelimit-userlimit': '500', 'x-ratelimit-userremaining': '499', 'x-ratelimit-userreset': '1786136400' },
    [{ limit: 500, remaining: 499, resetMs: 30_000, unit: requests, policy: 'user' }],
  ],
  ['Groq’s seconds of audio', { 'x-ratelimit-limit-audio-seconds': '7200' }, [{ limit: 7_200, unit: 'audio-seconds' }]],
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

describe.each(DIALECTS)('%s', (_, headers, readings) => {
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
