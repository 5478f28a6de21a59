import { describe, expect, test } from 'vitest';
import { judge } from './judges.ts';

/** What axios throws for a status and a body. */
function answered(status: number, data: unknown, headers: object = {}): Error {
  return Object.assign(new Error('x'), { code: 'ERR_BAD_REQUEST', status, response: { status, headers, data } });
}

/** The same where the client returns it. */
function returned(status: number, data: unknown, headers: object = {}): object {
  return { status, headers, data, config: {}, request: {} };
}

const RPC = 'type.googleapis.com/google.rpc.';
const google = (status: string, ...details: object[]) => ({ error: { code: 429, message: 'x', status, details } });
const perDay = { '@type': `${RPC}QuotaFailure`, violations: [{ quotaId: 'GenerateRequestsPerDayPerProject' }] };
const retryInfo = (retryDelay: unknown) => ({ '@type': `${RPC}RetryInfo`, retryDelay });
const cost = {
  requestedQueryCost: 752,
  throttleStatus: { maximumAvailable: 1_000, currentlyAvailable: 666, restoreRate: 50 },
};
const shopify = { errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }], extensions: { cost } };

type Row = readonly [api: string, status: number, body: unknown, waitMs?: number];

const THROTTLED: readonly Row[] = [
  ['AWS, JSON', 400, { __type: 'com.amazonaws.dynamodb.v20120810#ThrottlingException' }],
  ['AWS, XML parsed', 503, { Error: { Code: 'SlowDown', Message: 'x' } }],
  ['Google, RetryInfo', 429, google('RESOURCE_EXHAUSTED', retryInfo('45.837906927s')), 45_838],
  ['Google, RetryInfo in numbers', 429, google('RESOURCE_EXHAUSTED', retryInfo({ seconds: '7', nanos: 1 })), 7_001],
  ['Google, a list of bodies', 429, [google('RESOURCE_EXHAUSTED', retryInfo('7s'))], 7_000],
  [
    'Google, ErrorInfo',
    403,
    google('PERMISSION_DENIED', { '@type': `${RPC}ErrorInfo`, reason: 'RATE_LIMIT_EXCEEDED' }),
  ],
  ['Google, BigQuery', 403, { error: { errors: [{ reason: 'jobRateLimitExceeded' }] } }],
  [
    'Google Ads',
    429,
    {
      error: {
        details: [
          {
            errors: [
              {
                errorCode: { quotaError: 'RESOURCE_EXHAUSTED' },
                details: { quotaErrorDetails: { retryDelay: '900s' } },
              },
            ],
          },
        ],
      },
    },
    900_000,
  ],
  [
    'Google FCM',
    429,
    google('RESOURCE_EXHAUSTED', {
      '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
      errorCode: 'QUOTA_EXCEEDED',
    }),
  ],
  ['Microsoft Graph', 509, { error: { code: 'activityLimitReached', innerError: { code: 'throttledRequest' } } }],
  ['Entra', 403, { error: { code: 'Request_ThrottledTemporarily' } }],
  ['Discord', 429, { message: 'x', retry_after: 64.57, global: false }, 64_570],
  ['Telegram', 429, { ok: false, error_code: 429, parameters: { retry_after: 35 } }, 35_000],
  ['Slack', 200, { ok: false, error: 'ratelimited', response_metadata: { retryAfter: 7 } }, 7_000],
  ['GitHub GraphQL', 200, { data: null, errors: [{ type: 'RATE_LIMITED', message: 'x' }] }],
  ['Shopify GraphQL', 200, shopify, 1_720],
  ['Linear', 400, { errors: [{ extensions: { code: 'RATELIMITED', type: 'ratelimited' } }] }],
  [
    'monday.com',
    200,
    { errors: [{ extensions: { code: 'COMPLEXITY_BUDGET_EXHAUSTED', retry_in_seconds: 60 } }] },
    60_000,
  ],
  ['Hasura, Nest and others', 200, { errors: [{ extensions: { code: 'too-many-requests' } }] }],
  ['a GraphQL gateway', 200, { errors: [{ extensions: { http: { status: 429 } } }] }],
  [
    'JSON-RPC',
    200,
    { jsonrpc: '2.0', id: 1, error: { code: -32005, data: { rate: { backoff_seconds: 30 } } } },
    30_000,
  ],
  ['Contentful', 429, { sys: { type: 'Error', id: 'RateLimitExceeded' } }],
  [
    'Dropbox',
    429,
    { error_summary: 'too_many_requests/..', error: { reason: { '.tag': 'too_many_requests' }, retry_after: 300 } },
    300_000,
  ],
  ['Zendesk, Mailchimp', 429, { title: 'Too Many Requests', status: 429 }],
  ['Notion', 429, { code: 'rate_limited', additional_data: { retry_after_seconds: 3 } }, 3_000],
  [
    'Kubernetes',
    429,
    { kind: 'Status', code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds: 1 } },
    1_000,
  ],
  ['X, version 1.1', 400, { errors: [{ code: 88, message: 'Rate limit exceeded' }] }],
  ['Meta', 400, { error: { code: 613, type: 'OAuthException', fbtrace_id: 'x' } }],
  ['WhatsApp', 400, { error: { code: 130429, type: 'OAuthException' } }],
  ['VK', 400, { error: { error_code: 6, error_msg: 'x' } }],
  ['Apigee', 500, { fault: { faultstring: 'x', detail: { errorcode: 'policies.ratelimit.SpikeArrestViolation' } } }],
  ['Stack Exchange', 400, { error_id: 502, error_name: 'throttle_violation' }],
  [
    'OpenRouter',
    429,
    {
      error: {
        code: 429,
        metadata: { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1767225642000' } },
      },
    },
    42_000,
  ],
  ['a problem of the IETF draft', 403, { type: 'https://iana.org/assignments/http-problem-types#quota-exceeded' }],
  ['text that is JSON', 400, '{"error":{"code":"rate_limit_exceeded","retry_after_ms":250}}', 250],
  ['an instant in ISO 8601', 429, { error: { retryAt: '2026-01-01T00:00:42Z' } }, 42_000],
  ['an epoch', 429, { retry_after: 1_767_225_642 }, 42_000],
  ['a duration', 429, { retryAfter: '1m26.4s' }, 86_400],
];

