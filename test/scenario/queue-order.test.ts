import { describe, expect, it } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import { configF, configM, configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

describe('Order and weight', () => {
  it('B84: starts in order of arrival, equal instants included', async () => {
    let seed = 11;
    for (let round = 0; round < 200; round += 1) {
      const rig = new Rig(configS());
      await rig.drain();
      const order: number[] = [];
      let atMs = 0;
      for (let n = 0; n < 5; n += 1) {
        await rig.to(atMs);
        rig.call({ fn: () => order.push(n) });
        seed = (seed * 48_271) % 2_147_483_647;
        atMs += round === 0 ? 100 : [0, 0, 1, 137, 250][seed % 5]!;
      }
      await rig.to(6_000);
      expect(order).toEqual([0, 1, 2, 3, 4]);
      expect(rig.starts()).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
      await rig.rest();
    }
  });

  it('B85: a heavy call is not starved by light ones that came later', async () => {
    const rig = new Rig(configM({}, 75_000));
    await rig.drain();
    const heavy = rig.call({ cost: { tokens: 30_000 } });
    const light = [];
    for (let atMs = 1; atMs < 35_000; atMs += 250) {
      await rig.to(atMs);
      light.push(rig.call({ cost: { tokens: 500 } }));
    }
    await rig.to(300_000);
    expect(heavy.startedMs).toBe(30_000);
    expect(light.filter((call) => call.startedMs! <= 30_000)).toEqual([]);
    await rig.rest();
  });

  it('B86: the whole bucket is admitted when it is full; above the quota is refused at once', async () => {
    const rig = new Rig(configM({}, 75_000));
    const whole = rig.call({ cost: { tokens: 60_000 } });
    const never = rig.call({ cost: { tokens: 75_001 } });
    const small = rig.call({ cost: { tokens: 1 } });
    await rig.settle();
    expect(whole.startedMs).toBe(0);
    expect(never.refusal).toMatchObject({ code: 'COST_EXCEEDS_QUOTA', retryable: false, started: false });
    await rig.to(1);
    expect(small.startedMs).toBe(1);
    await rig.rest();
  });

  it.each([60_001, 70_000, 75_000])(
    'B86: %d of a bucket of 60,000 waits for it to be full and repays',
    async (tokens) => {
      const rig = new Rig(configM({}, 75_000));
      await rig.drain();
      const heavy = rig.call({ cost: { tokens } });
      const small = rig.call({ cost: { tokens: 1 } });
      await rig.to(200_000);
      expect(heavy.startedMs).toBeGreaterThanOrEqual(60_000);
      expect(small.startedMs! - heavy.startedMs!).toBeGreaterThanOrEqual(tokens - 60_000);
      await rig.rest();
    },
  );

  it('B87: a default cost that can never fit is an error of the policy', () => {
    const build = () =>
      createDispatcher(
        { downstreams: { model: { quota: '100 tokens/minute', defaultCost: { tokens: 1_024 } } } },
        { alertSinks: [], env: {} },
      );
    expect(build).toThrow(/downstreams\.model\.defaultCost/);
  });

  it('B89: a stream of urgent calls does not keep a batch call waiting for ever', async () => {
    const rig = new Rig(configF());
    const low = rig.call({ priority: 'batch', runId: 'low' });
    const lowWithDeadline = rig.call({ priority: 'batch', deadlineIn: 20_000 });
    const { urgent, order } = await urgentStream(rig);
    expect(low.startedMs).toBeLessThan(30_000);
    expect(lowWithDeadline.startedMs).toBeLessThanOrEqual(20_000);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    await rig.to(300_000);
    expect(urgent.every((call) => call.runs === 1)).toBe(true);
    await rig.rest();
  });

  it('B89: without a share for the lower classes it waits, and a deadline is kept all the same', async () => {
    const rig = new Rig(configF({ lowerShare: 0 }));
    await rig.drain();
    rig.callMany(20, { priority: 'interactive' });
    const low = rig.call({ priority: 'batch' });
    const lowWithDeadline = rig.call({ priority: 'batch', deadlineIn: 20_000 });
    await urgentStream(rig);
    expect(low.state).toBe('waiting');
    expect(lowWithDeadline.refusal.code).toBe('DEADLINE_EXCEEDED');
    expect(lowWithDeadline.endedMs).toBeLessThanOrEqual(20_000);
    await rig.to(300_000);
    expect(low.state).toBe('fulfilled');
    await rig.rest();
  });

  it('B90: one call of another run starts within two permits of a fan-out of 1,000', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    rig.callMany(1_000, { runId: 'fan-out' });
    await rig.to(1);
    const other = rig.call({ runId: 'other' });
    await rig.to(3_000);
    expect(other.startedMs).toBeLessThanOrEqual(2_000);
    await rig.to(1_001_000);
    await rig.rest();
  });

  it('B90: where fairness is off it is told at once that it would come too late', async () => {
    const rig = new Rig(configS({ fairness: 'off' }));
    await rig.drain();
    rig.callMany(1_000, { runId: 'fan-out' });
    await rig.to(1);
    const other = rig.call({ runId: 'other', deadlineIn: 30_000 });
    await rig.settle();
    expect(other.refusal.code).toBe('DEADLINE_EXCEEDED');
    expect(other.refusal.expectedWaitMs).toBeCloseTo(1_000_999, 3);
    await rig.to(1_000_000);
    await rig.rest();
  });
});

/** Ten urgent calls a second for two minutes; the order in which they started. */
async function urgentStream(rig: Rig) {
  const urgent = [];
  const order: number[] = [];
  for (let n = 0; n < 1_200; n += 1) {
    await rig.to(n * 100);
    urgent.push(rig.call({ priority: 'interactive', runId: 'urgent', fn: () => order.push(n) }));
  }
  await rig.to(120_000);
  return { urgent, order };
}
