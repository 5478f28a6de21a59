import { describe, expect, test, vi } from 'vitest';
import { DownstreamPaused } from '../../src/base/errors.ts';
import type { Classifier } from '../../src/base/verdict.ts';
import { judgeReport } from '../../src/feedback/report.ts';
import { bySeven, judge, judgeWith, NOW, noHint } from './judges.ts';

describe('what is thrown', () => {
  test.each([
    ['status', Object.assign(new Error('slow down'), { status: 429 })],
    ['statusCode', Object.assign(new Error('slow down'), { statusCode: 429 })],
    ['response.status', Object.assign(new Error('slow down'), { response: { status: 429 } })],
    ['response.statusCode', Object.assign(new Error('slow down'), { response: { statusCode: 429 } })],
    ['a status in digits', { status: '429' }],
    ['a wrapper with a status of its own', { status: 502, response: { status: 429 } }],
    ['a 429 that calls itself an abort', Object.assign(new Error('x'), { name: 'AbortError', status: 429 })],
  ])('%s 429 is throttled', (_, error) => {
    expect(judge(error, true)).toEqual(noHint);
  });

  test('B40: an unreadable header leaves a plain 429 and the error as it was', () => {
    const error = Object.freeze(Object.assign(new Error('x'), { status: 429, headers: { 'retry-after': 'abc' } }));
    expect(judge(error, true)).toEqual(noHint);
  });

  test.each([
    ['an Error', new Error('429 Too Many Requests')],
    ['text', '429'],
    ['a number', 429],
    ['nothing', undefined],
    ['a status that is none', { status: 'throttled' }],
    ['a status out of range', { status: 42_900 }],
  ])('%s has failed: prose and bare values are not read', (_, error) => {
    expect(judge(error, true)).toEqual({ outcome: 'failed' });
  });

  test('another status has failed, and is kept', () => {
    expect(judge({ status: 404 }, true)).toEqual({ outcome: 'failed', server: { status: 404 } });
    expect(judge({ status: 503 }, true)).toEqual({ outcome: 'failed', server: { status: 503 } });
  });

  test.each([
    ['DOMException', new DOMException('aborted', 'AbortError')],
    ['AbortError', Object.assign(new Error('x'), { name: 'AbortError' })],
    ['ABORT_ERR', Object.assign(new Error('x'), { code: 'ABORT_ERR' })],
    ['ERR_CANCELED', Object.assign(new Error('x'), { code: 'ERR_CANCELED' })],
    ['CanceledError', Object.assign(new Error('x'), { name: 'CanceledError' })],
  ])('%s is cancelled', (_, error) => {
    expect(judge(error, true)).toEqual({ outcome: 'cancelled' });
  });

  test('a refusal of Penstock from a nested call is cancelled, whatever it carries', () => {
    const nested = new DownstreamPaused('paused', { downstream: 'model', retryAfterMs: 60_000 });
    expect(judge(Object.assign(nested, { status: 429 }), true)).toEqual({ outcome: 'cancelled' });
  });

  test('getters that throw do no harm', () => {
    const boom = {
      get: () => {
        throw new Error('no');
      },
    };
    const broken = Object.defineProperties({ statusCode: 429 }, { status: boom, response: boom, headers: boom });
    expect(judge(broken, true)).toEqual(noHint);
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('no');
        },
        has: () => {
          throw new Error('no');
        },
      },
    );
    expect(judge(hostile, true)).toEqual({ outcome: 'failed' });
    expect(judge(hostile, false)).toEqual({ outcome: 'success' });
  });
});

describe('what is returned', () => {
  test.each([
    ['undefined', undefined],
    ['null', null],
    ['text', '429'],
    ['data with a status of its own', { status: 'delivered', id: 7 }],
    ['a status without headers', { status: 429 }],
    ['headers without a status', { headers: { 'retry-after': '7' } }],
    ['a function', () => 429],
    ['a Response', new Response('ok')],
    ['a Response that says 404', new Response('', { status: 404 })],
  ])('%s is a success', (_, value) => {
    expect(judge(value, false)).toEqual({ outcome: 'success' });
  });

  test('a Response 429 is throttled and its body stays unread', () => {
    const response = new Response('slow down', { status: 429, headers: { 'Retry-After': '7' } });
    expect(judge(response, false)).toEqual(bySeven);
    expect(response.bodyUsed).toBe(false);
  });

  test('a Response 500 has failed', () => {
    expect(judge(new Response('', { status: 500 }), false)).toEqual({
      outcome: 'failed',
      server: { status: 500 },
    });
  });
});

describe('overloaded', () => {
  test('503 with a usable Retry-After, 529 always', () => {
    const headers = { 'retry-after': '7' };
    const seven = { retryAfterMs: 7_000, readFrom: 'retry-after' };
    for (const thrown of [true, false]) {
      expect(judge({ status: 503, headers }, thrown)).toEqual({
        outcome: 'overloaded',
        server: { status: 503, ...seven },
      });
      expect(judge({ status: 503, headers: { 'retry-after': 'soon' } }, thrown).outcome).toBe('failed');
      expect(judge({ status: 529, headers: {} }, thrown)).toEqual({
        outcome: 'overloaded',
        server: { status: 529 },
      });
      expect(judge({ status: 529, headers }, thrown).server).toEqual({ status: 529, ...seven });
    }
  });

  test('a status that the policy calls throttled is throttled', () => {
    const strict = judgeWith({ throttleStatuses: [403, 503] });
    expect(strict({ status: 403 }, true).outcome).toBe('throttled');
    expect(strict({ status: 503, headers: {} }, false).outcome).toBe('throttled');
    expect(strict({ status: 429 }, true).outcome).toBe('failed');
  });
});

