import { describe, expect, it } from 'vitest';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { returned429 } from '../support/answers.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

const MINUTE = 60_000;

describe('Holds', () => {
  it('B109: the snapshot says what a new call is then told, and reading it changes nothing', async () => {
    const rig = new Rig(configS({ maxConcurrent: 5 }));
    rig.callMany(2, { runMs: 30_000 });
    await rig.settle();
    await rig.drain();
    const waiters = rig.callMany(10);
    rig.dispatcher.report('api', { status: 429, retryAfterMs: 20_000 });
    await rig.settle();
    for (const atMs of [0, 10_000]) {
      await rig.to(atMs);
      expect(rig.snap()).toMatchObject({ queued: 10, running: 2, isPaused: false, inARow: 1 });
      expect(rig.snap().holds).toEqual([{ cause: 'retry-after', leftMs: 20_000 - atMs, until: expect.any(Number) }]);
      expect(rig.snap().expectedWaitMs).toBeCloseTo(20_000 - atMs + 10 * 2_000, 3);
    }
    const told = rig.call({ deadlineIn: 1_000 });
    await rig.settle();
    expect(told.refusal.expectedWaitMs).toBeCloseTo(rig.snap().expectedWaitMs, 6);
    const before = JSON.stringify(rig.dispatcher.snapshot());
    for (let n = 0; n < 10_000; n += 1) rig.dispatcher.snapshot();
    expect(JSON.stringify(rig.dispatcher.snapshot())).toBe(before);
    await rig.to(100_000);
    expect(waiters.map((call) => call.startedMs)).toEqual(waiters.map((_, n) => 20_000 + n * 2_000));
    expect(rig.snap()).toMatchObject({ queued: 0, running: 0, holds: [] });
    await rig.rest();
  });

  it('a hold of a second does not cost the quota of a day', async () => {
    const policy: DownstreamPolicyInput = { quota: ['60/minute', '10000/day'] };
    const declares = [
      { limit: 60, windowMs: MINUTE, unit: 'requests' },
      { limit: 10_000, windowMs: 1_440 * MINUTE, unit: 'requests' },
    ];
    const rig = new Rig({ policy, declares });
    rig.call({ fn: () => returned429('1') });
    await rig.settle();
    rig.callMany(400);
    await rig.to(5 * MINUTE + 1_000);
    // Two minutes at half the pace, then three at 48 a minute.
    expect(rig.starts().length).toBeGreaterThan(190);
    await rig.to(20 * MINUTE);
    await rig.rest();
  });
});
