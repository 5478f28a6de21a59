import { describe, expect, test } from 'vitest';
import { judge } from './judges.ts';

const SEVEN = { 'retry-after': '7' };

/** An error of a class of its own, as clients make them; `hidden` properties are not enumerable. */
function errorOf(name: string, own: object, hidden: object = {}): Error {
  const error = Object.assign(new Error('a message'), own);
  for (const [key, value] of Object.entries({ name, ...hidden })) {
    Object.defineProperty(error, key, { value, enumerable: false, configurable: true });
  }
  return error;
}

/** A long of 64 bits as protobuf libraries keep it. */
class Long {
  readonly low: number;
  readonly high = 0;
  constructor(low: number) {
    this.low = low;
  }
}

class Stream {
  readonly readable = true;
  pipe(): never {
    throw new Error('somebody read the stream');
  }
  [Symbol.asyncIterator](): never {
    return this.pipe();
  }
}

const superagent = errorOf('Error', {
  status: 429,
  response: {
    status: 429,
    header: SEVEN,
    headers: SEVEN,
    body: {},
    text: 'x',
    error: errorOf('Error', { status: 429 }),
  },
});
const apiCallError = (retryAfter: string) =>
  errorOf('AI_APICallError', { statusCode: 429, responseHeaders: { 'retry-after': retryAfter }, isRetryable: true });
const rateLimited = { type: 'rate_limit_error', message: 'slow down' };