const EXHAUSTED: readonly Row[] = [
  ['OpenAI', 429, { error: { code: 'insufficient_quota', type: 'insufficient_quota' } }],
  ['Gemini, a day', 429, google('RESOURCE_EXHAUSTED', perDay)],
  ['Gemini, none at all', 429, google('RESOURCE_EXHAUSTED', { violations: [{ quotaId: 'X', quotaValue: '0' }] })],
  [
    'Google, ErrorInfo',
    429,
    google('RESOURCE_EXHAUSTED', { '@type': `${RPC}ErrorInfo`, metadata: { quota_limit: 'RequestsPerDay' } }),
  ],
  ['YouTube', 403, { error: { errors: [{ domain: 'youtube.quota', reason: 'quotaExceeded' }] } }],
  ['Google, a day', 403, { error: { errors: [{ domain: 'usageLimits', reason: 'dailyLimitExceeded' }] } }],
  ['HubSpot', 429, { status: 'error', errorType: 'RATE_LIMIT', policyName: 'DAILY' }],
  ['Salesforce', 403, [{ errorCode: 'REQUEST_LIMIT_EXCEEDED', message: 'x' }]],
  ['Airtable', 429, { errors: [{ error: 'PUBLIC_API_BILLING_LIMIT_EXCEEDED' }] }],
  ['X, a month', 429, { title: 'UsageCapExceeded', period: 'Monthly' }],
];

const KINDS = [
  ['throttled', THROTTLED],
  ['exhausted', EXHAUSTED],
] as const;

describe.each(KINDS)('%s, thrown and returned', (expected, rows) => {
  test.each(rows.map((row) => ({ api: row[0], row })))('$api', ({ row: [, status, body, waitMs] }) => {
    const verdicts = [judge(returned(status, body), false), judge(answered(status, body), true)];
    for (const { outcome, server } of verdicts) {
      expect({ outcome, waitMs: server?.retryAfterMs }).toEqual({ outcome: expected, waitMs });
    }
  });
});

test('seconds beside a quota of a day are told as they were said', () => {
  const body = google('RESOURCE_EXHAUSTED', perDay, retryInfo('35s'));
  expect(judge(answered(429, body), true)).toMatchObject({ outcome: 'exhausted', server: { retryAfterMs: 35_000 } });
});

test('the reset of another limit is no reset of a quota that is used up for the day', () => {
  const headers = { 'x-ratelimit-remaining': '59', 'x-ratelimit-limit': '60', 'x-ratelimit-reset': '1' };
  const { server } = judge(answered(429, { error: { code: 'insufficient_quota' } }, headers), true);
  expect(server).toEqual({ status: 429, code: 'insufficient_quota', limit: 60, remaining: 59 });
});

