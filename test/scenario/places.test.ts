import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import { bare, configS, quotaOf } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

describe('Places', () => {
  it('B94: nested calls run in the place of the call around them', async () => {
    const rig = new Rig(bare({ maxConcurrent: 2 }));
    const inner: unknown[] = [];
    const outer = Array.from({ length: 2 }, () =>
      rig.call({
        fn: async (call) => {
          inner.push(await call.run(() => rig.sleep(10).then(() => 'inner')));
          return 'outer';
        },
      }),
    );
    await rig.to(10);
    expect(outer.map((call) => [call.state, call.value])).toEqual(outer.map(() => ['fulfilled', 'outer']));
    expect(inner).toEqual(['inner', 'inner']);
    expect(rig.snap().totals.started).toBe(4);
    await rig.rest({ otherCalls: 2 });
  });

  it('B94: nested calls that take places of their own are refused in the end, and somebody is told', async () => {
    const rig = new Rig(bare({ maxConcurrent: 2 }));
    const outer = Array.from({ length: 2 }, () =>
      rig.call({ fn: () => rig.dispatcher.callDownstream('api', () => 'inner') }),
    );
    await rig.to(29_999);
    expect(outer.map((call) => call.state)).toEqual(['running', 'running']);
    expect(rig.clock.pendingTimers).toBe(1);
    await rig.to(31_000);
    expect(rig.alerts.map((alert) => alert.name)).toContain('LaneStalled');
    expect(outer.every((call) => call.state === 'rejected')).toBe(true);
    await rig.rest({ otherCalls: 2 });
  });

  it('B94: nested calls with a deadline end at it', async () => {
    const rig = new Rig(bare({ maxConcurrent: 2 }));
    const outer = Array.from({ length: 2 }, () =>
      rig.call({
        fn: () => rig.dispatcher.callDownstream('api', () => 'inner', { deadline: rig.clock.wallNow() + 5_000 }),
      }),
    );
    await rig.to(5_000);
    expect(outer.map((call) => call.result)).toEqual(['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED']);
    await rig.rest({ otherCalls: 2 });
  });

  it('B95: each fn, and what follows the call, sees the async context of its own caller', async () => {
    const rig = new Rig(configS({ maxConcurrent: 2 }));
    await rig.drain();
    const store = new AsyncLocalStorage<number>();
    let matches = 0;
    const callers = Array.from({ length: 100 }, (_, n) =>
      store.run(n, async () => {
        const call = rig.call({
          runMs: 100,
          fn: async () => {
            if (store.getStore() === n) matches += 1;
            await rig.sleep(100);
            if (store.getStore() === n) matches += 1;
          },
        });
        await call.promise;
        if (store.getStore() === n) matches += 1;
      }),
    );
    await rig.to(20_000);
    rig.dispatcher.pause('api', { for: '20s' });
    await rig.to(200_000);
    await Promise.all(callers);
    expect(matches).toBe(300);
    await rig.rest();
  });

  it('B97: a place is given back by a throw, a rejection, an abort, and by a hang after its grace', async () => {
    const rig = new Rig(bare({ maxConcurrent: 2 }));
    const abort = new AbortController();
    const boom = new Error('boom');
    const failing = [
      rig.call({
        fn: () => {
          throw boom;
        },
      }),
      rig.call({ fn: () => Promise.reject(boom) }),
    ];
    await rig.settle();
    const aborted = rig.call({
      signal: abort.signal,
      fn: ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    await rig.settle();
    abort.abort();
    await rig.settle();
    expect([...failing, aborted].map((call) => call.error)).toEqual([boom, boom, abort.signal.reason]);
    expect(rig.snap().running).toBe(0);

    const hangs = rig.call({ deadlineIn: 1_000, fn: () => new Promise(() => undefined) });
    const normal = Array.from({ length: 10 }, () => rig.call({ runMs: 5_000 }));
    await rig.to(1_000);
    expect([hangs.result, hangs.endedMs]).toEqual(['DEADLINE_EXCEEDED', 1_000]);
    expect(rig.snap()).toMatchObject({ running: 2, overdue: 1, orphaned: 0 });
    await rig.to(31_000);
    expect(rig.snap()).toMatchObject({ overdue: 0, orphaned: 1 });
    await rig.to(60_000);
    expect(normal.every((call) => call.state === 'fulfilled')).toBe(true);
    await rig.rest();
  });

  it('B97: a late outcome gives an orphan back once', async () => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    rig.call({ deadlineIn: 1_000, runMs: 40_000 });
    rig.call({ deadlineIn: 100_000, runMs: 60_000 });
    await rig.to(41_000);
    expect(rig.snap()).toMatchObject({ running: 1, orphaned: 0 });
    await rig.to(100_000);
    await rig.rest();
  });

  it('idempotent release(): a lease given back twice counts once', async () => {
    const rig = new Rig(bare({ maxConcurrent: 2 }));
    const first = await rig.dispatcher.acquire('api');
    await rig.dispatcher.acquire('api');
    first.release();
    first.release();
    expect(rig.snap().running).toBe(1);
    const third = await rig.dispatcher.acquire('api');
    const fourth = rig.call();
    await rig.settle();
    expect(fourth.state).toBe('waiting');
    first[Symbol.dispose]();
    await rig.settle();
    expect(fourth.state).toBe('waiting');
    third.release();
    await rig.settle();
    expect(fourth.state).toBe('fulfilled');
  });

  it('1,000 calls that hang: each next one starts within the grace of the last one’s end', async () => {
    const rig = new Rig(quotaOf(1_000, 1_000, { maxConcurrent: 1 }));
    const starts: number[] = [];
    const ends: number[] = [];
    while (starts.length < 1_000) {
      const call = rig.call({
        deadlineIn: 1_000,
        fn: ({ remainingMs }) => {
          starts.push(rig.t);
          ends.push(rig.t + remainingMs!);
          return new Promise(() => undefined);
        },
      });
      await rig.clock.advance(1_001);
      // Whoever has lost a place does not ask all the time.
      if (call.runs === 1) await rig.clock.advance(28_000);
      expect(call.result).toBe('DEADLINE_EXCEEDED');
    }
    const gaps = starts.slice(1).map((ms, n) => ms - ends[n]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(30_000 - 0.001);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(30_000 + 0.01);
    expect(rig.snap().totals.started).toBe(1_000);
    await rig.by(60_000);
    expect(rig.snap()).toMatchObject({ running: 0, overdue: 0, orphaned: 1_000 });
    await rig.rest();
  });
});
