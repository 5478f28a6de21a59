import { describe, expect, it } from 'vitest';
import { returned429, thrown429 } from '../support/answers.ts';
import { configM, configS } from '../support/configs.ts';
import { type Made, startsOf } from '../support/made.ts';
import { Rig } from '../support/rig.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** fn that ends in a 429 after so long, thrown or returned. */
function refusedAfter(rig: Rig, runMs: number, retryAfter: string | undefined, isThrown = false) {
  return async (): Promise<Response> => {
    await rig.sleep(runMs);
    if (isThrown) throw thrown429(retryAfter);
    return returned429(retryAfter);
  };
}

/** Moves on until a call is over. */
async function over(rig: Rig, call: Made): Promise<void> {
  await rig.settle();
  while (!call.isSettled) await rig.by(rig.clock.nextTimerInMs ?? 1);
}

/** One call that ends in a 429 without a hint; moves on to the end of its hold and returns how long that was. */
async function refusedOnce(rig: Rig, isThrown = false): Promise<number> {
  const call = rig.call({ fn: () => (isThrown ? Promise.reject(thrown429()) : returned429()) });
  await over(rig, call);
  const [{ leftMs } = { leftMs: 0 }] = rig.snap().holds;
  await rig.by(leftMs);
  return leftMs;
}

async function succeed(rig: Rig): Promise<void> {
  await over(rig, rig.call());
}

