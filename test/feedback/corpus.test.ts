import { describe, expect, test } from 'vitest';
import { explain } from '../../src/explain.ts';
import { CORPUS, type CorpusCase, live } from '../fixtures/rate-limit-corpus.ts';
import { judgeWith } from './judges.ts';

const REFUSALS = ['throttled', 'overloaded', 'exhausted'];

/** Said in a body alone that its caller has not read yet: that is not ours to read. */
const UNREAD = ['fetch-hdr/hubspot-daily'];

function judged(one: CorpusCase) {
  return judgeWith({ wallNow: () => one.now_ms })(live(one), one.kind === 'thrown');
}

function classOf({ id, expected }: CorpusCase): string | undefined {
  if (UNREAD.includes(id)) return 'throttled';
  if (expected.class === 'overload') return 'overloaded';
  return expected.class === 'quota_exhausted' ? 'exhausted' : undefined;
}

test('there are 201 of them', () => {
  expect(CORPUS).toHaveLength(201);
});

describe('what real clients throw and return', () => {
  test.each(CORPUS.map((one) => [one.id, one] as const))('%s', (_, one) => {
    const verdict = judged(one);
    const { rate_limited: isLimited, retry_after_ms: waitMs } = one.expected;
    expect({ isLimited: REFUSALS.includes(verdict.outcome), waitMs: verdict.server?.retryAfterMs ?? null }).toEqual({
      isLimited,
      waitMs,
    });
    const outcome = classOf(one);
    if (outcome !== undefined) expect(verdict.outcome).toBe(outcome);
    else if (isLimited) expect(verdict.outcome).toBe('throttled');
  });
});

describe('what is left, on answers of every kind', () => {
  const told = CORPUS.filter(({ expected }) => expected.quota !== undefined);
  test.each(told.map((one) => [one.id, one] as const))('%s', (_, one) => {
    const { quota } = one.expected;
    const { quotas } = judged(one);
    if (quota === null || quota === undefined) expect(quotas).toBeUndefined();
    else {
      const { limit, remaining, reset_ms: resetMs } = quota;
      expect(quotas?.[0]).toMatchObject({ limit, remaining, ...(resetMs === undefined ? {} : { resetMs }) });
    }
  });
});

describe('explain() says the same', () => {
  const thrown = CORPUS.filter(({ kind }) => kind === 'thrown');
  test.each(thrown.map((one) => [one.id, one] as const))('%s', (_, one) => {
    const { code, retryAfterMs, message } = explain(live(one));
    const isThrottled = one.expected.rate_limited && one.expected.class !== 'overload';
    expect(code === 'RATE_LIMITED').toBe(isThrottled);
    if (!one.expected.rate_limited) expect(retryAfterMs).toBeUndefined();
    else expect(retryAfterMs === undefined).toBe(one.expected.retry_after_ms === null);
    expect(message).not.toMatch(/undefined|null|\[object/);
  });
});
