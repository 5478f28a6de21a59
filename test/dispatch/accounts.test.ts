import { describe, expect, it, vi } from 'vitest';
import { Composition } from '../../src/composition.ts';
import type { Call } from '../../src/dispatch/context.ts';
import { ManualClock } from '../../src/testing.ts';
import { bare, configS, quotaOf } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

const MINUTE = 60_000;

describe("An account's lane", () => {
  it('shows in the snapshot of its downstream when it is held', async () => {
    const rig = new Rig(configS());
    rig.call({ account: 'A', fn: () => ({ status: 429, retryAfterMs: 10 * MINUTE }) });
    await rig.settle();
    expect(rig.snap()).toMatchObject({
      isPaused: true,
      holds: [{ cause: 'retry-after', leftMs: 10 * MINUTE }],
      heldUntil: rig.clock.wallNow() + 10 * MINUTE,
      expectedWaitMs: 10 * MINUTE,
      limitedBy: 'hold',
      inARow: 1,
      incidentId: expect.any(String),
    });
    await rig.to(20 * MINUTE);
    await rig.rest();
  });

  it('is what with({ account }).forecast() looks at', async () => {
    const rig = new Rig(configS());
    rig.call({ account: 'A', cost: 7 });
    await rig.settle();
    rig.callMany(9, { account: 'A' });
    const { dispatcher } = rig;
    expect(dispatcher.with({ account: 'A' }).forecast('api')).toMatchObject({ firstStartInMs: 10_000 });
    expect(dispatcher.with({ account: 'B' }).forecast('api')).toMatchObject({ firstStartInMs: 0 });
    expect(dispatcher.forecast('api')).toMatchObject({ firstStartInMs: 0 });
    // A look keeps no lane.
    expect(rig.snap().accounts).toBe(1);
    await rig.to(MINUTE);
    await rig.rest();
  });

  it('is what with({ account }).report() holds, and no other', async () => {
    const rig = new Rig(configS());
    rig.dispatcher.with({ account: 'A' }).report('api', { status: 429, retryAfterMs: 30_000 });
    const [a, b, plain] = [rig.call({ account: 'A' }), rig.call({ account: 'B' }), rig.call()];
    await rig.to(MINUTE);
    expect([a?.startedMs, b?.startedMs, plain?.startedMs]).toEqual([30_000, 0, 0]);
    expect(rig.record.faults).toEqual([]);
  });

  it('is not forgotten before minInterval is over', async () => {
    const rig = new Rig(bare({ minInterval: '10s', maxAccounts: 1 }));
    const first = rig.call({ account: 'A' });
    await rig.to(5_000);
    const refused = rig.call({ account: 'B' });
    const second = rig.call({ account: 'A' });
    await rig.to(15_000);
    expect([first.startedMs, refused.result, second.startedMs]).toEqual([0, refused.refusal.code, 10_000]);
    await rig.to(20_000);
    const late = rig.call({ account: 'B' });
    await rig.to(21_000);
    expect(late.startedMs).toBe(20_000);
    await rig.rest();
  });

  it('is not forgotten while what was given back could be used twice: the window stays within the quota', async () => {
    const rig = new Rig(quotaOf(100, MINUTE, { utilization: 0.5, burst: 50, maxAccounts: 1 }));
    rig.watch.isLedgerBound = true;
    let own: Call | undefined;
    rig.call({ account: 'A', cost: 50, fn: (call) => void (own = call) });
    await rig.to(MINUTE);
    rig.callMany(50, { account: 'A' });
    await rig.to(MINUTE + 1_000);
    own?.settle(0);
    const other = rig.call({ account: 'B', cost: 0 });
    await rig.to(MINUTE + 1_001);
    expect(other.refusal.message).toContain('account');
    rig.callMany(120, { account: 'A' });
    await rig.to(10 * MINUTE);
    expect(rig.watch.windowMax('api', MINUTE)).toBeLessThanOrEqual(100);
    await rig.rest();
  });

  it('is counted in the totals of its downstream after it was forgotten', async () => {
    const rig = new Rig(configS({ maxAccounts: 1 }));
    for (const account of ['A', 'B', 'C']) {
      rig.call({ account });
      await rig.by(MINUTE);
    }
    expect(rig.snap()).toMatchObject({ accounts: 1, totals: { calls: 3, started: 3, settled: { success: 3 } } });
    await rig.rest();
  });

  it('can be one of 130,000: a snapshot has no list of arguments to run out of', () => {
    const policy = { downstreams: { api: { quota: '60/minute' } } };
    const composition = new Composition(policy, { clock: new ManualClock(), alertSinks: [], env: {} });
    const downstream = composition.find('api');
    vi.spyOn(downstream, 'lanes').mockImplementation(() => repeat(downstream.lane, 130_000));
    expect(composition.snapshot().downstreams[0]).toMatchObject({ queued: 0, expectedWaitMs: 0, holds: [] });
  });
});

function* repeat<T>(one: T, times: number): IterableIterator<T> {
  for (let i = 0; i < times; i++) yield one;
}
