import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { type Planned, told, twice } from '../support/twice.ts';
import { runs, SEEDED } from './support/seed.ts';

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined, freq: 2 });

/** Odd fractions, so that no two instants of different origin are the same by chance. */
const ms = (most: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: most }).map((whole) => whole + 0.37);

const policies: fc.Arbitrary<DownstreamPolicyInput> = fc
  .record(
    {
      quota: fc.constantFrom<DownstreamPolicyInput['quota']>(
        '60/minute',
        '10/second',
        ['20/second', '300/minute'],
        ['120/minute', '90000 tokens/minute'],
      ),
      defaultCost: fc.constant({ tokens: 1_000 }),
      maxConcurrent: maybe(fc.integer({ min: 1, max: 4 })),
      minInterval: maybe(fc.constantFrom(40, 300)),
      maxQueueDepth: maybe(fc.integer({ min: 0, max: 12 })),
      maxWait: maybe(fc.constantFrom(700, 9_000, 60_000)),
      fairness: fc.constantFrom('runs' as const, 'off' as const),
      lowerShare: fc.constantFrom(0, 0.2, 1),
    },
    { requiredKeys: ['quota', 'defaultCost'] },
  )
  .map(({ quota, defaultCost, ...rest }) => ({
    quota,
    ...(Array.isArray(quota) && quota[1]?.includes('tokens') ? { defaultCost } : {}),
    ...rest,
  }));

const calls: fc.Arbitrary<Planned> = fc
  .record(
    {
      at: ms(30_000),
      runMs: ms(4_000),
      deadline: maybe(ms(20_000)),
      abort: maybe(ms(15_000)),
      priority: maybe(fc.constantFrom('interactive' as const, 'normal' as const, 'batch' as const)),
      runId: maybe(fc.constantFrom('a', 'b', 'c/1', 'c/2')),
      cost: maybe(fc.integer({ min: 0, max: 3 })),
      account: maybe(fc.constantFrom('x', 'y', 'z')),
      isLease: fc.boolean(),
      nested: maybe(fc.array(ms(900), { maxLength: 3 })),
    },
    { requiredKeys: ['at', 'runMs'] },
  )
  .map(({ deadline, abort, at, ...rest }) => ({
    at,
    ...rest,
    ...(deadline === undefined ? {} : { deadlineAt: at + deadline }),
    ...(abort === undefined ? {} : { abortAt: at + abort }),
  }));

test(`observe: what would have become of every call is what becomes of it under enforce (${SEEDED})`, {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(policies, fc.array(calls, { minLength: 1, maxLength: 60 }), async (policy, made) => {
      // What a caller does whose nested call is refused, nobody can know.
      const schedule = made.map((one) => {
        const mayFail = policy.maxWait !== undefined || one.deadlineAt !== undefined || one.abortAt !== undefined;
        return mayFail ? { ...one, nested: undefined } : one;
      });
      const { enforced, observed } = await twice(policy, schedule, 600_000);
      expect(told(observed)).toEqual(told(enforced));
      expect(observed.reallyWaitedMs).toBe(0);
    }),
    runs(150),
  );
});
