import { expect, test } from 'vitest';
import { type Planned, told, twice } from '../support/twice.ts';

const MINUTE = 60_000;
const FAN_OUT: readonly Planned[] = Array.from({ length: 800 }, (_, n) => ({ at: n * 112.5, runMs: 300 }));

async function expectEqual(
  policy: Parameters<typeof twice>[0],
  schedule: readonly Planned[],
  forMs = 40 * MINUTE,
): Promise<Awaited<ReturnType<typeof twice>>> {
  const both = await twice(policy, schedule, forMs);
  expect(told(both.observed)).toEqual(told(both.enforced));
  expect(both.observed.reallyWaitedMs).toBe(0);
  return both;
}

test('observe: a fan-out of 800 is told to wait as long as it waits under enforce, and is not delayed', async () => {
  const { enforced, observed } = await expectEqual({ quota: '60/minute' }, FAN_OUT);
  const sum = (of: ReadonlyMap<string, number>): number => [...of.values()].reduce((total, ms) => total + ms, 0);
  expect(sum(observed.started)).toBeGreaterThan(300_000_000);
  expect(Math.abs(sum(observed.started) / sum(enforced.started) - 1)).toBeLessThan(0.01);
  expect(observed.reallyRefused).toBe(0);
});

test('observe: the same calls are refused where they have deadlines', async () => {
  const schedule = FAN_OUT.map((one, n) => ({ ...one, deadlineAt: one.at + (n % 7) * 40_000 + 500 }));
  const { observed } = await expectEqual({ quota: '60/minute' }, schedule);
  expect(observed.refused.size).toBeGreaterThan(300);
});

test('observe: classes, runs, places and a longest wait', async () => {
  const classes = ['interactive', 'normal', 'batch'] as const;
  const schedule = FAN_OUT.map((one, n) => ({
    ...one,
    runMs: 100 + ((n * 7919) % 40_000),
    priority: classes[n % 3]!,
    runId: `run${n % 11}`,
  }));
  const policy = { quota: '600/minute', maxConcurrent: 5, maxWait: '5m', maxQueueDepth: 150 };
  const { observed } = await expectEqual(policy, schedule, 60 * MINUTE);
  expect(observed.refused.size).toBeGreaterThan(100);
});

test('observe: several quotas, accounts, costs that are corrected', async () => {
  const schedule = FAN_OUT.map((one, n) => ({
    ...one,
    account: `a${n % 3}`,
    cost: { tokens: 500 + (n % 5) * 300 },
    ...(n % 4 === 0 ? { settle: { tokens: 900 } } : {}),
  }));
  const policy = { quota: ['100/minute', '60000 tokens/minute'], defaultCost: { tokens: 1_000 }, maxConcurrent: 30 };
  await expectEqual(policy, schedule);
});

test('observe: leases, aborts and nested calls', async () => {
  const schedule = FAN_OUT.map((one, n) => ({
    ...one,
    ...(n % 5 === 0 ? { isLease: true } : {}),
    ...(n % 6 === 1 ? { abortAt: one.at + 20_000 + n } : {}),
    ...(n % 7 === 2 ? { nested: [50, 70, 20] } : {}),
  }));
  await expectEqual({ quota: '120/minute', maxConcurrent: 8 }, schedule, 60 * MINUTE);
});
