import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Recent } from '../../src/dispatch/recent.ts';
import { createDispatcher } from '../../src/dispatcher.ts';
import { ManualClock } from '../../src/testing.ts';
import { returned429 } from '../support/answers.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

const PER_MINUTE = 60;

function startsIn(recent: Recent, now: number): number {
  return Math.round(recent.read(now).startsPerSecond * PER_MINUTE);
}

describe('what the last minute was like', () => {
  test('nothing has happened: no rate, and no wait that anybody could have had', () => {
    expect(new Recent(0).read(0)).toEqual({ startsPerSecond: 0, refused: 0, throttled: 0 });
  });

  test('calls that need not wait count as waits of nothing', () => {
    const recent = new Recent(0);
    for (let n = 0; n < 9; n++) recent.started(100);
    recent.started(200);
    recent.served(4_000);
    const { waitP50Ms, waitP95Ms } = recent.read(300);
    expect(waitP50Ms).toBe(0);
    expect(waitP95Ms).toBe(0);
    for (let n = 0; n < 3; n++) {
      recent.started(300);
      recent.served(4_000);
    }
    expect(recent.read(300).waitP95Ms! / 4_000).toBeCloseTo(1, 1);
  });

  test('who waited in vain has waited', () => {
    const recent = new Recent(0);
    recent.gaveUp(30_000, 100);
    expect(recent.read(100)).toMatchObject({ startsPerSecond: 0, refused: 0 });
    expect(recent.read(100).waitP50Ms! / 30_000).toBeCloseTo(1, 1);
  });

  test('a start counts for at least 59 s and never for more than a minute', () => {
    for (const at of [0, 1, 999.999, 1_000, 123_456.7, -5_500]) {
      const recent = new Recent(at);
      recent.started(at);
      expect(startsIn(recent, at), `at ${at}`).toBe(1);
      expect(startsIn(recent, at + 59_000), `at ${at}`).toBe(1);
      expect(startsIn(recent, at + 60_000), `at ${at}`).toBe(0);
    }
  });

  test('after a long idle time nothing is left over, and the next call counts for one', () => {
    const recent = new Recent(0);
    for (let n = 0; n < 100; n++) {
      recent.started(n * 10);
      recent.served(700);
    }
    recent.refused(1_000);
    recent.throttled(1_000);
    for (const idleMs of [60_000, 61_234, 3_600_000, 30 * 86_400_000]) {
      expect(recent.read(1_000 + idleMs)).toEqual({ startsPerSecond: 0, refused: 0, throttled: 0 });
    }
    recent.started(3_600_000);
    const after = recent.read(3_600_000);
    expect(after).toEqual({ startsPerSecond: 1 / 60, waitP50Ms: 0, waitP95Ms: 0, refused: 0, throttled: 0 });
  });

  test('reading changes nothing, at whatever instant it is read', () => {
    const recent = new Recent(0);
    recent.started(0);
    recent.served(2_000);
    const before = recent.read(1_000);
    for (const at of [0, 59_999, 60_000, 1e9]) recent.read(at);
    expect(recent.read(1_000)).toEqual(before);
  });

  test('an instant that lies a little back counts where the count stands', () => {
    const recent = new Recent(10_000);
    recent.started(12_500);
    recent.refused(11_900);
    expect(recent.read(12_500)).toMatchObject({ refused: 1 });
  });

  test('counts and quantiles are those of the events themselves', () => {
    const event = fc.record({
      gapMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3_000, noNaN: true }), fc.constant(70_000)),
      waitedMs: fc.oneof(fc.constant(undefined), fc.double({ min: 1, max: 86_400_000, noNaN: true })),
      isVain: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event, { minLength: 1, maxLength: 300 }), (events) => {
        const recent = new Recent(0);
        const seen: { at: number; started: boolean; waitedMs: number | undefined }[] = [];
        let now = 0;
        for (const { gapMs, waitedMs, isVain } of events) {
          now += gapMs;
          const started = !(isVain && waitedMs !== undefined);
          if (started) recent.started(now);
          if (started && waitedMs !== undefined) recent.served(waitedMs);
          if (!started) recent.gaveUp(waitedMs!, now);
          seen.push({ at: now, started, waitedMs });
        }
        const from = (Math.floor(now / 1_000) - 59) * 1_000;
        const counted = seen.filter(({ at }) => at >= from);
        const read = recent.read(now);
        expect(startsIn(recent, now)).toBe(counted.filter(({ started }) => started).length);
        const waits = counted.map(({ waitedMs }) => waitedMs ?? 0).sort((a, b) => a - b);
        for (const [q, told] of [
          [0.5, read.waitP50Ms],
          [0.95, read.waitP95Ms],
        ] as const) {
          const exact = waits[Math.floor(q * (waits.length - 1))]!;
          expect(Math.abs(told! - exact)).toBeLessThanOrEqual(0.0501 * exact);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('in the snapshot', () => {
  test('a lane at its quota shows its sized rate, never more than was started in a minute', async () => {
    const rig = new Rig(configS());
    rig.callMany(200);
    await rig.to(120_000);
    const { recent } = rig.snap();
    expect(recent.startsPerSecond * PER_MINUTE).toBeGreaterThanOrEqual(59);
    expect(recent.startsPerSecond * PER_MINUTE).toBeLessThanOrEqual(60);
    // Of those that started in the minute before, the first had waited a minute.
    expect(recent.waitP50Ms! / 90_000).toBeCloseTo(1, 1);
    expect(recent.waitP95Ms! / 117_000).toBeCloseTo(1, 1);
    await rig.to(200_000);
    await rig.rest();
  });

  test('refusals at the door, refusals in line and 429s are counted; only the second have waited', async () => {
    const rig = new Rig(configS({ maxQueueDepth: 3 }));
    await rig.drain();
    await rig.by(60_000);
    await rig.drain();
    rig.callMany(5);
    rig.call({ fn: () => returned429('400') });
    await rig.settle();
    expect(rig.snap().recent).toMatchObject({ refused: 3, throttled: 0 });
    rig.dispatcher.report('api', { status: 429, retryAfterMs: 400_000 });
    await rig.settle();
    expect(rig.snap()).toMatchObject({ isPaused: true, recent: { refused: 6, throttled: 1 } });
    await rig.by(61_000);
    expect(rig.snap().recent).toEqual({ startsPerSecond: 0, refused: 0, throttled: 0 });
    await rig.rest();
  });

  test('who is refused or aborted in line has waited, and is no start', async () => {
    for (const isAborted of [false, true]) {
      const rig = new Rig(configS());
      await rig.drain();
      await rig.by(60_000);
      await rig.drain();
      const controller = new AbortController();
      rig.dispatcher.report('api', { status: 429, retryAfterMs: 250_000 });
      rig.callMany(3, { signal: controller.signal });
      await rig.by(100_000);
      expect(rig.snap()).toMatchObject({ queued: 3, recent: { startsPerSecond: 0 } });
      if (isAborted) controller.abort();
      else rig.dispatcher.report('api', { status: 429, retryAfterMs: 1_000_000 });
      await rig.settle();
      const { recent } = rig.snap();
      expect(recent).toMatchObject({ startsPerSecond: 0, refused: isAborted ? 0 : 3 });
      expect(recent.waitP50Ms! / 100_000).toBeCloseTo(1, 1);
      await rig.rest();
    }
  });

  test('accounts count together, those that are forgotten too', async () => {
    const clock = new ManualClock();
    const policy = { downstreams: { api: { quota: '600/minute', maxAccounts: 2 } } } as const;
    const { callDownstream, snapshot } = createDispatcher(policy, { clock, env: {} });
    for (const account of ['a', 'b', 'c', 'd']) {
      await callDownstream('api', () => 1, { account });
      await clock.advance(2_000);
    }
    const [api] = snapshot().downstreams;
    expect(api!.recent.startsPerSecond * PER_MINUTE).toBeCloseTo(4, 9);
    expect(api!.totals.started).toBe(4);
  });

  test('a wall clock that steps and a machine that sleeps change nothing but what has passed', async () => {
    const clock = new ManualClock();
    const policy = { downstreams: { api: { quota: '600/minute' } } } as const;
    const { callDownstream, snapshot } = createDispatcher(policy, { clock, env: {} });
    const starts = () => Math.round(snapshot().downstreams[0]!.recent.startsPerSecond * PER_MINUTE);
    await callDownstream('api', () => 1);
    clock.jumpWall(-86_400_000);
    clock.jumpWall(3 * 86_400_000);
    expect(starts()).toBe(1);
    await clock.suspend(600_000);
    expect(starts()).toBe(1);
    await clock.suspend(600_000, { monotonic: 'advancing' });
    expect(starts()).toBe(0);
  });
});
