import { describe, expect, test } from 'vitest';
import { describeDownstream } from '../../src/policy/describe.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { describeOptions } from '../../src/policy/options.ts';
import { resolveDownstream } from '../../src/policy/resolve.ts';

function say(options: DownstreamPolicyInput): string {
  return describeDownstream(resolveDownstream('carrier', options)).sentence;
}

function warnings(options: DownstreamPolicyInput): readonly string[] {
  return describeDownstream(resolveDownstream('carrier', options)).warnings;
}

describe('sentences', () => {
  test.each<[string, DownstreamPolicyInput, string]>([
    [
      'a quota alone',
      { quota: '60/minute' },
      'carrier: they allow 60 per minute; Penstock starts at most 6 at once and 48 a minute, never more than 53 in any minute; calls without a deadline may wait without end',
    ],
    [
      'less than one a window',
      { quota: '1/3s' },
      'carrier: they allow 1 per 3 s; Penstock starts at most 1 at once and one every 3.75 s, never more than 1 in any 3 s; calls without a deadline may wait without end',
    ],
    [
      'several quotas',
      { quota: ['500/hour', '200000 tokens/minute'], defaultCost: { tokens: 2000 }, maxWait: '20s' },
      'carrier: they allow 500 per hour; Penstock starts at most 50 at once and 400 an hour, never more than 449 in any hour; they also allow 200,000 tokens per minute; Penstock spends at most 20,000 tokens at once and 160,000 a minute, never more than 179,999 in any minute; no call waits longer than 20 s',
    ],
    [
      'workers',
      { quota: '60/minute', workers: 4, maxConcurrent: 8 },
      'carrier: they allow 60 per minute, 15 for each of 4 workers; Penstock starts at most 1 at once and 12 a minute, never more than 12 in any minute; at most 2 in flight; calls without a deadline may wait without end',
    ],
    [
      "a provider's own bucket",
      { quota: { limit: 10, per: 'second', providerBurst: 100 } },
      'carrier: they allow 10 per second; Penstock starts at most 80 at once and 8 a second, within the bucket of 100 that they run themselves (their promise takes the place of a bound on every window); calls without a deadline may wait without end',
    ],
    ['unlimited', { unlimited: true }, 'carrier: unlimited: every call starts at once and is only measured'],
    ['nothing', {}, 'carrier: no quota is declared, so calls start as they come; calls wait only while a hold lasts'],
    [
      'the other limits',
      { maxConcurrent: 2, minInterval: '1s', maxQueueDepth: 100 },
      'carrier: no quota is declared, so calls start as they come; at most 2 in flight; at least 1 s between two starts; at most 100 wait, further calls are refused; calls without a deadline may wait without end',
    ],
  ])('%s', (_what, options, expected) => {
    expect(say(options)).toBe(expected);
  });
});

describe('warnings', () => {
  test('a policy that leaves room has none', () => {
    expect(warnings({ quota: ['60/minute', '12/second'] })).toEqual([]);
  });

  test('less than 5 % left over', () => {
    expect(warnings({ quota: '250/second', burst: 50 })).toEqual([
      '250/second: less than 5 % of the quota is left over (1 of 250), so that jitter of the network alone can draw 429s; use a burst of 38 or less, or a lower utilization',
    ]);
    expect(warnings({ quota: '250/second', burst: 38 })).toEqual([]);
    expect(warnings({ quota: '60/minute', utilization: 1 })[0]).toContain('use a lower utilization');
  });

  test('a usual cost above the burst names the burst that avoids the debt', () => {
    const options = { quota: '100000 tokens/minute', defaultCost: { tokens: 12_000 } };
    expect(warnings(options)).toEqual([
      '100000 tokens/minute: a usual call costs 12,000 tokens and the burst is 10,000: every such call waits for a full bucket and leaves a debt of 2,000 that all classes wait out; a burst of 12,000 avoids that',
    ]);
    expect(warnings({ ...options, defaultCost: { tokens: 30_000 } })[0]).toContain(
      'no legal burst avoids that (the largest is 20,001)',
    );
  });

  test('a small quota makes deadlines of minutes hopeless', () => {
    expect(warnings({ quota: '1/minute' })).toEqual([
      '1/minute: once the burst is spent, one call starts every 75 s and the last of ten waits 12.5 min; deadlines of minutes are hopeless for more than a few calls at once',
    ]);
  });
});

test('every option has a row: what it is by default, what it means', () => {
  const rows = describeOptions();
  expect(rows.map(({ option }) => option)).toContain('leaseGrace');
  for (const row of rows) expect(row.meaning, row.option).not.toBe('');
  expect(rows.find(({ option }) => option === 'utilization')).toEqual({
    option: 'utilization',
    default: '0.8',
    meaning: 'Share of every declared quota that is used, (0, 1]',
  });
});
