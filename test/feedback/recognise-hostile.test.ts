import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DownstreamPaused } from '../../src/base/errors.ts';
import { asBytes, readDetail, readStatusDetails } from '../../src/feedback/grpc-details.ts';
import { judge } from './judges.ts';

const boom = (): never => {
  throw new Error('no');
};
const BROKEN = new Proxy(
  {},
  { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom, getOwnPropertyDescriptor: boom },
);

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Something within something, for ever, and never the same. */
function endless(): object {
  return new Proxy(
    {},
    {
      ownKeys: () => ['error', 'data', 'response'],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      get: (_, key) => (key === 'message' || key === 'name' || key === 'toString' ? 'x' : endless()),
    },
  );
}

describe('values that do harm', () => {
  const circle: Record<string, unknown> = { status: 500 };
  Object.assign(circle, { cause: circle, error: circle, errors: [circle, circle], response: circle, data: circle });
  let deep: object = { status: 429 };
  for (let left = 0; left < 10_000; left += 1) deep = new Error('x', { cause: deep });
  const wide = { errors: Array.from({ length: 100_000 }, () => ({ error: { errors: [{}, {}, {}] } })) };
  const parts = Object.fromEntries(
    ['response', 'error', 'cause', 'headers', 'data', 'errors'].map((key) => [key, BROKEN]),
  );
  test.each([
    ['a circle', circle],
    ['a chain of ten thousand causes', deep],
    ['a hundred thousand errors', wide],
    ['a value without an end', endless()],
    ['a proxy that throws', BROKEN],
    ['a revoked proxy', revoked()],
    ['parts that throw', parts],
    ['a list of revoked proxies', { errors: [revoked(), revoked()], cause: revoked() }],
    ['an error whose headers are a circle', { headers: circle, metadata: circle }],
    ['text that is nearly JSON', new Error(`{${'"a":{'.repeat(50_000)}`)],
    ['JSON that is deep', new Error(`${'[{"error":'.repeat(3_000)}1${'}]'.repeat(3_000)}`)],
  ])('%s: an answer, soon', (_, value) => {
    const from = performance.now();
    for (let left = 10; left > 0; left -= 1) {
      expect(judge(value, true).outcome).toBe('failed');
      expect(['success', 'failed']).toContain(judge(value, false).outcome);
    }
    expect(performance.now() - from).toBeLessThan(500);
  });

  test.each([
    ['a proxy that throws', BROKEN],
    ['a revoked proxy', revoked()],
    ['a circle', circle],
  ])('headers that are %s hide no 429', (_, headers) => {
    for (const thrown of [true, false]) expect(judge({ status: 429, headers }, thrown).outcome).toBe('throttled');
  });

  test('a getter that throws hides nothing but itself', () => {
    const error = Object.defineProperties(new Error('x'), { response: { get: boom }, status: { get: boom } });
    expect(judge(Object.assign(error, { statusCode: 429, headers: { 'retry-after': '7' } }), true)).toMatchObject({
      outcome: 'throttled',
      server: { retryAfterMs: 7_000 },
    });
  });
});

describe('a body that nobody has read', () => {
  test('is neither read nor asked for', () => {
    const touched: string[] = [];
    const touch = (name: string) => ({ get: () => touched.push(name) });
    const response = Object.defineProperties({ status: 429, headers: { 'retry-after': '7' }, bodyUsed: false }, {});
    class FetchLike {
      readonly status = 429;
      readonly headers = new Headers({ 'retry-after': '7' });
      readonly bodyUsed = false;
      text(): never {
        return boom();
      }
      json(): never {
        return boom();
      }
    }
    const fetchLike = Object.defineProperties(new FetchLike(), { body: touch('body') });
    for (const value of [response, fetchLike]) {
      expect(judge(value, false).server?.retryAfterMs).toBe(7_000);
      expect(judge(value, true).server?.retryAfterMs).toBe(7_000);
      expect(judge({ response: value }, true).server?.retryAfterMs).toBe(7_000);
    }
    expect(touched).toEqual([]);
  });
});

describe("a refusal of Penstock's own", () => {
  const ours = new DownstreamPaused('paused', { downstream: 'model', retryAfterMs: 60_000 });
  test.each([
    ['itself', ours],
    ['as a cause', new Error('tool failed', { cause: ours })],
    ['as an error', Object.assign(new Error('x'), { error: ours })],
    ['among others', new AggregateError([new Error('x'), ours])],
  ])('%s is no word of the downstream', (_, error) => {
    expect(judge(error, true)).toEqual({ outcome: 'cancelled' });
  });

  test('beside a 429 it hides nothing', () => {
    expect(judge(new AggregateError([ours, { status: 429 }]), true).outcome).toBe('throttled');
  });
});

