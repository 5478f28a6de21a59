import { describe, expect, it } from 'vitest';
import { PolicyError } from '../../src/base/errors.ts';
import type { Call } from '../../src/dispatch/context.ts';
import { createDispatcher } from '../../src/dispatcher.ts';
import { recordEvents, windowMax } from '../../src/testing.ts';
import { configF, configM, configS, quotaOf } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

describe('Quota arithmetic', () => {
  it('B07: a timer that runs early starts nothing, and is set again for the rest', async () => {
    const rig = new Rig(configF());
    await rig.drain();
    const call = rig.call();
    await rig.settle();
    expect(rig.clock.nextTimerInMs).toBeCloseTo(125, 6);
    await rig.clock.fireEarly(0.6);
    expect([call.runs, rig.t]).toEqual([0, 124.4]);
    expect(rig.clock.nextTimerInMs).toBeCloseTo(0.6, 6);
    await rig.to(200);
    expect(call.startedMs).toBe(125);
    await rig.rest();
  });

  it('B07: a call at each exact refill, its deadline now, is always in time', async () => {
    const rig = new Rig(configF());
    await rig.drain();
    const calls = [];
    for (let n = 1; n <= 100; n += 1) {
      await rig.to(n * 125);
      calls.push(rig.call({ deadlineIn: 0 }));
      await rig.settle();
    }
    expect(calls.filter((call) => call.startedMs === undefined)).toEqual([]);
    await rig.rest();
  });

  it('B07: with the real timers of this machine no window holds more than the quota', async () => {
    const dispatcher = createDispatcher(
      { downstreams: { api: { quota: '2000/second' } } },
      { alertSinks: [], env: {} },
    );
    const starts: number[] = [];
    const fn = (): void => void starts.push(performance.now());
    await Promise.all(Array.from({ length: 5_000 }, () => dispatcher.callDownstream('api', fn)));
    expect(windowMax(starts, 1_000)).toBeLessThanOrEqual(2_000);
    await dispatcher.close();
  });

  it.each([1e-9, 1e-6, 1e-3])('B08: a permit short by %d is neither a zero delay nor a busy loop', async (short) => {
    const rig = new Rig(configF());
    await rig.drain();
    for (let round = 0; round < 100; round += 1) {
      await rig.clock.advance(125 * (1 - short));
      const before = rig.clock.timersSet;
      const call = rig.call();
      await rig.by(125);
      expect(call.runs).toBe(1);
      expect(rig.clock.timersSet - before).toBeLessThanOrEqual(2);
      await rig.drain();
    }
    expect(rig.clock.violations).toEqual([]);
    await rig.rest();
  });

  it('B10: waits only for what is missing', async () => {
    const rig = new Rig(configM());
    await rig.drain();
    await rig.to(2_000);
    expect(rig.snap().quotas[0]?.permits).toBeCloseTo(2_000, 6);
    const call = rig.call({ cost: { tokens: 3_000 } });
    await rig.by(5_000);
    expect(call.waitedMs).toBe(1_000);
    await rig.rest();
  });

  it('B13: with two limits every wait is the longer one', async () => {
    const rig = new Rig({
      policy: { quota: ['1/7s', '5/minute'], utilization: 1 },
      declares: [
        { limit: 1, windowMs: 7_000, unit: 'requests' },
        { limit: 5, windowMs: 60_000, unit: 'requests' },
      ],
    });
    const calls = rig.callMany(10);
    await rig.to(60_000);
    expect(rig.starts()).toEqual([0, 12_000, 24_000, 36_000, 48_000, 60_000]);
    rig.dispatcher.pause('api', { for: '30s' });
    await rig.to(89_999);
    expect(rig.starts()).toHaveLength(6);
    await rig.to(200_000);
    expect(calls.map((call) => call.result)).toEqual(Array.from({ length: 10 }, () => 'fulfilled'));
    await rig.rest();
  });

  it.each([
    ['quota', { limit: 0, per: '1m' }],
    ['quota', { limit: -5, per: '1m' }],
    ['quota', { limit: Number.NaN, per: '1m' }],
    ['quota', { limit: Number.POSITIVE_INFINITY, per: '1m' }],
    ['quota', '60'],
    ['quota', { limit: 60, per: 0 }],
    ['quota', { limit: 60, per: -1 }],
    ['utilization', 0],
    ['utilization', 1.5],
    ['utilization', Number.NaN],
    ['maxConcurrent', 0],
    ['maxConcurrent', -1],
    ['maxConcurrent', Number.NaN],
    ['maxConcurrent', 0.5],
  ])('B14: %s %j is refused with the name of the field', (field, value) => {
    const options = { quota: '60/minute', [field]: value };
    const build = () => createDispatcher({ downstreams: { api: options } } as never, { alertSinks: [], env: {} });
    expect(build).toThrow(PolicyError);
    expect(build).toThrow(new RegExp(`downstreams\\.api\\.${field}`));
  });

  it('B15: a policy that is set again neither stops the refill nor fills the bucket', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    rig.callMany(10);
    await rig.to(10_000);
    rig.dispatcher.register('api', configS().policy);
    expect(rig.snap().quotas[0]?.permits).toBeCloseTo(0, 6);
    rig.watch.isLedgerBound = true;
    rig.callMany(10);
    await rig.to(20_000);
    expect(rig.starts()).toEqual(Array.from({ length: 20 }, (_, n) => (n + 1) * 1_000));
    await rig.rest();
  });

  it('B17: a debt is repaid at the rate, visible, and refuses only who cannot wait for it', async () => {
    const rig = new Rig(configM());
    let running: Call | undefined;
    rig.call({
      cost: { tokens: 1_000 },
      fn: (call) => {
        running = call;
        return rig.sleep(100_000);
      },
    });
    await rig.settle();
    await rig.drain();
    running?.settle({ tokens: 31_000 });
    rig.watch.isLedgerBound = true;
    expect(rig.snap().quotas[0]?.permits).toBeCloseTo(-30_000, 6);
    const patient = rig.call({ cost: { tokens: 1_000 }, deadlineIn: 60_000 });
    const hasty = rig.call({ cost: { tokens: 1_000 }, deadlineIn: 10_000 });
    await rig.settle();
    expect(hasty.refusal.code).toBe('DEADLINE_EXCEEDED');
    expect(hasty.refusal.expectedWaitMs).toBeCloseTo(32_000, 6);
    for (const atMs of [1_000, 10_000, 30_000]) {
      await rig.to(atMs);
      expect(rig.snap().quotas[0]?.permits).toBeCloseTo(atMs - 30_000, 6);
    }
    await rig.to(100_000);
    expect(patient.startedMs).toBe(31_000);
    await rig.rest();
  });

  it('an omitted dimension is unlimited', async () => {
    const rig = new Rig({ policy: {}, declares: [] });
    rig.callMany(10_000, { runMs: 10 });
    await rig.settle();
    expect(rig.snap()).toMatchObject({ running: 10_000, queued: 0, quotas: [] });
    await rig.to(10);
    await rig.rest();
  });

  it('events of a quiet lane name no limit', async () => {
    const rig = new Rig(quotaOf(60, 60_000));
    const record = recordEvents(rig.dispatcher);
    rig.call();
    await rig.settle();
    expect(record.events.map((event) => event.type)).toEqual(['started', 'settled']);
    expect(record.starts[0]?.limitedBy).toBeUndefined();
    await rig.rest();
  });
});
