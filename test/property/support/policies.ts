import fc from 'fast-check';
import type { DownstreamPolicyInput } from '../../../src/policy/input.ts';
import { grid } from './seed.ts';

/** A quota as the tests know it, independent of how the policy resolves it. */
export interface Declared {
  readonly limit: number;
  readonly windowMs: number;
  readonly unit: string;
  readonly burst: number | undefined;
  readonly providerBurst: number | undefined;
}

/** A policy, and what the shadow model needs of it. */
export interface TestPolicy {
  readonly input: DownstreamPolicyInput;
  readonly quotas: readonly Declared[];
  readonly utilization: number;
  readonly defaultTokens: number;
}

const WINDOWS = [1_000, 2_000, 10_000, 60_000, 600_000, 3_600_000];

function windowOf(most: number): fc.Arbitrary<number> {
  const weighted = WINDOWS.filter((ms) => ms <= most).map((ms) => ({
    arbitrary: fc.constant(ms),
    weight: ms <= 60_000 ? 6 : 1,
  }));
  return fc.oneof(...weighted);
}

/** The largest bucket with which no window holds more than the limit (the rule of the design, written anew). */
export function largestBurst(limit: number, utilization: number): number {
  return limit - Math.ceil(utilization * limit - 1e-9) + 1;
}

const requests = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: 13, max: 200 }) },
);

function quota(utilization: number, longestMs: number): fc.Arbitrary<Declared> {
  return fc
    .record({
      isTokens: fc.integer({ min: 0, max: 3 }).map((n) => n === 0),
      limit: requests,
      windowMs: windowOf(longestMs),
      burst: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined, freq: 2 }),
      providerBurst: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined, freq: 1 }),
      provided: fc.integer({ min: 0, max: 7 }),
    })
    .map(({ isTokens, limit, windowMs, burst, providerBurst, provided }) => {
      const whole = isTokens ? limit * 10 : limit;
      const most = largestBurst(whole, utilization);
      return {
        limit: whole,
        windowMs,
        unit: isTokens ? 'tokens' : 'requests',
        burst: burst === undefined ? undefined : Math.max(1, Math.round(burst * most)),
        providerBurst: provided === 0 ? providerBurst : undefined,
      };
    });
}

const utilizations = fc.oneof(
  { weight: 2, arbitrary: fc.constant(0.8) },
  { weight: 2, arbitrary: grid(0.05, 1, 0.05) },
  { weight: 1, arbitrary: fc.double({ min: 0.02, max: 1, noNaN: true }) },
);

function maybe<T>(arbitrary: fc.Arbitrary<T>, presentIn = 0.35): fc.Arbitrary<T | undefined> {
  return fc.oneof(
    { weight: Math.round(100 * (1 - presentIn)), arbitrary: fc.constant(undefined) },
    { weight: Math.round(100 * presentIn), arbitrary },
  );
}

const options = fc.record({
  maxConcurrent: maybe(fc.integer({ min: 1, max: 4 }), 0.45),
  minInterval: maybe(grid(10, 500, 10), 0.2),
  maxQueueDepth: maybe(fc.integer({ min: 0, max: 10 }), 0.2),
  maxWait: maybe(grid(0, 30_000, 250), 0.2),
  pauseAbove: fc.constantFrom(20_000, 60_000, 300_000),
  whilePaused: fc.constantFrom('refuse', 'wait'),
  cooldown: fc.record({ base: grid(100, 5_000, 100), max: fc.constantFrom(5_000, 20_000) }),
  warm: maybe(
    fc.record({ for: grid(500, 30_000, 500), rateFactor: grid(0.1, 1, 0.1), spacing: grid(0, 1_000, 50) }),
    0.6,
  ),
  lowerShare: fc.oneof(fc.constantFrom(0, 0.2, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  fairness: fc.constantFrom('runs', 'runs', 'off'),
  leaseGrace: fc.constantFrom(0, 500, 5_000, 30_000, 'never'),
  maxRun: maybe(grid(100, 20_000, 100), 0.2),
  maxAccounts: fc.constantFrom(1, 2, 10_000),
}) as fc.Arbitrary<DownstreamPolicyInput>;

/** Any legal policy of one downstream. */
export function policies({ longestMs = 3_600_000, most = 3 } = {}): fc.Arbitrary<TestPolicy> {
  return utilizations.chain((utilization) =>
    fc
      .record({
        quotas: fc.uniqueArray(quota(utilization, longestMs), {
          maxLength: most,
          selector: ({ unit, windowMs }) => `${unit}/${windowMs}`,
        }),
        options,
        tokens: fc.integer({ min: 1, max: 10 }),
      })
      .map(({ quotas, options: rest, tokens }) => assemble(quotas, utilization, tokens, rest)),
  );
}

/** A policy of given quotas. */
export function assemble(
  quotas: readonly Declared[],
  utilization: number,
  defaultTokens: number,
  rest: DownstreamPolicyInput = {},
): TestPolicy {
  const input: DownstreamPolicyInput = {
    ...rest,
    utilization,
    ...(quotas.length === 0 ? {} : { quota: quotas.map(({ windowMs, ...quota }) => ({ ...quota, per: windowMs })) }),
    ...(quotas.some(({ unit }) => unit === 'tokens') ? { defaultCost: { tokens: defaultTokens } } : {}),
  };
  return { input, quotas, utilization, defaultTokens };
}
