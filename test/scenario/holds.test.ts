import { describe, expect, it } from 'vitest';
import { returned429, thrown429 } from '../support/answers.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

const MINUTE = 60_000;

/** fn that ends in a 429 after so long, thrown or returned. */
function refusedAfter(rig: Rig, runMs: number, retryAfter: string | undefined, isThrown = false) {
  return async (): Promise<Response> => {
    await rig.sleep(runMs);
    if (isThrown) throw thrown429(retryAfter);
    return returned429(retryAfter);
  };
}

describe('Holds', () => {
  it.each([true, false])('B51: a 429 holds back all that wait, of every tool (thrown: %s)', async (isThrown) => {
    const rig = new Rig(configS({ maxConcurrent: 2 }));
    rig.call({ tool: 'first', fn: refusedAfter(rig, 100, '60', isThrown) });
    const second = rig.call({ tool: 'second', runMs: 200 });
    const rest = Array.from({ length: 8 }, (_, n) => rig.call({ tool: `tool ${n % 5}`, runMs: 100 }));
    await rig.to(60_099);
    expect(rig.starts()).toEqual([0, 0]);
    expect(second).toMatchObject({ state: 'fulfilled', endedMs: 200 });
    await rig.to(90_000);
    // One at once, then at half the pace: 2 s each.
    expect(rest.map((call) => call.startedMs)).toEqual(rest.map((_, n) => 60_100 + n * 2_000));
    await rig.rest();
  });

  it.each([
    ['60 at 0 s, 1 at 5 s', '60', 5_000, '1', 60_000],
    ['1 at 0 s, 60 at 0.5 s', '1', 500, '60', 60_500],
    ['60 at 0 s, none at 1 s', '60', 1_000, undefined, 60_000],
  ])('B53: the longest hold counts, none is ever shortened: %s', async (_, first, laterMs, second, endMs) => {
    const rig = new Rig(configS());
    rig.call({ fn: () => returned429(first) });
    rig.call({ fn: refusedAfter(rig, laterMs, second) });
    await rig.to(laterMs);
    const next = rig.call();
    await rig.to(endMs);
    expect(next.startedMs).toBe(endMs);
    await rig.rest();
  });

  it.each(['60', undefined])(
    'B55: a success that began before the hold changes nothing (Retry-After: %s)',
    async (hint) => {
      const rig = new Rig(configS({ cooldown: { base: '60s', max: '60s' } }));
      rig.call({ runMs: 30_000 });
      await rig.to(1_000);
      rig.call({ fn: refusedAfter(rig, 1_000, hint) });
      await rig.to(2_000);
      const next = rig.call();
      await rig.to(61_999);
      expect([next.state, rig.snap().inARow]).toEqual(['waiting', 1]);
      await rig.to(62_000);
      expect(next.startedMs).toBe(62_000);
      expect(rig.snap().inARow).toBe(0);
      await rig.rest();
    },
  );

  it('B62: a hold stores up no burst: one start as it ends, then the gentler pace', async () => {
    const rig = new Rig(configS({ whilePaused: 'wait' }));
    rig.call({ fn: () => returned429('600') });
    await rig.settle();
    const waiters = rig.callMany(200);
    await rig.to(600_000 + MINUTE);
    const starts = waiters.flatMap((call) => (call.startedMs === undefined ? [] : [call.startedMs]));
    expect(starts).toEqual(Array.from({ length: 31 }, (_, n) => 600_000 + n * 2_000));
    await rig.to(600_000 + 2 * MINUTE);
    expect(waiters.filter((call) => call.runs === 1)).toHaveLength(31 + 60);
    await rig.to(1_000_000);
    await rig.rest();
  });

  it('B62: without whilePaused: wait, nobody waits ten minutes who has not said so', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const waiters = rig.callMany(3);
    const patient = rig.call({ deadlineIn: 700_000 });
    rig.dispatcher.report('api', returned429('600'));
    await rig.settle();
    expect(waiters.map((call) => call.result)).toEqual(['RATE_LIMITED', 'RATE_LIMITED', 'RATE_LIMITED']);
    expect(waiters[0]?.refusal.retryAfterMs).toBeGreaterThanOrEqual(600_000);
    await rig.to(600_000);
    expect(patient.startedMs).toBe(600_000);
    await rig.rest();
  });

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
});