describe('judgeReport', () => {
  test.each([
    [{ status: 429, retryAfterMs: 2_000 }, 'throttled'],
    [{ status: 429 }, 'throttled'],
    [{ statusCode: 429 }, 'throttled'],
    [{ status: 529 }, 'overloaded'],
    [{ status: 500 }, 'failed'],
    [{ status: 200 }, 'success'],
    [{ status: 200, headers: {} }, 'success'],
    [new Response('', { status: 429 }), 'throttled'],
    [Object.assign(new Error('x'), { response: { status: 429 } }), 'throttled'],
    [new Error('x'), 'failed'],
    [undefined, 'success'],
  ])('%o is %s', (outcome, expected) => {
    expect(judgeReport(judge, outcome, { wallNow: () => NOW }).outcome).toBe(expected);
  });
});

describe('a classifier', () => {
  test('comes first, with the value as it is; undefined leaves it to us', () => {
    const classify = vi.fn<Classifier>(({ value }) => (value === 'slow down' ? { outcome: 'throttled' } : undefined));
    const own = judgeWith({ classify });
    expect(own('slow down', false)).toEqual({ outcome: 'throttled' });
    expect(own({ status: 429 }, true)).toEqual(noHint);
    expect(classify.mock.calls[0]).toEqual([{ value: 'slow down', thrown: false, downstream: 'carrier' }]);
  });

  test('B48: a wait from a body is rounded up and bounded', () => {
    const own = judgeWith({
      classify: () => ({ outcome: 'exhausted', server: { retryAfterMs: 45_837.906_927 } }),
    });
    expect(own({}, true)).toEqual({ outcome: 'exhausted', server: { retryAfterMs: 45_838 } });
  });

  test('B49: one that throws is reported once and ignored', () => {
    const onClassifierFailure = vi.fn(() => {
      throw new Error('nobody listens');
    });
    const failure = new Error('no such field');
    const own = judgeWith({
      classify: () => {
        throw failure;
      },
      onClassifierFailure,
    });
    expect(own({ status: 429 }, true)).toEqual(noHint);
    expect(own('x', false)).toEqual({ outcome: 'success' });
    expect(onClassifierFailure.mock.calls).toEqual([[failure]]);
  });

  test.each([
    ['a promise', () => Promise.reject(new Error('late'))],
    ['an unknown outcome', () => ({ outcome: 'rate limited' })],
    ['text', () => 'throttled'],
    ['null', () => null],
  ])('%s is no verdict: reported, and the shape decides', (_, said) => {
    const onClassifierFailure = vi.fn();
    const own = judgeWith({ classify: said as never, onClassifierFailure });
    expect(own({ status: 429 }, true)).toEqual(noHint);
    expect(onClassifierFailure).toHaveBeenCalledOnce();
  });

  test.each([Number.NaN, -1, '5'])('a wait of %s is reported and left out; the outcome stands', (retryAfterMs) => {
    const onClassifierFailure = vi.fn();
    const server = { status: 200, retryAfterMs } as never;
    const own = judgeWith({ classify: () => ({ outcome: 'throttled', server }), onClassifierFailure });
    expect(own({}, false)).toEqual({ outcome: 'throttled', server: { status: 200 } });
    expect(onClassifierFailure).toHaveBeenCalledOnce();
  });
});

describe('readings that a classifier gives', () => {
  const reading = (said: unknown) =>
    judgeWith({ classify: (() => ({ outcome: 'success', quotas: said })) as unknown as Classifier })({}, false).quotas;

  test('keep what can be believed', () => {
    expect(reading([{ limit: 60, remaining: 0, resetMs: 5_000, unit: 'requests', policy: 'burst', other: 1 }])).toEqual(
      [{ limit: 60, remaining: 0, resetMs: 5_000, unit: 'requests', policy: 'burst' }],
    );
  });

  test.each([
    ['no numbers', [{ remaining: Number.NaN, resetMs: -1, limit: '60', windowMs: Number.POSITIVE_INFINITY }]],
    ['no objects', ['60', null, 7]],
    ['no list', { remaining: 0 }],
  ])('%s: nothing', (_, said) => {
    expect(reading(said)).toBeUndefined();
  });
});

describe('a refusal whose wait a classifier gives as a reset', () => {
  const wait = (said: unknown, value: unknown = {}) =>
    judgeWith({ classify: (() => said) as unknown as Classifier })(value, false).server?.retryAfterMs;

  test.each([
    ['of a reading', { outcome: 'throttled', quotas: [{ remaining: 0, resetMs: 9_000 }] }, 9_000],
    [
      'the latest of several',
      {
        outcome: 'throttled',
        quotas: [
          { remaining: 0, resetMs: 9_000 },
          { remaining: 0, resetMs: 12_000 },
        ],
      },
      12_000,
    ],
    ['of the server word', { outcome: 'throttled', server: { remaining: 0, resetMs: 9_000 } }, 9_000],
    [
      'unless a wait is named',
      { outcome: 'throttled', server: { retryAfterMs: 500 }, quotas: [{ remaining: 0, resetMs: 9_000 }] },
      500,
    ],
    [
      'not of a limit with permits left',
      { outcome: 'throttled', quotas: [{ remaining: 3, resetMs: 9_000 }] },
      undefined,
    ],
    ['not of a success', { outcome: 'success', quotas: [{ remaining: 0, resetMs: 9_000 }] }, undefined],
  ])('%s', (_, said, ms) => {
    expect(wait(said)).toBe(ms);
    expect(wait(said, 'text')).toBe(ms);
  });
});
