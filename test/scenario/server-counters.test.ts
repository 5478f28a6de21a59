import { describe, expect, it } from 'vitest';
import { bare, bucketOf, configM, configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

/** An answer that tells what the server's counter leaves. */
function answer(remaining: number | string, resetAfterS: number, more: Record<string, string> = {}, status = 200) {
  const headers = {
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset-after': String(resetAfterS),
    ...more,
  };
  return new Response(null, { status, headers });
}

/** The bucket of configuration S, full of 50. */
const FULL_50 = () => bucketOf(75, 60_000, 63);

describe("The server's counters", () => {
  it.each([
    ['text', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '5' }],
    ['numbers', { 'x-ratelimit-remaining': 0, 'x-ratelimit-reset-after': 5 }],
  ])('B44: none left is a number: nothing starts before the reset (%s)', async (_, headers) => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => ({ status: 200, headers, data: 'ok' }) });
    await rig.settle();
    const queued = rig.callMany(3);
    await rig.to(4_999);
    expect(queued.map(({ state }) => state)).toEqual(['waiting', 'waiting', 'waiting']);
    expect(rig.snap()).toMatchObject({ holds: [{ cause: 'quota-reset', leftMs: 1 }], limitedBy: 'hold' });
    await rig.to(60_000);
    expect(queued[0]!.startedMs).toBe(5_000);
    expect(rig.alerts).toEqual([]);
    await rig.rest();
  });

  it('B46: somebody else uses the same key: three are left, the fourth waits for the reset, who cannot is told at once', async () => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => answer(3, 30) });
    await rig.settle();
    const queued = Array.from({ length: 10 }, (_, n) => rig.call(n === 4 ? { deadlineIn: 10_000 } : {}));
    await rig.settle();
    expect(queued.filter(({ startedMs }) => startedMs === 0)).toHaveLength(3);
    expect(queued[4]).toMatchObject({ state: 'rejected', endedMs: 0, error: { code: 'DEADLINE_EXCEEDED' } });
    await rig.to(29_999);
    expect(rig.starts()).toHaveLength(4);
    await rig.to(60_000);
    // After the reset the bucket alone rules: one at once, then its pace.
    expect(queued.filter((_, n) => n > 2 && n !== 4).map(({ startedMs }) => startedMs)).toEqual([
      30_000, 31_000, 32_000, 33_000, 34_000, 35_000,
    ]);
    await rig.rest();
  });

  it('what is foretold counts the reset', async () => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => answer(3, 30) });
    await rig.settle();
    expect(rig.dispatcher.forecast('api', { calls: 5 })).toEqual({
      firstStartInMs: 0,
      lastStartInMs: 31_000,
      fits: 5,
      limitedBy: 'hold',
    });
    const deadline = rig.clock.wallNow() + 29_000;
    expect(rig.dispatcher.forecast('api', { calls: 5, deadline })).toMatchObject({ fits: 3 });
    await rig.rest();
  });

  it.each([
    ['in order', [1_000, 2_000]],
    ['the later first', [2_000, 1_000]],
  ])('answers never raise what an answer left: %s', async (_, [first, second]) => {
    const rig = new Rig(FULL_50());
    const slow = (ms: number, remaining: number) => async () => {
      await rig.sleep(ms);
      return answer(remaining, 30 - ms / 1_000);
    };
    rig.call({ fn: slow(first!, 3) });
    rig.call({ fn: slow(second!, 2) });
    await rig.to(2_000);
    const queued = rig.callMany(5);
    await rig.to(29_999);
    expect(queued.filter(({ state }) => state === 'fulfilled')).toHaveLength(2);
    await rig.to(60_000);
    await rig.rest();
  });

  it('an answer that says more, before the same reset, changes nothing', async () => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => answer(1, 30) });
    await rig.settle();
    rig.call({ fn: () => answer(40, 30) });
    await rig.settle();
    const next = rig.call();
    await rig.to(30_000);
    expect(next.startedMs).toBe(30_000);
    await rig.rest();
  });

  it('calls on their way count against what an earlier call was told', async () => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => rig.sleep(500).then(() => answer(10, 30)) });
    rig.callMany(7, { runMs: 10_000 });
    await rig.to(500);
    const queued = rig.callMany(5);
    await rig.to(1_000);
    expect(queued.filter(({ startedMs }) => startedMs === 500)).toHaveLength(3);
    await rig.to(60_000);
    await rig.rest();
  });

  it('an answer from the window before says nothing of the window after', async () => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => rig.sleep(1_500).then(() => answer(0, 0)) });
    rig.call({ fn: () => rig.sleep(1_400).then(() => answer(59, 60)) });
    await rig.to(1_500);
    expect(rig.call({})).toMatchObject({ state: 'waiting' });
    await rig.settle();
    expect(rig.starts().at(-1)).toBe(1_500);
    await rig.rest();
  });

  it('a spent window that lasts is a pause: who cannot wait so long is refused at once', async () => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => answer(0, 3_600) });
    await rig.settle();
    expect(rig.snap().isPaused).toBe(true);
    const plain = rig.call();
    const patient = rig.call({ deadlineIn: 4_000_000 });
    await rig.settle();
    expect(plain).toMatchObject({ state: 'rejected', error: { code: 'RATE_LIMITED' } });
    expect(rig.alerts).toMatchObject([
      {
        name: 'QuotaExhausted',
        severity: 'critical',
        action: { kind: 'pause', cause: 'quota-reset' },
        server: { remaining: 0, resetMs: 3_600_000 },
      },
    ]);
    await rig.to(3_600_000);
    expect(patient.startedMs).toBe(3_600_000);
    expect(rig.alerts).toHaveLength(1);
    await rig.rest();
  });

  it('a pause that answers in flight repeat, each a little later, is told once', async () => {
    const rig = new Rig(FULL_50());
    for (let n = 0; n < 5; n++) rig.call({ fn: () => rig.sleep(1 + n * 400).then(() => answer(0, 3_600)) });
    await rig.to(2_000);
    expect(rig.alerts).toHaveLength(1);
    await rig.to(3_700_000);
    await rig.rest();
  });

  it.each([404, 500])('they are read on failures too: %i', async (status) => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => answer(0, 5, {}, status) });
    await rig.settle();
    const next = rig.call();
    await rig.to(5_000);
    expect(next.startedMs).toBe(5_000);
    await rig.rest();
  });

  it('a refusal names its own wait: the reset beside a Retry-After does not make it longer', async () => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => answer(0, 42, { 'retry-after': '7' }, 429) });
    await rig.settle();
    const next = rig.call();
    await rig.to(7_000);
    expect(next.startedMs).toBe(7_000);
    await rig.rest();
  });

  it('several workers take their share of what is left', async () => {
    const rig = new Rig(bucketOf(75, 60_000, 63, { workers: 3 }), { random: () => 0 });
    rig.call({ fn: () => answer(6, 30) });
    await rig.settle();
    rig.callMany(5);
    await rig.to(29_999);
    expect(rig.starts()).toHaveLength(3);
    await rig.to(120_000);
    await rig.rest();
  });

  it('without a declared quota every start counts as one', async () => {
    const rig = new Rig(bare());
    rig.call({ fn: () => answer(2, 10) });
    await rig.settle();
    rig.callMany(5);
    await rig.to(9_999);
    expect(rig.starts()).toHaveLength(3);
    await rig.to(60_000);
    expect(rig.starts()[3]).toBe(10_000);
    await rig.rest();
  });

  it('unlimited is unlimited', async () => {
    const rig = new Rig(bare({ unlimited: true }));
    rig.call({ fn: () => answer(0, 10) });
    await rig.settle();
    rig.callMany(5);
    await rig.settle();
    expect(rig.starts()).toHaveLength(6);
    await rig.rest();
  });

  it('a counter of another unit that is used up holds nobody who costs none of it', async () => {
    const rig = new Rig(configM({}, 62_500));
    const headers = { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '20s' };
    rig.call({ fn: () => new Response(null, { headers }) });
    await rig.settle();
    const heavy = rig.call({ priority: 'batch' });
    const free = rig.call({ cost: { tokens: 0 } });
    await rig.to(20_000);
    expect([free.startedMs, heavy.startedMs]).toEqual([0, 20_000]);
    await rig.rest();
  });

  it('a counter of another unit counts its own permits', async () => {
    const rig = new Rig(configM({}, 62_500));
    const headers = { 'x-ratelimit-remaining-tokens': '2500', 'x-ratelimit-reset-tokens': '20s' };
    rig.call({ fn: () => new Response(null, { headers }) });
    await rig.settle();
    const heavy = rig.call({ cost: { tokens: 2_000 } });
    const light = rig.call({ cost: { tokens: 1_000 } });
    await rig.to(20_000);
    expect([heavy.startedMs, light.startedMs]).toEqual([0, 20_000]);
    await rig.rest();
  });

  it.each([
    [
      'tokens, which every call takes',
      { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '20s' },
      20_000,
    ],
    [
      'exports, of which we may make none',
      { 'x-ratelimit-remaining-exports': '0', 'x-ratelimit-reset-exports': '20' },
      0,
    ],
    [
      'the requests of one endpoint',
      { 'x-ratelimit-endpoint-requests-remaining': '0', 'x-ratelimit-endpoint-requests-reset': '20' },
      0,
    ],
  ])('a unit that nobody declared, none left: %s', async (_, headers, startedMs) => {
    const rig = new Rig(configS());
    rig.call({ fn: () => new Response(null, { headers }) });
    await rig.settle();
    const next = rig.call();
    await rig.to(20_000);
    expect(next.startedMs).toBe(startedMs);
    await rig.rest();
  });

  it('resume with all forgets what the server said', async () => {
    const rig = new Rig(FULL_50());
    rig.call({ fn: () => answer(1, 60) });
    await rig.settle();
    rig.call();
    const next = rig.call();
    await rig.to(1_000);
    expect(next.state).toBe('waiting');
    rig.dispatcher.resume('api', { all: true });
    await rig.settle();
    expect(next.startedMs).toBe(1_000);
    await rig.rest();
  });

  it('headers that were seen elsewhere count too, and the snapshot shows what was heard last', async () => {
    const rig = new Rig(configS());
    rig.dispatcher.report('api', answer(0, 5, { 'x-ratelimit-limit': '75' }));
    const next = rig.call();
    await rig.to(5_000);
    expect(next.startedMs).toBe(5_000);
    expect(rig.snap().heard).toEqual({
      at: rig.clock.wallNow() - 5_000,
      quotas: [{ limit: 75, remaining: 0, resetMs: 5_000, unit: 'requests' }],
    });
    await rig.rest();
  });
});
