import { describe, expect, it } from 'vitest';
import { returned429 } from '../support/answers.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

const MINUTE = 60_000;
const UNLIMITED = { unlimited: true } as const;

describe('A downstream that becomes unlimited', () => {
  it("lets everybody through during a server's hold", async () => {
    const rig = new Rig(configS());
    rig.call({ fn: () => returned429('60') });
    await rig.settle();
    const waiters = rig.callMany(3);
    await rig.to(1_000);
    rig.dispatcher.register('api', UNLIMITED);
    await rig.settle();
    const next = rig.call();
    await rig.settle();
    expect([...waiters, next].map((call) => call.startedMs)).toEqual([1_000, 1_000, 1_000, 1_000]);
    expect(rig.snap()).toMatchObject({ queued: 0, isPaused: false, expectedWaitMs: 0 });
    expect(rig.dispatcher.forecast('api')).toMatchObject({ firstStartInMs: 0 });
    await rig.clock.advance(10 * MINUTE);
    expect(rig.record.faults).toEqual([]);
  });

  it("is held by the operator's pause all the same", async () => {
    const rig = new Rig(configS());
    rig.dispatcher.pause('api', { for: '30s' });
    const waiter = rig.call();
    rig.dispatcher.register('api', UNLIMITED);
    const next = rig.call();
    await rig.to(MINUTE);
    expect([waiter.startedMs, next.startedMs]).toEqual([30_000, 30_000]);
    await rig.rest();
  });
});

describe("The operator's pause", () => {
  it.each([1e308, Number.POSITIVE_INFINITY, Number.NaN, -1, '367d', 'soon', null])(
    'of %s is refused',
    async (length) => {
      const rig = new Rig(configS());
      expect(() => rig.dispatcher.pause('api', { for: length as never })).toThrow(/api: for: expected .*, found /);
      const call = rig.call();
      await rig.settle();
      expect([call.startedMs, rig.snap().holds]).toEqual([0, []]);
      await rig.rest();
    },
  );

  it('changes nothing when it is shorter than the one in force, for accounts seen later neither', async () => {
    const rig = new Rig(configS());
    rig.dispatcher.pause('api', { for: '4m', reason: 'the provider moves' });
    rig.dispatcher.pause('api', { for: '1s', reason: 'a slip' });
    await rig.to(2_000);
    const [plain, fresh] = [rig.call(), rig.call({ account: 'A' })];
    expect(rig.snap()).toMatchObject({ pauseReason: 'the provider moves', holds: [{ leftMs: 4 * MINUTE - 2_000 }] });
    await rig.to(5 * MINUTE);
    expect([plain.startedMs, fresh.startedMs]).toEqual([4 * MINUTE, 4 * MINUTE]);
    await rig.rest();
  });

  it('does not make a 429 part of an incident that was over: it opens its own, with its own hold', async () => {
    const rig = new Rig(configS());
    rig.call({ fn: () => returned429('1') });
    await rig.to(2 * 60 * MINUTE);
    rig.call();
    await rig.settle();
    rig.dispatcher.pause('api', { for: '60s' });
    rig.dispatcher.report('api', { status: 429 });
    expect(rig.snap()).toMatchObject({ inARow: 1, holds: [{ cause: 'operator' }, { cause: 'cooldown' }] });
    rig.dispatcher.resume('api');
    const next = rig.call();
    await rig.settle();
    expect([next.state, rig.snap().holds.map(({ cause }) => cause)]).toEqual(['waiting', ['cooldown']]);
    expect(new Set(rig.alerts.map((alert) => alert.incident.id)).size).toBe(2);
    await rig.by(60 * MINUTE);
    expect([next.state, rig.record.faults]).toEqual(['fulfilled', []]);
  });
});

describe('A 429 of a call that ran while an overload was answered', () => {
  it('opens an incident of its own, with its own hold', async () => {
    const rig = new Rig(configS());
    rig.call({ fn: () => returned429('1') });
    await rig.to(60 * MINUTE);
    rig.call();
    await rig.settle();
    rig.call({ fn: () => rig.sleep(100).then(() => ({ status: 503, retryAfterMs: 1 })) });
    rig.call({ fn: () => rig.sleep(150).then(() => ({ status: 429, retryAfterMs: 5_000 })) });
    await rig.by(200);
    expect(rig.snap().inARow).toBe(1);
    expect(rig.snap().holds).toMatchObject([{ cause: 'retry-after', leftMs: 4_950 }]);
    expect(new Set(rig.alerts.map((alert) => alert.incident.id)).size).toBe(2);
    await rig.by(10 * MINUTE);
    await rig.rest();
  });
});
