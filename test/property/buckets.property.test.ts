import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DUE_MS } from '../../src/base/clock.ts';
import type { DownstreamPlan } from '../../src/base/plan.ts';
import { Bucket } from '../../src/model/bucket.ts';
import { Gate } from '../../src/model/gate.ts';
import { LaneTime } from '../../src/model/lane-time.ts';
import { Ledger } from '../../src/model/ledger.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';
import { windowMax } from '../../src/testing.ts';
import { assemble, type Declared, largestBurst, policies, type TestPolicy } from './support/policies.ts';
import { grid, runs, SEEDED } from './support/seed.ts';

const WINDOWS = 12;
const DECLARED: Omit<Declared, 'limit' | 'windowMs'> = { unit: 'requests', burst: undefined, providerBurst: undefined };
const MOST_STARTS = 1_500;

function planOf({ input }: TestPolicy): DownstreamPlan {
  return resolvePolicy({ downstreams: { api: input } }, { env: {} }).downstreams.get('api')!;
}

/** One quota, without a limit of any other kind. */
const single = policies({ most: 1 }).filter(
  ({ quotas }) => quotas.length === 1 && quotas[0]!.providerBurst === undefined,
);
const draws = fc.infiniteStream(fc.integer({ min: 0, max: 999 }));

function free(plan: DownstreamPlan): DownstreamPlan {
  const { minIntervalMs: _, ...rest } = plan;
  return rest;
}

describe(`buckets (${SEEDED})`, () => {
  test('B01, B02, B04: whatever is asked for, whenever: no window holds more than the quota', () => {
    const property = fc.property(single, draws, fc.boolean(), (policy, numbers, isHeavy) => {
      const plan = free(planOf(policy));
      const quota = plan.quotas[0]!;
      const gate = new Gate(plan, 0);
      const starts: { atMs: number; cost: number }[] = [];
      const next = (): number => numbers.next().value!;
      for (let now = 0; now < WINDOWS * quota.windowMs && starts.length < MOST_STARTS; ) {
        const most = isHeavy ? quota.limit : Math.max(1, quota.burst);
        const cost = 1 + (next() % most);
        if (next() % 20 === 0) now += (next() / 500) * quota.windowMs;
        now = gate.dueAt([cost], now);
        expect(gate.canStart([cost], now)).toBe(true);
        gate.take([cost], now);
        starts.push({ atMs: now, cost });
      }
      expect(windowMax(starts, quota.windowMs)).toBeLessThanOrEqual(quota.limit);
    });
    fc.assert(property, runs(1_500));
  });

  test('a greedy caller gets the whole sized rate', () => {
    const property = fc.property(single, (policy) => {
      const plan = free(planOf(policy));
      const { windowMs, sized } = plan.quotas[0]!;
      const gate = new Gate(plan, 0);
      const count = Math.min(MOST_STARTS, Math.ceil(200 + 2 * sized));
      let now = 0;
      for (let i = 0; i < count; i++) {
        now = gate.dueAt([1], now);
        gate.take([1], now);
      }
      expect((count * windowMs) / (now + windowMs / sized)).toBeGreaterThanOrEqual(0.99 * sized);
    });
    fc.assert(property, runs(500));
  });

  test('n calls of one permit are one call of n permits, up to the burst', () => {
    const property = fc.property(single, fc.integer({ min: 1, max: 200 }), grid(0, 5_000, 0.5), (policy, n, at) => {
      const plan = planOf(policy).quotas[0]!;
      const count = Math.min(n, plan.burst);
      const one = new Bucket(plan, 0);
      const many = new Bucket(plan, 0);
      one.take(count, at);
      for (let i = 0; i < count; i++) {
        expect(many.earliest(1)).toBeLessThanOrEqual(at + DUE_MS);
        many.take(1, at);
      }
      expect(many.tat - at).toBeCloseTo(one.tat - at, 6);
      expect(one.level(at)).toBeCloseTo(plan.burst - count, 6);
    });
    fc.assert(property, runs(1_000));
  });
});

