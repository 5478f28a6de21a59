import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PolicyError } from '../../src/base/errors.ts';
import type { DownstreamPlan, QuotaPlan } from '../../src/base/plan.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { resolveDownstream } from '../../src/policy/resolve.ts';
import { shareOf } from '../../src/policy/sizing.ts';

function plan(options: DownstreamPolicyInput): DownstreamPlan {
  return resolveDownstream('carrier', options);
}

function quota(options: DownstreamPolicyInput): QuotaPlan {
  const first = plan(options).quotas[0];
  if (first === undefined) throw new Error('no quota');
  return first;
}

function problems(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof PolicyError) return error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

describe('numbers', () => {
  test('a quota alone gets every default', () => {
    const { defaultCost, ...rest } = plan({ quota: '60/minute' });
    expect({ ...defaultCost }).toEqual({ requests: 1 });
    expect(rest).toEqual({
      name: 'carrier',
      quotas: [{ text: '60/minute', unit: 'requests', limit: 60, windowMs: 60_000, share: 60, sized: 48, burst: 6 }],
      utilization: 0.8,
      pauseAboveMs: 300_000,
      whilePaused: 'refuse',
      cooldown: { baseMs: 2_000, maxMs: 60_000 },
      warm: { forMs: 60_000, rateFactor: 0.5, spacingMs: 1_000 },
      throttleStatuses: [429],
      priority: 'normal',
      lowerShare: 0.2,
      fairness: 'runs',
      leaseGraceMs: 30_000,
      maxHoldMs: 86_400_000,
      idempotent: false,
      maxAccounts: 10_000,
      unlimited: false,
      workers: 1,
    });
  });

  test.each([
    ['1/60s', { text: '1/minute', sized: 0.8, burst: 1 }],
    ['1/second', { sized: 0.8, burst: 1 }],
    ['2/60s', { sized: 1.6, burst: 1 }],
    ['1/3s', { text: '1/3s', windowMs: 3_000 }],
    ['12/second', { sized: 9.6, burst: 1 }],
    ['1 request/250ms', { text: '1/250ms', unit: 'requests', windowMs: 250 }],
    ['200000 tokens/minute', { unit: 'tokens', sized: 160_000, burst: 20_000 }],
    ['1000/day', { windowMs: 86_400_000 }],
    ['60 / 2 minutes', { text: '60/2m', windowMs: 120_000 }],
  ])('B06: %s', (text, expected) => {
    expect(quota({ quota: text, defaultCost: { ...(text.includes('tokens') ? { tokens: 1 } : {}) } })).toMatchObject(
      expected,
    );
  });

  test('utilization 1 leaves no room for a burst', () => {
    expect(quota({ quota: '60/minute', utilization: 1 })).toMatchObject({ sized: 60, burst: 1 });
  });

  test('workers take whole shares, and the rate never more than the share', () => {
    expect(quota({ quota: '10/second', workers: 3 })).toMatchObject({
      share: 3,
      sized: 2.66666666667,
      burst: 1,
    });
    expect(quota({ quota: '10/second', workers: 3, utilization: 1 })).toMatchObject({ share: 3, sized: 3 });
  });

  test("a provider's own bucket takes the place of the window rule", () => {
    const own = { limit: 10, per: 'second', providerBurst: 100 };
    expect(quota({ quota: own })).toMatchObject({ burst: 80, providerBurst: 100 });
    expect(quota({ quota: own, workers: 4 })).toMatchObject({ burst: 20 });
    expect(quota({ quota: own, burst: 100 })).toMatchObject({ burst: 100 });
  });

  test('burst is for the request quota with the shortest window', () => {
    const options = {
      quota: ['1000/hour', '20/second', '900 tokens/second'],
      burst: 2,
      defaultCost: { tokens: 3 },
    };
    expect(plan(options).quotas.map(({ burst }) => burst)).toEqual([100, 2, 90]);
  });

  test('maxConcurrent is divided, minInterval multiplied, maxRun bounded where places are', () => {
    expect(plan({ maxConcurrent: 7, minInterval: '1s', workers: 2 })).toMatchObject({
      maxConcurrent: 3,
      minIntervalMs: 2_000,
      maxRunMs: 600_000,
    });
    expect(plan({}).maxRunMs).toBeUndefined();
  });

  test('an omitted dimension is unlimited', () => {
    const bare = plan({});
    expect(bare.quotas).toEqual([]);
    for (const key of ['maxConcurrent', 'minIntervalMs', 'maxQueueDepth', 'maxWaitMs', 'maxRunMs']) {
      expect(bare).not.toHaveProperty(key);
    }
  });

  test.each([
    [{ quota: '12/second' }, 1_000],
    [{ quota: ['12/second', '1000/hour'] }, 120_000],
    [{ quota: '90 tokens/hour', defaultCost: { tokens: 1 } }, 60_000],
    [{}, 60_000],
    [{ quota: '12/second', warm: { for: 0 } }, 0],
  ])('warm.for of %j is %d ms', (options, forMs) => {
    expect(plan(options).warm.forMs).toBe(forMs);
  });

  test('leaseGrace never is for ever', () => {
    expect(plan({ leaseGrace: 'never' }).leaseGraceMs).toBe(Number.POSITIVE_INFINITY);
  });

  test('a ladder may pause earlier than cooldown.max', () => {
    expect(plan({ pauseAbove: '1m', cooldown: { ladder: ['2m', '5m'], max: '10m' } })).toMatchObject({
      pauseAboveMs: 60_000,
      cooldown: { ladderMs: [120_000, 300_000], maxMs: 600_000 },
    });
  });

  test('an unlimited downstream drops the limits it would inherit', () => {
    const defaults = { quota: '60/minute', maxConcurrent: 5, maxWait: 3 };
    expect(resolveDownstream('search', { unlimited: true }, defaults)).toMatchObject({
      quotas: [],
      unlimited: true,
    });
    expect(resolveDownstream('search', { unlimited: true }, defaults)).not.toHaveProperty('maxConcurrent');
  });
});

