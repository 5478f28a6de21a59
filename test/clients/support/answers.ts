import { FAILED, overloaded, type Reading, throttled } from './lane.ts';
import { type Answer, httpDate, NOW } from './local-server.ts';

/** An answer that every client is given, and what a lane must make of it however the client says it. */
export interface Row {
  readonly name: string;
  readonly answer: Answer;
  readonly reading: Reading;
}

type Headers = NonNullable<Answer['headers']>;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function epochSeconds(afterMs: number): string {
  return String((NOW + afterMs) / SECOND);
}

/** A 429 with these headers. */
function refused(name: string, headers: Headers, retryAfterMs?: number): Row {
  return { name: `429, ${name}`, answer: { status: 429, headers }, reading: throttled(retryAfterMs) };
}

function gaveUp(name: string, status: number, headers: Headers, reading: Reading): Row {
  return { name: `${status}${name}`, answer: { status, headers }, reading };
}

const SPENT = { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '0' };
const TEN_MINUTES_SLOW = { Date: httpDate(-10 * MINUTE) };

const RETRY_AFTER: readonly Row[] = [
  refused('Retry-After in seconds', { 'Retry-After': '7' }, 7_000),
  refused('Retry-After in fractions of a second', { 'Retry-After': '2.5' }, 2_500),
  refused('Retry-After as an HTTP date', { 'Retry-After': httpDate(7_000) }, 7_000),
  refused('Retry-After as an epoch', { 'Retry-After': epochSeconds(30_000) }, 30_000),
  refused(
    'Retry-After as an HTTP date of a server whose clock is slow',
    { 'Retry-After': httpDate(7_000 - 10 * MINUTE), ...TEN_MINUTES_SLOW },
    7_000,
  ),
  refused('Retry-After: 0', { 'Retry-After': '0' }, 0),
  refused('Retry-After of thirty days', { 'Retry-After': '2592000' }, 30 * 24 * HOUR),
  refused('Retry-After twice', { 'Retry-After': ['7', '7'] }, 7_000),
  refused('Retry-After in the past', { 'Retry-After': httpDate(-HOUR) }),
  refused('Retry-After below zero', { 'Retry-After': '-1' }),
  refused('Retry-After that is neither', { 'Retry-After': 'soon' }),
  refused('milliseconds', { 'Retry-After-Ms': '1500' }, 1_500),
  refused('milliseconds beside rounded seconds', { 'Retry-After-Ms': '1500', 'Retry-After': '2' }, 1_500),
  refused("Azure's milliseconds", { 'x-ms-retry-after-ms': '1500' }, 1_500),
  refused('Retry-After beside a later reset', { 'Retry-After': '7', ...SPENT, 'X-RateLimit-Reset': '42' }, 7_000),
  refused('nothing said', {}),
];

const RESETS: readonly Row[] = [
  refused('reset as an epoch in seconds', { ...SPENT, 'X-RateLimit-Reset': epochSeconds(42_000) }, 42_000),
  refused(
    'reset as an epoch of a server whose clock is slow',
    { ...SPENT, 'X-RateLimit-Reset': epochSeconds(42_000 - 10 * MINUTE), ...TEN_MINUTES_SLOW },
    42_000,
  ),
  refused('reset in seconds from now', { ...SPENT, 'X-RateLimit-Reset': '42' }, 42_000),
  refused(
    'reset as an epoch in milliseconds',
    { 'X-RateLimit-Requests-Remaining': '0', 'X-RateLimit-Requests-Reset': String(NOW + 42_000) },
    42_000,
  ),
  refused('reset as a minute stamp', { ...SPENT, 'X-RateLimit-Reset': '2026-01-01T00:01Z' }, MINUTE),
  refused(
    'durations, one of two limits spent',
    {
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1m26.4s',
      'x-ratelimit-limit-tokens': '150000',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-tokens': '6m0s',
    },
    86_400,
  ),
  refused(
    'RFC 3339, the latest of two that are spent',
    {
      'anthropic-ratelimit-requests-limit': '50',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2026-01-01T00:00:07Z',
      'anthropic-ratelimit-input-tokens-limit': '30000',
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': '2026-01-01T00:00:19Z',
    },
    19_000,
  ),
  refused(
    'fractions of a second, relative and absolute',
    { ...SPENT, 'X-RateLimit-Reset': `${epochSeconds(64_000)}.570`, 'X-RateLimit-Reset-After': '64.57' },
    64_570,
  ),
  refused(
    'the RateLimit field',
    { 'RateLimit-Policy': '"default";q=100;w=60', RateLimit: '"default";r=0;t=30' },
    30_000,
  ),
  refused(
    'the RateLimit field with several limits',
    {
      'RateLimit-Policy': '"burst";q=100;w=60, "daily";q=1000;w=86400',
      RateLimit: '"burst";r=5;t=10, "daily";r=0;t=3600',
    },
    HOUR,
  ),
  refused('the RateLimit field in two lines', { RateLimit: ['"burst";r=5;t=10', '"daily";r=0;t=3600'] }, HOUR),
  refused('the RateLimit field as it once was', { RateLimit: 'limit=100, remaining=0, reset=30' }, 30_000),
  refused(
    'RateLimit-Reset in seconds from now',
    { 'RateLimit-Limit': '100', 'RateLimit-Remaining': '0', 'RateLimit-Reset': '30' },
    30_000,
  ),
  refused(
    'RateLimit-Reset as an epoch',
    { 'RateLimit-Limit': '60', 'RateLimit-Remaining': '0', 'RateLimit-Reset': epochSeconds(42_000) },
    42_000,
  ),
  refused("another limit's clock", {
    'X-RateLimit-Limit': '5000',
    'X-RateLimit-Remaining': '4885',
    'X-RateLimit-Reset': epochSeconds(HOUR),
  }),
];

const QUOTA_SPENT = { ...SPENT, 'X-RateLimit-Reset': epochSeconds(42_000) };

const OTHERS: readonly Row[] = [
  gaveUp(' with Retry-After', 503, { 'Retry-After': '20' }, overloaded(20_000)),
  gaveUp(' without', 503, {}, FAILED),
  gaveUp('', 529, {}, overloaded()),
  gaveUp(' with Retry-After', 529, { 'Retry-After': '20' }, overloaded(20_000)),
  gaveUp('', 500, {}, FAILED),
  gaveUp('', 400, {}, FAILED),
  gaveUp('', 401, {}, FAILED),
  gaveUp('', 403, {}, FAILED),
  gaveUp(' with a quota that is spent', 404, QUOTA_SPENT, FAILED),
  gaveUp(' with Retry-After', 404, { 'Retry-After': '7' }, FAILED),
];

export const REFUSALS: readonly Row[] = [...RETRY_AFTER, ...RESETS];
export const ROWS: readonly Row[] = [...REFUSALS, ...OTHERS];

/** A success that says its quota is spent, and one that says what some servers always say. */
export const SUCCESSES: readonly { readonly name: string; readonly answer: Answer }[] = [
  { name: '200 with a quota that is spent', answer: { status: 200, headers: QUOTA_SPENT } },
  { name: '200 with Retry-After: 0', answer: { status: 200, headers: { 'Retry-After': '0' } } },
  { name: '202 with advice on polling', answer: { status: 202, headers: { 'Retry-After': '10' } } },
];