describe(`gates (${SEEDED})`, () => {
  test('while policies change and calls are corrected, no window holds more than the largest quota in force', () => {
    const moves = fc.record({
      what: fc.constantFrom('start', 'start', 'start', 'start', 'wait', 'replan', 'refund'),
      n: fc.integer({ min: 0, max: 999 }),
    });
    const quotas = fc.record({ limit: fc.integer({ min: 2, max: 40 }), share: fc.constantFrom(0.5, 0.8, 1) });
    const scripts = fc.array(moves, { maxLength: 200, size: 'max' });
    const several = fc.array(quotas, { minLength: 2, maxLength: 3 });
    const property = fc.property(several, scripts, fc.boolean(), (some, script, hasRefunds) => {
      const windowMs = 1_000;
      const plans = some.map(({ limit, share }) => {
        const quota = { ...DECLARED, limit, windowMs, burst: largestBurst(limit, share) };
        return free(planOf(assemble([quota], share, 1)));
      });
      const gate = new Gate(plans[0]!, 0);
      const inForce = [{ from: 0, limit: some[0]!.limit }];
      const starts: { at: number; cost: number }[] = [];
      let now = 0;
      for (const { what, n } of script) {
        const last = starts.at(-1);
        if (what === 'wait') now += n / 4;
        else if (what === 'refund' && hasRefunds && last !== undefined) {
          const permits = n % (last.cost + 1);
          gate.correct(0, -permits, last.at, now);
          last.cost -= permits;
        } else if (what === 'replan') {
          gate.replan(plans[n % plans.length]!, now);
          inForce.push({ from: now, limit: some[n % some.length]!.limit });
        } else if (what === 'start') {
          const cost = 1 + (n % inForce.at(-1)!.limit);
          now = gate.dueAt([cost], now);
          // By then another limit may count: asked again, as a lane is by its timer.
          for (let i = 0; i < 100 && !gate.canStart([cost], now); i++) now = gate.dueAt([cost], now);
          gate.take([cost], now);
          starts.push({ at: now, cost });
          const most = inForce.filter((_, i) => (inForce[i + 1]?.from ?? now) >= now - windowMs);
          const used = starts
            .filter(({ at }) => at > now - windowMs + 2 * DUE_MS)
            .reduce((sum, one) => sum + one.cost, 0);
          expect(used).toBeLessThanOrEqual(Math.max(...most.map(({ limit }) => limit)));
        }
      }
    });
    fc.assert(property, runs(1_000));
  });

  test('after a hold: one start at once, then the gentler pace, then the full one', () => {
    const property = fc.property(
      single,
      fc.integer({ min: 0, max: 9 }),
      grid(0, 5_000, 250),
      (policy, used, holdMs) => {
        const plan = free(planOf(policy));
        const { forMs, rateFactor } = plan.warm;
        const gate = new Gate(plan, 0);
        for (let i = 0; i < Math.min(used, plan.quotas[0]!.burst); i++) gate.take([1], 0);
        const { msPerPermit } = gate.buckets[0]!;
        const end = Math.max(holdMs, used * msPerPermit) + 1;
        gate.hold('cooldown', end, 0);
        let now = end;
        for (let i = 0; i < 60; i++) {
          now = gate.dueAt([1], now);
          const warm = Math.min((i * msPerPermit) / rateFactor, forMs);
          expect(now).toBeCloseTo(end + warm + Math.max(0, i * msPerPermit - warm * rateFactor), 3);
          gate.take([1], now);
        }
      },
    );
    fc.assert(property, runs(500));
  });
});

