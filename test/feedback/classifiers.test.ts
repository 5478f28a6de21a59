import { describe, expect, test, vi } from 'vitest';
import type { Classifier } from '../../src/base/verdict.ts';
import { awsPartial, graphql, jsonBody, mcpToolResult } from '../../src/feedback/classifiers.ts';
import { judgeWith } from './judges.ts';

/** What the lane would read, and when it would come back. */
function read(classify: Classifier, value: unknown, thrown = false) {
  const onClassifierFailure = vi.fn();
  const { outcome, server } = judgeWith({ classify, onClassifierFailure })(value, thrown);
  return { outcome, waitMs: server?.retryAfterMs, code: server?.code, failures: onClassifierFailure.mock.calls.length };
}

const text = (words: string) => ({ isError: true, content: [{ type: 'text', text: words }] });

describe('graphql()', () => {
  const cost = { requestedQueryCost: 752, throttleStatus: { currentlyAvailable: 666, restoreRate: 50 } };
  test.each([
    ['Shopify', { errors: [{ extensions: { code: 'THROTTLED' } }], extensions: { cost } }, 1_720],
    ['GitHub, beside data', { data: { a: 1 }, errors: [{ message: 'x' }, { type: 'RATE_LIMITED' }] }, undefined],
    ['monday.com', { errors: [{ extensions: { code: 'COMPLEXITY_BUDGET_EXHAUSTED', retry_in_seconds: 7 } }] }, 7_000],
    ['urql', { error: { graphQLErrors: [{ extensions: { code: 'TOO_MANY_REQUESTS' } }] } }, undefined],
    [
      "Shopify's own client",
      { errors: { networkStatusCode: 429, response: { headers: { 'retry-after': '2.0' } } } },
      2_000,
    ],
  ])('%s', (_, body, waitMs) => {
    expect(read(graphql(), body)).toMatchObject({ outcome: 'throttled', waitMs, failures: 0 });
    expect(read(graphql(), JSON.stringify(body))).toMatchObject({ outcome: 'throttled', waitMs, failures: 0 });
  });

  test.each([
    ['other errors', { errors: [{ extensions: { code: 'NOT_FOUND' } }] }],
    ['no errors', { data: { code: 'THROTTLED' }, errors: [] }],
    ['errors that are none', { errors: null }],
    ['text', 'THROTTLED'],
    ['nothing', undefined],
  ])('%s: left alone', (_, body) => {
    expect(read(graphql(), body)).toEqual({ outcome: 'success', waitMs: undefined, code: undefined, failures: 0 });
  });

  test('what is thrown is judged by its shape', () => {
    expect(read(graphql(), { response: { status: 429, headers: { 'retry-after': '7' } } }, true)).toMatchObject({
      outcome: 'throttled',
      waitMs: 7_000,
    });
  });
});

describe('mcpToolResult()', () => {
  test.each([
    ['Too many requests, retry in 35 s', 'throttled', 35_000],
    ['Rate limit exceeded. Please try again in 1 minute and 30 seconds.', 'throttled', 90_000],
    ['429: slow down (retry after 7)', 'throttled', 7_000],
    ['Error: rate_limited; retry_after_ms=250', 'throttled', 250],
    ['Throttled. Retry-After: 120', 'throttled', 120_000],
    ['rate limit of 60 requests per 1 minute reached, wait 12 seconds', 'throttled', 12_000],
    ['You exceeded your current quota. Please retry in 10h17m5.723541104s.', 'throttled', 37_025_724],
    ['Too many requests', 'throttled', undefined],
    ['Limit is 60 requests per 1 minute: rate limited', 'throttled', undefined],
    ['Daily quota exceeded', 'exhausted', undefined],
    ['insufficient_quota: check your plan', 'exhausted', undefined],
    ['The model is overloaded, try again in 2 minutes', 'overloaded', 120_000],
  ])('%s', (words, outcome, waitMs) => {
    expect(read(mcpToolResult(), text(words))).toMatchObject({ outcome, waitMs, failures: 0 });
  });

  test.each([
    ['another error', text('no such parcel: 1429')],
    ['words of a limit that is not ours', text('the list is limited to 50 entries')],
    ['no error', { content: [{ type: 'text', text: 'Too many requests, retry in 35 s' }] }],
    ['text alone', 'Too many requests'],
  ])('%s: left alone', (_, value) => {
    expect(read(mcpToolResult(), value)).toMatchObject({ outcome: 'success', failures: 0 });
  });

  test('JSON in a result is read as without it', () => {
    expect(read(mcpToolResult(), text('{"code":"RATE_LIMITED","retry_after_ms":7000}'))).toMatchObject({
      outcome: 'throttled',
      waitMs: 7_000,
    });
  });

  test('text that would take long to read does not', () => {
    const from = performance.now();
    for (const part of ['quota ', 'limit ', '1 s, ', 'retry in ', '9'.repeat(50), 'rate limit '])
      read(mcpToolResult(), text(part.repeat(100_000)));
    expect(performance.now() - from).toBeLessThan(500);
  });
});