describe('Cooldown after a 429', () => {
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

  it.each([true, false])(
    'B52: without a hint each hold is twice the last, up to the longest; a success starts anew (thrown: %s)',
    async (isThrown) => {
      const rig = new Rig(configS());
      const holds: number[] = [];
      for (let n = 0; n < 6; n++) holds.push(await refusedOnce(rig, isThrown));
      expect(holds).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
      await succeed(rig);
      expect(await refusedOnce(rig, isThrown)).toBe(2_000);
      await rig.rest();
    },
  );

  it('B55: neither does it at the third step, where the 429 has no hint', async () => {
    const rig = new Rig(configS());
    for (let n = 0; n < 2; n++) await refusedOnce(rig);
    rig.zero();
    rig.call({ runMs: 4_000 });
    await rig.settle();
    rig.call({ fn: refusedAfter(rig, 1_000, undefined) });
    await rig.to(5_000);
    const { inARow, holds } = rig.snap();
    expect(inARow).toBe(3);
    await rig.to(5_000 + (holds[0]?.leftMs ?? 0));
    expect(await refusedOnce(rig)).toBe(16_000);
    await rig.rest();
  });

  // Rates are not adapted: the kind is impossible. What a 429 changes is a hold and a pace that comes back by itself.
  it('B57: after 20 refusals in a row rate and bucket are what they were, and no wait is hours', async () => {
    const rig = new Rig(configM());
    const before = rig.snap().quotas;
    for (let n = 0; n < 20; n++) await refusedOnce(rig);
    expect(rig.snap().quotas.map(({ permits: _, ...rest }) => rest)).toEqual(
      before.map(({ permits: _, ...rest }) => rest),
    );
    await rig.drain();
    const cost = { tokens: 20_000 };
    const [hurried, patient] = [rig.call({ cost, deadlineIn: 10_000 }), rig.call({ cost })];
    await rig.settle();
    expect(hurried).toMatchObject({ result: 'DEADLINE_EXCEEDED', endedMs: 0 });
    expect(hurried.refusal.expectedWaitMs).toBeLessThanOrEqual(2 * MINUTE);
    expect(rig.snap()).toMatchObject({ queued: 1, limitedBy: 'quota' });
    await rig.to(2 * MINUTE);
    expect(patient.waitedMs).toBeCloseTo(hurried.refusal.expectedWaitMs!, 0);
    await rig.rest();
  });

  it('B58: a pattern of 429 and success never goes past the first step', async () => {
    const rig = new Rig(configS());
    for (let n = 0; n < 10; n++) {
      expect(await refusedOnce(rig)).toBe(2_000);
      await succeed(rig);
    }
    for (let n = 0; n < 10; n++) expect(await refusedOnce(rig)).toBeLessThanOrEqual(MINUTE);
    expect(rig.snap().isPaused).toBe(false);
    rig.call({ fn: () => returned429('600') });
    await rig.settle();
    await rig.by(MINUTE);
    expect(rig.snap().holds.map(({ cause }) => cause)).toContain('retry-after');
    await rig.by(600_000);
    await rig.rest();
  });

  it('B60: everything comes back by itself: one window later the pace, with a success the steps', async () => {
    const rig = new Rig(configS());
    const fresh = rig.snap();
    for (let n = 0; n < 10; n++) await refusedOnce(rig);
    rig.zero();
    const waiters = rig.callMany(200);
    await rig.to(3 * MINUTE);
    const starts = startsOf(waiters);
    const between = (from: number, to: number) => starts.filter((at) => at > from && at <= to).length;
    expect([between(-1, MINUTE), between(MINUTE, 2 * MINUTE), between(2 * MINUTE, 3 * MINUTE)]).toEqual([31, 60, 60]);
    expect(rig.snap()).toMatchObject({ inARow: 0, holds: [], warmLeftMs: 0 });
    await rig.by(DAY);
    const { totals: _, lastThrottledAt: __, ...rest } = rig.snap();
    const { totals: ___, ...clean } = fresh;
    expect(rest).toEqual(clean);
    await rig.rest();
  });

  it('B62: twenty workers that heard the same come back later, none earlier, and not together', async () => {
    let seed = 7;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const starts: number[] = [];
    for (let worker = 0; worker < 20; worker++) {
      const rig = new Rig(configS({ workers: 20, whilePaused: 'wait' }), { random });
      // Each of them has several calls refused.
      for (let n = 0; n < 5; n++) rig.dispatcher.report('api', returned429('600'));
      const waiters = rig.callMany(3);
      await rig.to(700_000);
      expect(waiters[0]?.startedMs).toBeGreaterThanOrEqual(600_000);
      expect(waiters[0]?.startedMs).toBeLessThanOrEqual(630_000);
      starts.push(...startsOf(waiters));
      await rig.by(10 * MINUTE);
      await rig.rest();
    }
    starts.sort((a, b) => a - b);
    const most = Math.max(...starts.map((at) => starts.filter((other) => other >= at && other < at + 100).length));
    expect(most).toBeLessThanOrEqual(5);
  });

  // Nothing is run again by itself: the kind is impossible. Who asks again does so in a class of its own choice.
  it('B64: a refused fn is never run again, and those who came meanwhile keep their order', async () => {
    const rig = new Rig(configS());
    const first = rig.call({ fn: () => Promise.reject(thrown429('1')) });
    await rig.settle();
    const others = rig.callMany(25);
    const again = rig.call({ priority: 'interactive' });
    await rig.to(5 * MINUTE);
    expect([first.runs, first.endedMs, again.startedMs]).toEqual([1, 0, SECOND]);
    expect(others.map((call) => call.runs)).toEqual(Array(25).fill(1));
    const times = others.map((call) => call.startedMs!);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[0]).toBeGreaterThan(SECOND);
    await rig.rest();
  });

  it('B65: retries inside fn are invisible, each attempt through the gate is not', async () => {
    const rig = new Rig(configS({ maxConcurrent: 1 }));
    const answers = [returned429('1'), returned429(), new Response('fine')];
    let [asked, attempt] = [0, 0];
    const unmodified = async () => {
      while (answers[asked++]!.status === 429) await rig.sleep(SECOND);
      return 'fine';
    };
    const silent = rig.call({ fn: unmodified });
    await rig.to(3 * SECOND);
    expect([silent.value, asked, rig.alerts.length, rig.starts().length]).toEqual(['fine', 3, 0, 1]);

    rig.zero();
    const ask = () => rig.call({ fn: () => answers[attempt++] });
    const attempts = [ask()];
    await rig.settle();
    expect(rig.alerts).toMatchObject([{ name: 'QuotaModelWrong', action: { until: expect.any(String) } }]);
    for (let n = 0; n < 2; n++) {
      attempts.push(ask());
      await rig.by(10 * SECOND);
    }
    expect(attempts.map((call) => call.startedMs)).toEqual([0, SECOND, 10 * SECOND]);
    await rig.by(MINUTE);
    await rig.rest();
  });

  it('B65: an fn that sleeps for half an hour is told of, and gives its place back', async () => {
    const rig = new Rig(configS({ maxConcurrent: 1, maxRun: '1m', leaseGrace: '30s' }));
    const slow = rig.call({ runMs: 30 * MINUTE, tool: 'slow' });
    const next = rig.call({ deadlineIn: 10 * MINUTE });
    await rig.to(2 * MINUTE);
    expect([slow.endedMs, next.startedMs]).toEqual([MINUTE, 90 * SECOND]);
    expect(rig.alerts.map(({ name, tool }) => [name, tool])).toContainEqual(['LaneStalled', 'slow']);
    await rig.to(31 * MINUTE);
    await rig.rest();
  });
});