describe(`spacing (${SEEDED})`, () => {
  test('without a quota the pace after a hold is one start per spacing, then as before', () => {
    const property = fc.property(policies({ most: 0 }), grid(0, 5_000, 250), (policy, holdMs) => {
      const plan = planOf(policy);
      const { forMs, spacingMs } = plan.warm;
      const interval = plan.minIntervalMs ?? 0;
      const gate = new Gate(plan, 0);
      gate.hold('cooldown', holdMs + 1, 0);
      let now = holdMs + 1;
      let expected = now;
      for (let i = 0; i < 100; i++) {
        now = gate.dueAt([], now);
        expect(now).toBeCloseTo(expected, 6);
        gate.take([], now);
        const isWarm = now < holdMs + 1 + forMs;
        const spaced = isWarm ? Math.min(now + spacingMs, holdMs + 1 + forMs) : now;
        expected = Math.max(spaced, now + interval);
      }
    });
    fc.assert(property, runs(300));
  });
});

describe(`lane time (${SEEDED})`, () => {
  const warmths = fc.array(
    fc.record({
      after: grid(0, 5_000, 0.25),
      ahead: grid(0, 3_000, 0.25),
      forMs: grid(0, 9_000, 0.25),
      factor: grid(0.05, 1, 0.05),
      probe: grid(0, 20_000, 0.25),
    }),
    { maxLength: 6 },
  );

  test('runs with the clock, never backwards, and is its own inverse', () => {
    const property = fc.property(warmths, (some) => {
      const time = new LaneTime();
      let now = 0;
      for (const { after, ahead, forMs, factor, probe } of some) {
        now += after;
        const before = time.at(now);
        time.warm(now, now + ahead, now + ahead + forMs, factor);
        expect(time.at(now)).toBeCloseTo(before, 6);
        const passed = time.at(now + probe) - before;
        const warmMs = Math.min(Math.max(probe - ahead, 0), forMs);
        expect(passed).toBeCloseTo(probe - (1 - factor) * warmMs, 6);
        expect(time.clockAt(time.at(now + probe))).toBeCloseTo(now + probe, 6);
      }
    });
    fc.assert(property, runs(2_000));
  });
});

describe(`the ledger (${SEEDED})`, () => {
  const entries = fc.array(
    fc.record({
      after: fc.oneof(fc.constant(0), grid(0, 400, 1)),
      cost: fc.integer({ min: 0, max: 9 }),
      correct: fc.option(fc.record({ back: fc.oneof(fc.nat(5), fc.nat(200)), by: fc.integer({ min: -3, max: 6 }) }), {
        nil: undefined,
        freq: 2,
      }),
      ask: fc.integer({ min: 1, max: 12 }),
    }),
    { maxLength: 300, size: 'max' },
  );

  test('counts what a plain list counts', () => {
    const property = fc.property(entries, fc.constantFrom(100, 1_000, 20_000), (some, windowMs) => {
      const ledger = new Ledger([windowMs, 2 * windowMs], 4);
      const list: { at: number; cost: number }[] = [];
      const inWindow = (at: number, ms: number) => list.filter((entry) => entry.at > at - ms + DUE_MS);
      const sum = (at: number, ms: number): number => inWindow(at, ms).reduce((total, { cost }) => total + cost, 0);
      let now = 0;
      for (const { after, cost, correct, ask } of some) {
        now += after;
        ledger.push(now, [cost, cost]);
        list.push({ at: now, cost });
        const known = correct === undefined ? undefined : list.at(-1 - correct.back);
        if (known !== undefined) {
          const permits = Math.max(correct!.by, -known.cost);
          known.cost += permits;
          for (const i of [0, 1]) ledger.correct(i, known.at, permits);
        }
        expect(ledger.used(0, now)).toBeCloseTo(sum(now, windowMs), 9);
        expect(ledger.used(1, now)).toBeCloseTo(sum(now, 2 * windowMs), 9);
        expect(ledger.starts(10_000, now)).toBe(list.filter(({ at }) => at > now - 10_000).length);
        const limit = 2 * ask;
        const fits = ledger.fitsAt(0, Math.min(ask, limit), limit, now);
        expect(sum(fits, windowMs) + ask).toBeLessThanOrEqual(limit);
        if (fits > now) expect(sum(fits - 2 * DUE_MS, windowMs) + ask).toBeGreaterThan(limit);
      }
    });
    fc.assert(property, runs(400));
  });
});
