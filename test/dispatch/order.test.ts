import { describe, expect, it } from 'vitest';
import type { Call } from '../../src/dispatch/context.ts';
import { configS, quotaOf } from '../support/configs.ts';
import { startsOf } from '../support/made.ts';
import { Rig } from '../support/rig.ts';

/** One start per second. */
const slow = (more = {}): Rig => new Rig(quotaOf(60, 60_000, { utilization: 1, burst: 1, ...more }));

describe('A runId', () => {
  it('with very many segments costs what any other does', async () => {
    // The short one first: were each segment to cost twice the one before it, the long one would never end.
    for (const segments of [22, 200_000]) {
      const rig = slow();
      await rig.drain();
      const fromMs = performance.now();
      const deep = rig.callMany(2, { runId: `${'x/'.repeat(segments - 1)}z` });
      const plain = rig.call({ runId: 'y' });
      expect(rig.snap().queued).toBe(3);
      await rig.to(3_000);
      expect(performance.now() - fromMs).toBeLessThan(2_000);
      expect([...deep, plain].map((call) => call.startedMs)).toEqual([1_000, 3_000, 2_000]);
      await rig.rest();
    }
  });

  it('takes turns at three levels', async () => {
    const rig = slow({ lowerShare: 0 });
    await rig.drain();
    const order: string[] = [];
    const names = ['A/1/p', 'A/1/p', 'A/1/q', 'A/2/p', 'B', 'B', 'B', 'B'];
    for (const runId of names) rig.call({ runId, fn: () => order.push(runId) });
    await rig.to(8_000);
    expect(order).toEqual(['A/1/p', 'B', 'A/2/p', 'B', 'A/1/q', 'B', 'A/1/p', 'B']);
    await rig.rest();
  });
});

describe('A waiter that is displaced', () => {
  it('takes with it the timer that was set for it: who can start earlier now does', async () => {
    const rig = new Rig(quotaOf(75, 60_000, { maxQueueDepth: 2, lowerShare: 0.5 }));
    await rig.drain();
    // One turn in two is the oldest waiter's: after the first start it is the batch call's.
    const batch = rig.call({ priority: 'batch', cost: 7 });
    const first = rig.call();
    await rig.to(1_000);
    const normal = rig.call();
    expect([first.startedMs, normal.state]).toEqual([1_000, 'waiting']);
    const urgent = rig.call({ priority: 'interactive' });
    await rig.to(60_000);
    expect(batch.result).toBe('RATE_LIMIT_QUEUE_FULL');
    expect(startsOf([first, normal, urgent])).toEqual([1_000, 2_000, 3_000]);
    await rig.rest();
  });
});

describe('A cost that is corrected after the call has settled', () => {
  it('counts once: a second correction changes nothing', async () => {
    const rig = new Rig(configS());
    let late: Call | undefined;
    rig.call({ cost: 5, fn: (call) => void (late = call) });
    await rig.settle();
    const permits = (): number | undefined => rig.snap().quotas[0]?.permits;
    expect(permits()).toBe(2);
    late?.settle(1);
    expect(permits()).toBe(6);
    late?.settle(7);
    late?.settle(0);
    expect(permits()).toBe(6);
    await rig.rest();
  });

  it('lets those start that wait for what comes back', async () => {
    const rig = new Rig(configS());
    let late: Call | undefined;
    rig.call({ cost: 7, fn: (call) => void (late = call) });
    await rig.settle();
    const waiters = rig.callMany(3);
    await rig.to(100);
    rig.watch.isLedgerBound = true;
    late?.settle(1);
    await rig.to(200);
    expect(waiters.map((call) => call.startedMs)).toEqual([100, 100, 100]);
    await rig.rest();
  });
});