describe('details of gRPC in bytes', () => {
  const text = (value: string) => [...new TextEncoder().encode(value)];
  const field = (number: number, bytes: readonly number[]) => [number * 8 + 2, bytes.length, ...bytes];
  const any = (type: string, message: readonly number[]) =>
    field(3, [...field(1, text(`type.googleapis.com/google.rpc.${type}`)), ...field(2, message)]);
  const withDetails = (...bytes: number[][]) => {
    const value = Uint8Array.from([8, 8, ...bytes.flat()]);
    return { code: 8, details: 'x', metadata: { get: (name: string) => (name.endsWith('-bin') ? [value] : []) } };
  };
  const retryInfo = any('RetryInfo', field(1, [8, 7, 16, ...[0x80, 0xca, 0xb5, 0xee, 0x01]]));

  test('a wait, a quota of a day, a reason', () => {
    expect(judge(withDetails(retryInfo), true)).toMatchObject({
      outcome: 'throttled',
      server: { retryAfterMs: 7_500 },
    });
    const violation = field(1, field(5, text('RequestsPerDay')));
    expect(judge(withDetails(any('QuotaFailure', violation), retryInfo), true).outcome).toBe('exhausted');
    const info = any('ErrorInfo', field(3, [...field(1, text('quota_limit')), ...field(2, text('WritesPerDay'))]));
    expect(judge(withDetails(info), true).outcome).toBe('exhausted');
    expect(judge(withDetails(any('Help', field(1, [1, 2, 3]))), true).server).not.toHaveProperty('retryAfterMs');
  });

  test('in base64, as browsers keep it, and one detail by itself, as Connect does', () => {
    const bytes = Uint8Array.from([8, 8, ...retryInfo]);
    const base64 = btoa(String.fromCharCode(...bytes)).replaceAll('=', '');
    const headers = new Headers({ 'grpc-status-details-bin': base64 });
    expect(judge({ code: 8, metadata: headers }, true).server?.retryAfterMs).toBe(7_500);
    const value = Uint8Array.from(field(1, [8, 7]));
    const connect = { code: 8, metadata: new Headers(), details: [{ type: 'google.rpc.RetryInfo', value }] };
    expect(judge(connect, true).server?.retryAfterMs).toBe(7_000);
  });

  test('bytes of any kind neither throw nor hang', () => {
    const types = fc.constantFrom(
      'google.rpc.RetryInfo',
      'x/google.rpc.QuotaFailure',
      'google.rpc.ErrorInfo',
      '__proto__',
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), types, (bytes, type) => {
        expect(Array.isArray(readStatusDetails(bytes))).toBe(true);
        readDetail(type, bytes);
        const { outcome, server } = judge(withDetails([...bytes]), true);
        expect(['throttled', 'exhausted']).toContain(outcome);
        if (server?.retryAfterMs !== undefined) expect(server.retryAfterMs).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([[undefined], [''], ['%%%'], [[]], [new Uint8Array(1e6)], ['A'.repeat(1e6)], [7]])(
    '%s: no bytes',
    (value) => {
      expect(asBytes(value)?.length ?? 0).toBe(0);
    },
  );
});

describe('anything at all', () => {
  const keys = fc.constantFrom(
    ...[
      'status',
      'code',
      'error',
      'errors',
      'headers',
      'response',
      'data',
      'cause',
      'message',
      'retryAfter',
      'retryDelay',
    ],
    ...['throttleStatus', 'details', '@type', 'metadata', 'isError', 'content', 'structuredContent', 'retry_after_ms'],
  );
  const leaves = fc.oneof(
    fc.constantFrom<unknown>(
      429,
      503,
      403,
      8,
      'rate_limited',
      'RESOURCE_EXHAUSTED',
      '{"code":429}',
      Number.NaN,
      -1,
      1e300,
    ),
    fc.anything({ withBigInt: true, withDate: true, withTypedArray: true, withNullPrototype: true }),
  );
  const { value: values } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaves,
      fc.dictionary(keys, tie('value'), { maxKeys: 6 }),
      fc.array(tie('value'), { maxLength: 4 }),
    ),
  }));

  test('an outcome, and a wait that can be waited', () => {
    fc.assert(
      fc.property(values, fc.boolean(), (value, thrown) => {
        const { server, quotas } = judge(value, thrown);
        const waitMs = server?.retryAfterMs;
        if (waitMs !== undefined) expect(Number.isSafeInteger(waitMs) && waitMs >= 0).toBe(true);
        expect(quotas?.length).not.toBe(0);
      }),
      { numRuns: 2_000 },
    );
  });
});
