import { describe, expect, it } from 'vitest';
import { createJudge } from '../../src/feedback/judge.ts';

const judge = createJudge({
  downstream: 'api',
  throttleStatuses: [429],
  wallNow: () => Date.UTC(2026, 0, 1),
  onClassifierFailure: () => undefined,
});

function headers(count: number, name: (n: number) => string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [name(n), '5']));
}

describe('an answer of any size takes no time', () => {
  it.each<[string, unknown]>([
    ['many limits', { headers: headers(10_000, (n) => `x-ratelimit-f${n}-limit`) }],
    ['many waits', { headers: headers(10_000, (n) => `f${n}-retry-after`) }],
    ['a long list of waits', { headers: { 'retry-after': '1,'.repeat(500_000) } }],
    ['a long duration', { headers: { 'retry-after': '1m'.repeat(500_000) } }],
    ['a long structured field', { headers: { ratelimit: `${'"a";r=1;t=1, '.repeat(80_000)}"b";r=1` } }],
    ['a long list of values', { headers: { 'retry-after': Array.from({ length: 1_000 }, () => '1,'.repeat(1_000)) } }],
    ['a long list of counts', { headers: { 'x-shopify-shop-api-call-limit': '1/40,'.repeat(200_000) } }],
    ['a long wait in a body', { headers: {}, data: { retryAfter: '1,'.repeat(500_000) } }],
    ['a long message', { code: 8, metadata: {}, details: 'message '.repeat(130_000) }],
  ])('%s', (_, fields) => {
    const value = { status: 429, ...(fields as object) };
    judge(value, true);
    const took = Math.min(
      ...[1, 2, 3].map(() => {
        const from = performance.now();
        expect(judge(value, true).outcome).toBe('throttled');
        return performance.now() - from;
      }),
    );
    // Before: up to 2 s. What is allowed leaves room for a machine that has other work to do.
    expect(took).toBeLessThan(60);
  });

  it('a number of very many digits is a very long wait', () => {
    const value = { status: 429, headers: { 'retry-after': '9'.repeat(1_000_000) } };
    expect(judge(value, true).server?.retryAfterMs).toBe(Number.MAX_SAFE_INTEGER);
  });
});