const THROTTLED: readonly (readonly [client: string, error: unknown, waitMs?: number])[] = [
  ['ky', errorOf('HTTPError', { response: new Response('', { status: 429, headers: SEVEN }) }), 7_000],
  ['superagent', superagent, 7_000],
  ['mistral', errorOf('SDKError', { statusCode: 429, headers: new Headers(SEVEN), body: '{"code":"1300"}' }), 7_000],
  ['cohere', errorOf('TooManyRequestsError', { statusCode: 429, rawResponse: { headers: new Headers(SEVEN) } }), 7_000],
  [
    'S3',
    errorOf(
      'SlowDown',
      { Code: 'SlowDown', $fault: 'server', $metadata: { httpStatusCode: 503, attempts: 1 } },
      { $response: { statusCode: 503, headers: { ...SEVEN }, body: new Stream() } },
    ),
    7_000,
  ],
  [
    'Lambda',
    errorOf('TooManyRequestsException', {
      retryAfterSeconds: '7',
      Reason: 'ConcurrentInvocationLimitExceeded',
      $metadata: { httpStatusCode: 429 },
    }),
    7_000,
  ],
  ['AWS, a trait', errorOf('LimitExceededException', { $retryable: { throttling: true }, $metadata: {} })],
  ['AWS SDK v2', errorOf('x', { code: 'ThrottlingException', statusCode: 400, retryable: true, retryDelay: 29.9 })],
  ['gaxios 6', errorOf('Error', { code: '429', status: 429, response: { status: 429, headers: SEVEN } }), 7_000],
  [
    'Azure Storage',
    errorOf('RestError', { code: 'ServerBusy', statusCode: 503 }, { response: { headers: SEVEN } }),
    7_000,
  ],
  ['Azure Cosmos DB', errorOf('Error', { code: 429, substatus: 3200, retryAfterInMs: 20, headers: {} }), 20],
  ['Stripe, lock_timeout', errorOf('Error', { statusCode: 429, code: 'lock_timeout', headers: {}, raw: {} })],
  ['Twilio', errorOf('Error', { status: 429, code: 20429, moreInfo: 'https://example.com/20429' })],
  ['Notion', errorOf('APIResponseError', { status: 429, code: 'rate_limited', headers: new Headers(SEVEN) }), 7_000],
  [
    'Linear',
    errorOf('Error', {
      type: 'Ratelimited',
      status: 400,
      retryAfter: 7,
      raw: { response: { status: 400, headers: new Headers(SEVEN) } },
    }),
    7_000,
  ],
  ['Linear, without the header', errorOf('Error', { type: 'Ratelimited', status: 400, retryAfter: 7 }), 7_000],
  ['Slack, retries off', errorOf('x', { code: 'slack_webapi_request_error', original: superagent }), 7_000],
  [
    'discord.js',
    errorOf('RateLimitError[/channels/:id]', { retryAfter: 7_050, timeToReset: 7_000, global: false }),
    7_050,
  ],
  [
    'google-gax',
    errorOf('GoogleError', {
      code: 8,
      metadata: new Map(),
      statusDetails: [{ retryDelay: { seconds: new Long(7), nanos: 5e8 } }],
    }),
    7_500,
  ],
  ['nice-grpc', errorOf('ClientError', { path: '/a/B', code: 8, details: 'slow down' })],
  ['protobuf-ts', errorOf('RpcError', { code: 'RESOURCE_EXHAUSTED', meta: SEVEN }), 7_000],
  [
    'gRPC, more bandwidth than the server likes',
    errorOf('Error', { code: 8, details: 'Bandwidth exhausted', metadata: {} }),
  ],
  [
    'Connect',
    errorOf('ConnectError', { code: 8, metadata: new Headers(SEVEN), rawMessage: 'slow down', details: [] }),
    7_000,
  ],
  ['MCP over SSE', errorOf('Error', { code: 429, event: {} })],
  ['MCP, JSON-RPC', errorOf('McpError', { code: -32029, data: { retry_after: 7.5 } }), 7_500],
  ['tRPC', errorOf('TRPCClientError', { data: { code: 'TOO_MANY_REQUESTS', httpStatus: 429 }, shape: {} })],
  ['undici, an interceptor', errorOf('ResponseError', { statusCode: 429, headers: SEVEN, body: {} }), 7_000],
  ['undici, retries', errorOf('RequestRetryError', { statusCode: 429, headers: SEVEN, data: { count: 1 } }), 7_000],
  ['AI SDK', apiCallError('7'), 7_000],
  [
    'AI SDK, after retries',
    errorOf('AI_RetryError', { lastError: apiCallError('7'), errors: [apiCallError('60'), apiCallError('7')] }),
    7_000,
  ],
  ['AI SDK, a part of a stream', { type: 'error', error: apiCallError('7') }, 7_000],
  [
    'LangChain',
    errorOf('RateLimitCapacityError', { rateLimitType: 'capacity', retryAfterMs: 7_000, status: 429 }),
    7_000,
  ],
  ['LangChain, a wait like the header', errorOf('Error', { status: 429, headers: SEVEN, retryAfter: 7_000 }), 7_000],
  ['AggregateError', new AggregateError([new Error('x'), superagent]), 7_000],
  ['Promise.any of several', new AggregateError([apiCallError('60'), apiCallError('7')]), 60_000],
  ['a tool that wraps', new Error('tool failed', { cause: superagent }), 7_000],
  ['wraps of wraps', new Error('x', { cause: new Error('y', { cause: new AggregateError([superagent]) }) }), 7_000],
  ['a wrapper with a bare status of its own', errorOf('BadGateway', { status: 502 }, { cause: superagent }), 7_000],
  [
    'Boom around it',
    errorOf('Error', { isBoom: true, output: { statusCode: 502, headers: {}, payload: {} }, cause: superagent }),
    7_000,
  ],
  ['VError', errorOf('VError', { jse_cause: superagent }), 7_000],
  ['Boom', errorOf('Error', { isBoom: true, output: { statusCode: 429, headers: SEVEN, payload: {} } }), 7_000],
  ['Nest', errorOf('HttpException', { response: { statusCode: 429, message: 'x' }, status: 429 })],
  ['Feathers', errorOf('TooManyRequests', { code: 429, className: 'too-many-requests', data: {} })],
  [
    'Elasticsearch',
    errorOf('ResponseError', { meta: { statusCode: 429, headers: SEVEN, body: { error: { type: 'x' } } } }),
    7_000,
  ],
  ['Angular', errorOf('HttpErrorResponse', { status: 429, headers: new Headers(SEVEN), error: {} }), 7_000],
  [
    'wretch',
    errorOf('Error', { status: 429, response: new Response('', { status: 429, headers: SEVEN }), json: {} }),
    7_000,
  ],
  ['HTTP/2', errorOf('Error', { headers: { ':status': 429, ...SEVEN } }), 7_000],
  ['jQuery', { status: 429, responseText: '{"retry_after":7}', statusText: 'x' }, 7_000],
  ['an error in a stream, its message JSON', new Error(JSON.stringify({ type: 'error', error: rateLimited }))],
  ['the same after structuredClone', structuredClone(new Error(JSON.stringify({ error: rateLimited })))],
  ['an error as JSON', { name: 'AxiosError', message: 'x', status: 429 }],
  [
    'X, with its own reading',
    errorOf('ApiResponseError', { code: 429, rateLimit: { limit: 15, remaining: 0, reset: 1_767_225_660 } }),
    60_000,
  ],
];