describe('under random quotas', () => {
  const declared = fc.record({
    limit: fc.integer({ min: 1, max: 1_000_000 }),
    utilization: fc.double({ min: 0.001, max: 1, noNaN: true }),
    workers: fc.integer({ min: 1, max: 64 }),
  });

  test('no window of all workers together ever holds more than the quota, by default and at the largest burst', () => {
    fc.assert(
      fc.property(declared, ({ limit, utilization, workers }) => {
        const options = { quota: `${limit}/minute`, utilization, workers };
        if (Math.floor(limit / workers) < 1) return problems(() => plan(options)).length === 1;
        const { share, sized, burst } = quota(options);
        const worst = (size: number): number => workers * (size - 1 + Math.ceil(sized - 1e-9));
        expect(worst(burst)).toBeLessThanOrEqual(limit);
        expect(sized).toBeLessThanOrEqual(share);
        expect(sized * workers).toBeLessThanOrEqual(utilization * limit * (1 + 1e-9));
        const refused = problems(() => plan({ ...options, burst: 10 ** 9 })).join();
        const largest = Number(/largest legal burst is (\d+)/.exec(refused)?.[1]);
        expect(worst(quota({ ...options, burst: largest }).burst)).toBeLessThanOrEqual(limit);
        expect(problems(() => plan({ ...options, burst: largest + 1 }))).toHaveLength(1);
        return true;
      }),
      { numRuns: 500 },
    );
  });

  test('the buckets of all workers together never exceed the one of the provider', () => {
    fc.assert(
      fc.property(declared, fc.integer({ min: 1, max: 10_000 }), ({ utilization, workers }, providerBurst) => {
        const options = { quota: { limit: 10_000, per: 'minute', providerBurst }, utilization, workers };
        if (providerBurst < workers) return problems(() => plan(options)).length === 1;
        return quota(options).burst * workers <= providerBurst;
      }),
      { numRuns: 300 },
    );
  });

  test('a whole share is whole in spite of floating point', () => {
    expect(shareOf(100, 0.29, 1).sized).toBe(29);
    expect(shareOf(10, 0.7, 1).sized).toBe(7);
  });
});

describe('B14: zero, negative, NaN, infinite and text numbers are refused by name', () => {
  const bad: readonly unknown[] = [-5, Number.NaN, Number.POSITIVE_INFINITY, '60', null, 2 ** 60];
  const zeroToo = [0, ...bad];
  test.each([
    ['quota', zeroToo],
    ['quota.limit', zeroToo],
    ['quota.per', [0, ...bad.slice(0, 3), null, 2 ** 60]],
    ['quota.burst', zeroToo],
    ['quota.providerBurst', zeroToo],
    ['utilization', [...zeroToo, 1.5]],
    ['burst', [...zeroToo, 0.5]],
    ['maxConcurrent', [...zeroToo, 0.5]],
    ['minInterval', [...zeroToo, '0s']],
    ['maxQueueDepth', bad],
    ['maxWait', bad],
    ['pauseAbove', bad],
    ['cooldown.base', zeroToo],
    ['cooldown.max', zeroToo],
    ['warm.for', bad],
    ['warm.rateFactor', [...zeroToo, 1.5]],
    ['warm.spacing', bad],
    ['lowerShare', [...bad, 1.5]],
    ['defaultCost', zeroToo],
    ['maxRun', zeroToo],
    ['leaseGrace', bad],
    ['maxHold', zeroToo],
    ['maxAccounts', [...zeroToo, 0.5]],
    ['workers', [...zeroToo, 0.5]],
  ])('%s', (path, values) => {
    const [option = '', inner] = path.split('.');
    const around = option === 'quota' && inner !== undefined ? { limit: 60, per: 'minute' } : {};
    for (const value of values) {
      const options = { [option]: inner === undefined ? value : { ...around, [inner]: value } };
      const found = problems(() => resolveDownstream('carrier', options));
      expect(found, String(value)).toHaveLength(1);
      expect(found[0]).toContain(`downstreams.carrier.${path}: expected `);
    }
  });
});
