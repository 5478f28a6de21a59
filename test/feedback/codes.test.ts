import { describe, expect, test } from 'vitest';
import type { Beside, ProviderCode } from '../../src/feedback/code-rows.ts';
import { PROVIDER_CODES } from '../../src/feedback/codes.ts';
import { judge } from './judges.ts';

/** What makes a code count, and what an object with it looks like. */
const NEIGHBOURS: Readonly<Record<Beside, object>> = {
  'fbtrace_id, or type OAuthException': { fbtrace_id: 'x' },
  'in a list of errors': {},
  'moreInfo or more_info': { moreInfo: 'https://example.com' },
  'metadata or details': { metadata: new Map() },
  'no word of a message size': { details: 'slow down' },
  'errorType or category of a rate limit': { errorType: 'other', category: 'RATE_LIMITS' },
  'data.rate': { data: { rate: {} } },
  clientVersion: { clientVersion: '7' },
  'name Mongo...': { name: 'MongoServerError' },
  error_msg: { error_msg: 'x' },
  seconds: { seconds: 35 },
  '@type of FCM': { '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError' },
  'the type of a problem': {},
};

/** A value in which the row's code stands in a field, with its neighbours or without. */
function holding({ code, within, beside }: ProviderCode, field: string, isComplete = true): object {
  const written = within ? `Some${code}Thing` : code;
  if (field === '$retryable') return { $retryable: { throttling: true } };
  if (field.startsWith('x-')) return { status: 400, headers: { [field]: written } };
  const isProblem = beside === 'the type of a problem' && isComplete;
  const node = {
    message: 'x',
    ...(beside !== undefined && isComplete ? NEIGHBOURS[beside] : {}),
    [field]: isProblem ? `https://example.com/problems#${code}` : written,
  };
  return beside === 'in a list of errors' && isComplete ? { errors: [node] } : node;
}

const ROWS = PROVIDER_CODES.map((row) => ({ name: `${row.provider}: ${row.code}`, row }));

describe('every code, in every field in which it counts', () => {
  test.each(ROWS)('$name', ({ row }) => {
    for (const field of row.at) {
      const { outcome, server } = judge(holding(row, field), true);
      expect([field, outcome]).toEqual([field, row.outcome]);
      expect(server?.code).toBeDefined();
    }
  });
});

describe('a code whose neighbours are missing is data', () => {
  const choosy = ROWS.filter(({ row: { beside } }) => beside !== undefined && beside !== 'no word of a message size');
  // Spelt the same, they mean something by themselves elsewhere.
  const alone = choosy.filter(({ row }) => !['Google FCM', 'IETF'].includes(row.provider));
  test.each(alone)('$name', ({ row }) => {
    for (const field of row.at) expect(judge(holding(row, field, false), true).outcome).toBe('failed');
  });
});

describe('a code', () => {
  test.each(['RATE_LIMITED', 'rateLimited', 'rate-limited', 'Rate limited', 'ratelimited'])(
    '%s: any spelling',
    (code) => {
      expect(judge({ code }, true)).toEqual({ outcome: 'throttled', server: { code: 'rate_limited' } });
    },
  );

  test.each([
    'E_TOO_MANY_REQUESTS',
    'FST_ERR_RATE_LIMIT',
    'RateLimitExceededException',
    'APIRateLimitError',
    'ThrottlingFault',
  ])('%s: with what frameworks put around it', (code) => expect(judge({ code }, true).outcome).toBe('throttled'));

  test.each(['RATE_LIMIT_NOT_FOUND', 'invalid_rate_limit', 'RateLimiterConfig', 'throttle_settings'])(
    '%s is another word',
    (code) => {
      expect(judge({ code }, true).outcome).toBe('failed');
    },
  );

  test.each([
    ['in another field', { label: 'rate_limited' }],
    ['as a part of another word', { code: 'not_rate_limited' }],
    ['in prose', { code: 'the call was rate_limited by somebody' }],
    ['in what is returned', undefined],
  ])('%s is none', (_, value) => {
    if (value !== undefined) expect(judge(value, true).outcome).toBe('failed');
    else expect(judge({ code: 'rate_limited' }, false).outcome).toBe('success');
  });

  test('says no more in a status that throttles anyway, unless it is used up for longer', () => {
    expect(judge({ status: 429, code: 'overloaded_error' }, true).outcome).toBe('throttled');
    expect(judge({ status: 429, code: 'insufficient_quota' }, true).outcome).toBe('exhausted');
    expect(judge({ status: 429, code: 'rate_limit_exceeded', type: 'insufficient_quota' }, true).outcome).toBe(
      'exhausted',
    );
  });
});

test('no row is there twice', () => {
  const keys = PROVIDER_CODES.map(({ code, at, outcome, beside }) => JSON.stringify([code, at, outcome, beside]));
  expect(keys).toHaveLength(new Set(keys).size);
});