test('a problem without capacity is overload', () => {
  const body = { type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity' };
  expect(judge(answered(503, body), true).outcome).toBe('overloaded');
});

describe('a code in a header, where the body was left alone', () => {
  test.each([
    ['AWS', 400, { 'x-amzn-errortype': 'ThrottlingException:http://internal.example/' }],
    ['Azure', 503, { 'x-ms-error-code': 'ServerBusy' }],
  ])('%s', (_, status, headers) => {
    const response = new Response('{}', { status, headers: headers as unknown as Record<string, string> });
    expect(judge(response, false).outcome).toBe('throttled');
    expect(judge(response, true).outcome).toBe('throttled');
    expect(response.bodyUsed).toBe(false);
  });
});

describe('what is returned and is data', () => {
  test.each([
    ['a record with a status', { status: 429 }],
    ['a record with a code', { code: 8, label: 'x' }],
    ['a body without a response', { errors: [{ extensions: { code: 'THROTTLED' } }] }],
    [
      'a failed job in a good answer',
      returned(200, { id: 7, status: 'failed', error: { code: 'rate_limit_exceeded' } }),
    ],
    ['a log of errors', returned(200, { rows: [{ code: 'ThrottlingException', status: 429 }] })],
    ['errors that are none of ours', returned(200, { errors: [{ extensions: { code: 'NOT_FOUND' } }] })],
    ['forbidden, on the last permit', returned(200, { errors: [{ status: 403 }] }, { 'retry-after': '7' })],
    ['an answer about a limit', returned(404, { limit: 5 })],
    ['a list', [{ status: 429, headers: {} }]],
    ['a tool that failed otherwise', { isError: true, structuredContent: { code: 'NOT_FOUND' } }],
    [
      'a tool that says it in words',
      { isError: true, content: [{ type: 'text', text: 'Too many requests, retry in 35 s' }] },
    ],
    ['a tool that did not fail', { content: [{ type: 'text', text: '{"code":"RATE_LIMITED"}' }] }],
  ])('%s', (_, value) => {
    expect(judge(value, false).outcome).toBe('success');
  });
});

describe('what marks its failure without a status', () => {
  test.each([
    ['an error in a stream of a model', { type: 'error', error: { type: 'overloaded_error' } }, 'overloaded'],
    [
      'an error in a stream of the AI SDK',
      { type: 'error', error: Object.assign(new Error('x'), { statusCode: 429 }) },
      'throttled',
    ],
    ['a message of JSON-RPC', { jsonrpc: '2.0', id: 1, error: { code: -32029 } }, 'throttled'],
    ['another error in a stream', { type: 'error', error: { type: 'invalid_request_error' } }, 'success'],
    ['a record of an error', { type: 'error', code: 'rate_limited' }, 'success'],
    ['a result of JSON-RPC', { jsonrpc: '2.0', id: 1, result: { code: -32029 } }, 'success'],
  ])('%s', (_, value, outcome) => {
    expect(judge(value, false).outcome).toBe(outcome);
  });
});

describe("MCP: a tool's result that is an error, in JSON", () => {
  const result = (json: unknown) => ({ isError: true, content: [{ type: 'text', text: JSON.stringify(json) }] });
  test.each([
    [result({ error: { code: 'rate_limited', retry_after_seconds: 12 } }), 'throttled', 12_000],
    [result({ code: 'RATE_LIMITED', retryAfterMs: 250 }), 'throttled', 250],
    [result({ status: 429, retry_after: 1.5 }), 'throttled', 1_500],
    [result({ error: { type: 'overloaded_error' } }), 'overloaded', undefined],
    [result({ error: { code: 'insufficient_quota' } }), 'exhausted', undefined],
    [
      { isError: true, content: [{ type: 'text', text: 'no' }], structuredContent: { code: 429 } },
      'throttled',
      undefined,
    ],
    [{ ...result({ code: 'RATE_LIMITED' }), _meta: { 'penstock/retry_after_ms': 7_000 } }, 'throttled', 7_000],
  ])('%j', (value, outcome, waitMs) => {
    const verdict = judge(value, false);
    expect([verdict.outcome, verdict.server?.retryAfterMs]).toEqual([outcome, waitMs]);
  });
});