describe('throttled, as the client throws it', () => {
  test.each(THROTTLED)('%s', (_, error, waitMs) => {
    const { outcome, server } = judge(error, true);
    expect({ outcome, waitMs: server?.retryAfterMs }).toEqual({ outcome: 'throttled', waitMs });
  });
});

test('a retrying client: what it tried last says how long', () => {
  const last = errorOf('x', { status: 500 });
  expect(judge(errorOf('x', { lastError: last, errors: [apiCallError('60'), last] }), true)).toMatchObject({
    outcome: 'throttled',
    server: { retryAfterMs: 60_000 },
  });
});

describe('overloaded', () => {
  test.each([
    ['Notion', errorOf('APIResponseError', { status: 529, code: 'service_overload' })],
    [
      'an error in a stream',
      errorOf('APIError', { type: 'overloaded_error', error: { error: { type: 'overloaded_error' } } }),
    ],
    ['another Penstock whose queue is full', { code: 'RATE_LIMIT_QUEUE_FULL', message: 'x' }],
    ['503 with a wait in the body', errorOf('x', { status: 503, response: { data: { retry_after: 7 } } })],
    ['529 in a cause', new Error('x', { cause: { status: 529 } })],
  ])('%s', (_, error) => {
    expect(judge(error, true).outcome).toBe('overloaded');
  });
});

describe('no limit of ours', () => {
  const forbidden = errorOf('x', { status: 403, response: { status: 403, headers: {} } }, { cause: superagent });
  test.each([
    [
      'gRPC: a message too large',
      errorOf('x', { code: 8, details: 'Received message larger than max (5 vs 4)', metadata: {} }),
    ],
    [
      'gRPC: the same by name',
      errorOf('x', { code: 'RESOURCE_EXHAUSTED', message: 'grpc: received message larger than max' }),
    ],
    [
      'Connect: the same',
      errorOf('x', {
        code: 8,
        metadata: new Headers(),
        rawMessage: 'message size 9 is larger than configured readMaxBytes 4',
      }),
    ],
    [
      'gRPC: a proxy that had a 429',
      errorOf('x', { code: 14, details: 'Received HTTP status code 429', metadata: {} }),
    ],
    ['NotFoundError has the code 8', new DOMException('x', 'NotFoundError')],
    ['QuotaExceededError is about a disk', new DOMException('x', 'QuotaExceededError')],
    ['an exit code', errorOf('x', { code: 8, killed: false })],
    ['a resource cap of an account', errorOf('LimitExceededException', { $metadata: { httpStatusCode: 400 } })],
    ['too many connections to a database', errorOf('x', { code: '53300', severity: 'FATAL' })],
    ['an answer of its own around an older one', forbidden],
    [
      'a request that was refused, and says what it sent',
      errorOf('x', { status: 400, config: { data: { code: 'rate_limited' } } }),
    ],
    [
      'Slack: prose only',
      errorOf('x', { code: 'slack_webapi_request_error', original: new Error('a rate limit was exceeded') }),
    ],
    ['a status in words', { status: 'throttled' }],
    ['a header map that is none', errorOf('x', { status: 404, headers: { 'x-ratelimit-remaining': '0' } })],
    [
      '403 of a server that sends Retry-After: 0 with everything',
      { status: 403, headers: { 'retry-after': '0', 'x-ratelimit-remaining': '97' } },
    ],
    ['a node that is behind', errorOf('x', { code: -32005, data: { numSlotsBehind: 42 } })],
    ['too many results', errorOf('x', { code: -32005, message: 'query returned more than 10000 results' })],
    ['MCP: the caller gave up', errorOf('McpError', { code: -32001 })],
    ['503 alone', errorOf('x', { status: 503, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' } })],
  ])('%s', (_, error) => {
    expect(judge(error, true).outcome).toBe('failed');
  });
});