describe('awsPartial()', () => {
  test.each([
    ['items', { UnprocessedItems: { orders: [{}] } }, 'UnprocessedItems'],
    ['keys', { Responses: {}, UnprocessedKeys: { orders: { Keys: [{}] } } }, 'UnprocessedKeys'],
    ['Kinesis', { Records: [{}, { ErrorCode: 'ProvisionedThroughputExceededException' }] }, expect.anything()],
    ['SQS', { Failed: [{ Id: '1', Code: 'ThrottlingException' }] }, expect.anything()],
  ])('%s', (_, value, code) => {
    expect(read(awsPartial(), value)).toMatchObject({ outcome: 'throttled', code, failures: 0 });
  });

  test.each([
    ['nothing left over', { UnprocessedItems: {}, UnprocessedKeys: {} }],
    ['tables without items', { UnprocessedItems: { orders: [] } }],
    ['records that failed otherwise', { Records: [{ ErrorCode: 'InternalFailure' }, null], FailedRecordCount: 1 }],
    ['nothing', undefined],
  ])('%s: left alone', (_, value) => {
    expect(read(awsPartial(), value)).toMatchObject({ outcome: 'success', failures: 0 });
  });
});

describe('jsonBody()', () => {
  const over = jsonBody((body) => (body as { status?: unknown }).status === 'OVER_QUERY_LIMIT');
  const body = { status: 'OVER_QUERY_LIMIT', retry_after: 7 };
  test.each([
    ['the value', body],
    ['text', JSON.stringify(body)],
    ['a response of axios', { status: 200, headers: {}, data: body }],
    ['a response of got', { statusCode: 200, headers: {}, body: JSON.stringify(body) }],
  ])('%s, returned', (_, value) => {
    expect(read(over, value)).toMatchObject({ outcome: 'throttled', failures: 0 });
  });

  test.each([
    ['a response', Object.assign(new Error('x'), { response: { status: 400, data: body } })],
    ['text', Object.assign(new Error('x'), { statusCode: 400, responseBody: JSON.stringify(body) })],
    ['the message', new Error(JSON.stringify(body))],
  ])('%s, thrown', (_, error) => {
    expect(read(over, error, true)).toMatchObject({ outcome: 'throttled', waitMs: 7_000, failures: 0 });
  });

  test('says what it was, or nothing', () => {
    expect(
      read(
        jsonBody(() => 'exhausted'),
        {},
      ),
    ).toMatchObject({ outcome: 'exhausted' });
    expect(
      read(
        jsonBody(() => undefined),
        { a: 1 },
      ),
    ).toMatchObject({ outcome: 'success', failures: 0 });
    const asked = vi.fn(() => true);
    for (const value of [undefined, 7, 'prose', new Response('{}'), new Date()]) read(jsonBody(asked), value);
    expect(asked).not.toHaveBeenCalled();
  });

  test('one that throws, answers later or says something else is reported once, and the shape decides', () => {
    const throwing = () => {
      throw new Error('no such field');
    };
    const late = (async () => throwing()) as never;
    for (const predicate of [throwing, late, (() => 'limited') as never]) {
      expect(read(jsonBody(predicate), { status: 429, headers: {}, data: body })).toMatchObject({
        outcome: 'throttled',
        failures: 1,
      });
    }
  });
});

describe('what a classifier leaves unsaid is read from the value', () => {
  const says = (outcome: 'throttled' | 'success', server?: object): Classifier => {
    return () => ({ outcome, ...(server === undefined ? {} : { server }) });
  };

  test('when to come back, and what is left', () => {
    const headers = { 'retry-after': '7', 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0' };
    const verdict = judgeWith({ classify: says('throttled') })({ status: 200, headers }, false);
    expect(verdict).toMatchObject({
      outcome: 'throttled',
      server: { status: 200, retryAfterMs: 7_000, readFrom: 'retry-after', limit: 60, remaining: 0 },
      quotas: [{ limit: 60, remaining: 0 }],
    });
    expect(judgeWith({ classify: says('success') })({ status: 429, headers }, true)).toMatchObject({
      outcome: 'success',
      quotas: [{ limit: 60 }],
    });
  });

  test('in an error that is wrapped, too', () => {
    const error = new Error('x', { cause: { status: 429, headers: { 'retry-after': '7' } } });
    expect(read(says('throttled'), error, true)).toMatchObject({ waitMs: 7_000 });
  });

  test('what it says itself stands', () => {
    const value = { status: 429, headers: { 'retry-after': '7' } };
    const verdict = judgeWith({ classify: says('throttled', { retryAfterMs: 500, code: 'mine' }) })(value, false);
    expect(verdict.server).toEqual({ status: 429, retryAfterMs: 500, code: 'mine' });
  });
});

describe('text of JSON', () => {
  test.each([
    ['awsPartial', awsPartial(), { UnprocessedItems: { orders: [{}] } }, undefined],
    ['mcpToolResult', mcpToolResult(), text('Too many requests, retry in 35 s'), 35_000],
    [
      'mcpToolResult in JSON-RPC',
      mcpToolResult(),
      { jsonrpc: '2.0', id: 1, result: text('retry in 35 s: rate limited') },
      35_000,
    ],
  ])('%s reads it as its object', (_, classify, body, waitMs) => {
    for (const value of [body, JSON.stringify(body)]) {
      expect(read(classify, value)).toMatchObject({ outcome: 'throttled', waitMs, failures: 0 });
    }
  });
});
