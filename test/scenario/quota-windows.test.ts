import { describe, expect, it } from 'vitest';
import { FakeDownstream } from '../../src/testing.ts';
import { bucketOf, configF, quotaOf } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

const MINUTE = 60_000;

describe('Quota windows', () => {
  it('B01: a full bucket and its refill together stay within the quota of any window', async () => {
    const rig = new Rig(quotaOf(100, MINUTE));
    rig.callMany(500);
    await rig.to(180_000);
    expect(rig.watch.windowMax('api', MINUTE)).toBeLessThanOrEqual(100);
    expect(rig.starts().length / 3).toBeGreaterThanOrEqual(76);
    await rig.to(600_000);
    expect(rig.starts()).toHaveLength(500);

    await rig.by(600_000);
    rig.zero();
    const again = rig.callMany(500);
    await rig.to(180_000);
    expect(again.filter((call) => call.runs === 1).length / 3).toBeGreaterThanOrEqual(76);
    await rig.to(600_000);
    await rig.rest();
  });

  it.each([59_990, 1, 15_000, 30_000])(
    'B02: two batches 20 ms apart, the first at %d ms, share one quota whatever its phase',
    async (firstMs) => {
      const rig = new Rig(quotaOf(100, MINUTE));
      await rig.to(firstMs);
      rig.callMany(80);
      await rig.to(firstMs + 20);
      rig.callMany(80);
      await rig.to(firstMs + MINUTE - 0.1);
      expect(rig.starts().length).toBeLessThanOrEqual(100);
      await rig.to(firstMs + 3 * MINUTE);
      expect(rig.starts()).toHaveLength(160);
      await rig.rest();
    },
  );

  it('B03: a hidden window is visible in the alert: 60 s within the quota, 10 s not', async () => {
    const rig = new Rig(quotaOf(60, MINUTE, { burst: 13 }));
    const server = new FakeDownstream({
      clock: rig.clock,
      limits: [
        { limit: 60, windowMs: MINUTE },
        { limit: 10, windowMs: 10_000 },
      ],
    });
    const calls = Array.from({ length: 48 }, () => rig.call({ fn: () => server.call() }));
    await rig.settle();
    const [alert] = rig.alerts;
    expect(alert?.name).toBe('QuotaModelWrong');
    const seen = new Map(alert?.observed.windows.map((window) => [window.windowMs, window]));
    expect([...seen.keys()].sort((a, b) => a - b)).toEqual([1_000, 10_000, MINUTE]);
    expect(seen.get(1_000)?.starts).toBeGreaterThan(10);
    expect(seen.get(10_000)?.starts).toBeGreaterThan(10);
    expect(seen.get(MINUTE)).toMatchObject({ declared: 60, sized: 48 });
    expect(seen.get(MINUTE)?.starts).toBeLessThanOrEqual(60);
    const started = server.count();
    await rig.to(9_999);
    expect(server.count()).toBe(started);
    await rig.to(10 * MINUTE);
    expect(calls.every((call) => call.runs === 1)).toBe(true);
    await rig.rest();
  });

  it('B03: with both windows declared there is no 429, at most 8 starts in 10 s, all done in a minute', async () => {
    const config = quotaOf(60, MINUTE);
    const both = {
      policy: {
        quota: [
          { limit: 60, per: MINUTE },
          { limit: 10, per: 10_000 },
        ],
      },
      declares: [...config.declares, { limit: 10, windowMs: 10_000, unit: 'requests' }],
    };
    const rig = new Rig(both);
    const server = new FakeDownstream({
      clock: rig.clock,
      limits: [
        { limit: 60, windowMs: MINUTE },
        { limit: 10, windowMs: 10_000 },
      ],
    });
    Array.from({ length: 48 }, () => rig.call({ fn: () => server.call() }));
    await rig.to(60_000);
    expect(server.count({ status: 429 })).toBe(0);
    expect(server.count({ status: 200 })).toBe(48);
    expect(rig.watch.windowMax('api', 10_000)).toBeLessThanOrEqual(8);
    expect(rig.alerts).toEqual([]);
    await rig.rest();
  });

  it('B04: short gaps between two bursts let no call slip into a full window', async () => {
    const rig = new Rig(configF());
    for (let round = 0; round < 50; round += 1) {
      for (const gapMs of [50, 1 + ((round * 613) % 999)]) {
        const calls = rig.callMany(11);
        await Promise.all([rig.by(2_000), ...calls.map((call) => call.promise)]);
        await rig.by(gapMs);
      }
    }
    expect(rig.starts()).toHaveLength(1_100);
    expect(rig.watch.windowMax('api', 1_000)).toBeLessThanOrEqual(10);
    await rig.rest();
  });

  it.each([
    [1, MINUTE, 75_000],
    [1, 1_000, 1_250],
    [2, MINUTE, 37_500],
  ])(
    'B06: a quota of %d per %d ms, less than two permits sized, starts one per %d ms',
    async (limit, windowMs, everyMs) => {
      const rig = new Rig(quotaOf(limit, windowMs));
      const calls = rig.callMany(2);
      await rig.settle();
      const late = rig.call({ deadlineIn: everyMs + 1 });
      await rig.settle();
      expect(late.refusal).toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'admission' });
      expect(late.refusal.expectedWaitMs).toBeCloseTo(2 * everyMs, 6);
      await rig.to(everyMs);
      expect(calls.map((call) => call.startedMs)).toEqual([0, everyMs]);
      await rig.rest();
    },
  );

  it('B06: behind the first call of one a minute, a deadline of 10 s is refused at once', async () => {
    const rig = new Rig(quotaOf(1, MINUTE));
    rig.call();
    const second = rig.call({ deadlineIn: 10_000 });
    await rig.settle();
    expect(second.refusal.expectedWaitMs).toBeCloseTo(75_000, 6);
    expect([second.runs, second.endedMs]).toEqual([0, 0]);
    await rig.rest();
  });

  it('B12: a declared burst is usable in one instant, the next call is told how long it would wait', async () => {
    const rig = new Rig(bucketOf(60, MINUTE, 60));
    rig.callMany(48);
    const next = rig.call({ deadlineIn: 1_000 });
    await rig.settle();
    expect(rig.starts()).toEqual(Array.from({ length: 48 }, () => 0));
    expect(next.refusal).toMatchObject({ code: 'DEADLINE_EXCEEDED', limitedBy: 'quota' });
    expect(next.refusal.expectedWaitMs).toBeCloseTo(1_250, 6);
    await rig.rest();
  });

  it('B12: strict spacing only where a burst of 1 was declared', async () => {
    const rig = new Rig(quotaOf(60, MINUTE, { burst: 1 }));
    rig.callMany(5);
    await rig.to(6_000);
    expect(rig.starts()).toEqual([0, 1_250, 2_500, 3_750, 5_000]);
    await rig.rest();
  });

  it('B21: a month or a year of silence is no larger burst', async () => {
    const rig = new Rig(configF({ burst: 3 }));
    for (const days of [30, 400]) {
      await rig.clock.advance(days * 86_400_000);
      expect(rig.snap().quotas[0]?.permits).toBe(3);
      rig.zero();
      const calls = rig.callMany(1_000);
      await rig.settle();
      expect(calls.filter((call) => call.runs === 1)).toHaveLength(3);
      await rig.to(125_000);
      const starts = calls.map((call) => call.startedMs!);
      expect(starts.slice(3).every((ms, n) => ms === (n + 1) * 125)).toBe(true);
    }
    await rig.rest();
  });
});
