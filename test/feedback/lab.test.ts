import { describe, expect, test } from 'vitest';
import { graphql } from '../../src/feedback/classifiers.ts';
import { judge, judgeWith, NOW } from './judges.ts';

const SEVEN = { 'retry-after': '7' };
const MORE_EXACT = { 'retry-after-ms': '1500', 'retry-after': '2' };
const LEFT = { 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${NOW / 1_000 + 42}` };

function errorOf(name: string, own: object, cause?: unknown): Error {
  const error = new Error('slow down', cause === undefined ? undefined : { cause });
  Object.defineProperty(error, 'name', { value: name });
  return Object.assign(error, own);
}

function responseOf(status: number, headers: Record<string, string> = {}): Response {
  return new Response('{}', { status, headers });
}

const axios = (headers: object, status = 429) =>
  errorOf('AxiosError', { code: 'ERR_BAD_REQUEST', status, response: { status, headers, data: {} } });
const throttledQuery = errorOf('GraphQLError', { extensions: { code: 'THROTTLED' } });
const rateLimitedQuery = errorOf('GraphQLError', { originalError: { type: 'RATE_LIMITED' }, extensions: {} });
const missing = errorOf('GraphQLError', { extensions: { code: 'NOT_FOUND' } });
const quoted = JSON.stringify({
  error: {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    details: [{ '@type': 'x/google.rpc.RetryInfo', retryDelay: '7s' }],
  },
});
const perDay = JSON.stringify([{ '@type': 'x/google.rpc.QuotaFailure', violations: [{ quotaId: 'RequestsPerDay' }] }]);
const cost = { requestedQueryCost: 752, throttleStatus: { currentlyAvailable: 666, restoreRate: 50 } };

type Row = readonly [what: string, value: unknown, outcome: string, waitMs?: number];

const THROWN: readonly Row[] = [
  [
    'a copy of a less exact header',
    errorOf('Error', { status: 429, headers: MORE_EXACT, retryAfter: 2 }),
    'throttled',
    1_500,
  ],
  [
    'headers copied into details',
    errorOf('RestError', { statusCode: 429, response: { headers: MORE_EXACT }, details: { ...MORE_EXACT } }),
    'throttled',
    1_500,
  ],
  [
    'what LangChain made of a date by a clock that is wrong',
    errorOf('RateLimitCapacityError', {
      status: 429,
      headers: { date: 'Thu, 01 Jan 2026 00:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' },
      rateLimitType: 'capacity',
      rateLimitReason: 'retry_after_too_large',
      retryAfterMs: 76_822_276,
    }),
    'throttled',
    7_000,
  ],
  [
    'what LangChain knows alone',
    errorOf('RateLimitWaitError', { status: 429, rateLimitType: 'wait', retryAfterMs: 900 }),
    'throttled',
    900,
  ],
  [
    'a body that says longer',
    errorOf('x', { status: 429, headers: SEVEN, body: { retry_after: 9 } }),
    'throttled',
    9_000,
  ],
  ['a response by another name', errorOf('ProviderApiError', { httpResponse: { status: 429, body: {} } }), 'throttled'],
  [
    'with its headers',
    errorOf('x', { rawHttpResponse: { statusCode: 429, headers: SEVEN }, request: { headers: {} } }),
    'throttled',
    7_000,
  ],
  [
    'a wrapper with the status, headers in its cause',
    errorOf('HttpException', { status: 429 }, axios(SEVEN)),
    'throttled',
    7_000,
  ],
  [
    'used up for the day, in its cause',
    errorOf('HttpException', { status: 429 }, errorOf('x', { status: 429, error: { code: 'insufficient_quota' } })),
    'exhausted',
  ],
  [
    'errors of a result that came with 200',
    errorOf('CombinedError', { graphQLErrors: [rateLimitedQuery], response: responseOf(200, LEFT) }),
    'throttled',
    42_000,
  ],
  [
    'likewise, without headers',
    errorOf('ApolloError', { graphQLErrors: [throttledQuery], networkError: null }),
    'throttled',
  ],
  [
    'a body behind words',
    Object.assign(new Error(`got status: 429 Too Many Requests. ${quoted}`), { name: 'ApiError', status: 429 }),
    'throttled',
    7_000,
  ],
  [
    'a list behind words',
    Object.assign(new Error(`[GoogleGenerativeAI Error]: [429 Too Many Requests] You exceeded it. ${perDay}`), {
      status: 429,
    }),
    'exhausted',
  ],
  ['a class of its own', errorOf('QdrantClientResourceExhaustedError', { retry_after: 7 }), 'throttled', 7_000],
  [
    'another',
    errorOf('HttpThrottlingError', { response: { code: 429, headers: SEVEN, retryAfter: 7 } }),
    'throttled',
    7_000,
  ],
  ['Firebase functions', errorOf('FirebaseError', { code: 'functions/resource-exhausted' }), 'throttled'],
  ['Firestore', errorOf('FirebaseError', { code: 'resource-exhausted' }), 'throttled'],
  ['a response by any name', errorOf('FunctionsHttpError', { context: responseOf(429, SEVEN) }), 'throttled', 7_000],
  [
    'a body by another name',
    errorOf('DiscordAPIError', { status: 429, rawError: { retry_after: 7.05 } }),
    'throttled',
    7_050,
  ],
  ['a status by another name', errorOf('x', { responseStatus: 429, headers: SEVEN }), 'throttled', 7_000],
];

const RETURNED: readonly Row[] = [
  ['a result with its response', { error: {}, response: responseOf(429, SEVEN) }, 'throttled', 7_000],
  [
    'a plain response with headers that are none',
    { result: new Error('x'), response: { status: 429, headers: new Headers(SEVEN) } },
    'throttled',
    7_000,
  ],
  [
    'used up for the day',
    { data: null, error: { statusCode: 429, name: 'daily_quota_exceeded' }, headers: {} },
    'exhausted',
  ],
  ['503 with a wait', { error: {}, response: responseOf(503, SEVEN) }, 'overloaded', 7_000],
  [
    'a result whose error has it',
    { data: undefined, error: errorOf('CombinedError', { response: responseOf(429, SEVEN) }) },
    'throttled',
    7_000,
  ],
  [
    'a result whose errors have it',
    { errors: { networkStatusCode: 429, message: 'x', response: responseOf(429, SEVEN) } },
    'throttled',
    7_000,
  ],
  [
    'a result of GraphQL',
    {
      errors: {
        networkStatusCode: 200,
        graphQLErrors: [{ extensions: { code: 'THROTTLED' } }],
        response: responseOf(200),
      },
      extensions: { cost },
    },
    'throttled',
    1_720,
  ],
  [
    'a result of GraphQL whose errors are instances',
    {
      data: null,
      error: errorOf('CombinedError', { graphQLErrors: [throttledQuery], response: responseOf(200) }),
      extensions: { cost },
    },
    'throttled',
    1_720,
  ],
  [
    'an error beside headers',
    { data: null, error: { statusCode: 429, name: 'x' }, headers: SEVEN },
    'throttled',
    7_000,
  ],
  [
    'a result without headers',
    { data: null, error: { message: 'x' }, count: null, status: 429, statusText: 'x' },
    'throttled',
  ],
];

const NONE: readonly Row[] = [
  [
    'a body that is quoted in an error of another status',
    Object.assign(new Error(`bad: ${quoted}`), { status: 400 }),
    'failed',
  ],
  ['words alone', new Error(`got status: 429 Too Many Requests. ${quoted}`), 'failed'],
  [
    'errors of a result that are none of ours',
    errorOf('x', { graphQLErrors: [missing], response: responseOf(200, LEFT) }),
    'failed',
  ],
  [
    'an answer of its own around an older refusal',
    errorOf('x', { response: responseOf(404, LEFT) }, axios(SEVEN)),
    'failed',
  ],
  ['a class about a limit of things', errorOf('LimitExceededException', {}), 'failed'],
  ['a class of a name that only begins so', errorOf('RateLimitConfigMissing', {}), 'failed'],
];

const DATA: readonly (readonly [what: string, value: unknown])[] = [
  ['a record of a request', { request: { url: 'x' }, response: { status: 429, headers: [] } }],
  ['an error among data', { data: null, error: { statusCode: 429 } }],
  ['an error that is none of ours', { data: null, error: errorOf('AuthApiError', { status: 400 }) }],
  ['a record of an error', { error: { name: 'AxiosError', status: 429, response: { status: 429, headers: {} } } }],
  ['a record that says much', { status: 429, statusText: 'Too Many Requests', data: { id: 1 }, error: {} }],
  ['not found', { data: null, error: { message: 'x' }, status: 404, statusText: 'Not Found' }],
  ['a result that is missing', { error: {}, response: responseOf(404, LEFT) }],
  ['a result that came', { data: {}, response: responseOf(200, LEFT) }],
  [
    'errors that are none of ours',
    { data: null, error: errorOf('x', { graphQLErrors: [missing], response: responseOf(200) }) },
  ],
];

function told(value: unknown, thrown: boolean) {
  const { outcome, server } = judge(value, thrown);
  return { outcome, waitMs: server?.retryAfterMs };
}

describe('what clients throw that keep an answer in a shape of their own', () => {
  test.each([...THROWN, ...NONE])('%s', (_, value, outcome, waitMs) => {
    expect(told(value, true)).toEqual({ outcome, waitMs });
  });
});

describe('what clients return that do not throw', () => {
  test.each(RETURNED)('%s', (_, value, outcome, waitMs) => {
    expect(told(value, false)).toEqual({ outcome, waitMs });
  });
  test.each(DATA)('%s is data', (_, value) => {
    expect(told(value, false)).toEqual({ outcome: 'success', waitMs: undefined });
  });
});

test('counters of a result are read from its response', () => {
  expect(judge({ data: {}, response: responseOf(200, LEFT) }, false).quotas).toMatchObject([{ remaining: 0 }]);
});

test('the classifier for GraphQL reads errors that a client has made instances of', () => {
  const classified = judgeWith({ classify: graphql() });
  expect(classified({ data: null, errors: [throttledQuery] }, false).outcome).toBe('throttled');
  expect(classified({ data: {}, error: errorOf('x', { graphQLErrors: [rateLimitedQuery] }) }, false).outcome).toBe(
    'throttled',
  );
  expect(classified({ data: null, errors: [missing] }, false).outcome).toBe('success');
});
