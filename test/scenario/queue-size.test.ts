import { describe, expect, it } from 'vitest';
import { FakeDownstream } from '../../src/testing.ts';
import { configS, quotaOf } from '../support/configs.ts';
import { tally } from '../support/made.ts';
import { Rig } from '../support/rig.ts';

const NAMES = ['__proto__', 'constructor', 'toString', 'a'.repeat(10_000)];

describe('Size and names', () => {
  it('B92: whatever does not fit in the queue is refused in the turn it was made', async () => {
    const rig = new Rig(configS({ maxQueueDepth: 1_000 }));
    const calls = rig.callMany(50_000);
    await rig.settle();
    expect(tally(calls)).toEqual({ fulfilled: 7, waiting: 1_000, RATE_LIMIT_QUEUE_FULL: 48_993 });
    const refusal = calls.at(-1)!.refusal;
    expect(refusal.expectedWaitMs).toBeCloseTo(1_001_000, 3);
    expect(refusal).toMatchObject({ retryable: true, started: false });
    await rig.to(1_000_000);
    expect(tally(calls)).toEqual({ fulfilled: 1_007, RATE_LIMIT_QUEUE_FULL: 48_993 });
    await rig.rest();
  });

  it('B99: close() refuses who waits, lets who runs finish, and is once', async () => {
    const rig = new Rig(configS({ maxConcurrent: 1 }));
    const running = rig.call({ runMs: 1_000 });
    const waiting = rig.callMany(3);
    await rig.settle();
    rig.watch.otherTimers = 1;
    const closing = [rig.dispatcher.close(), rig.dispatcher.close()];
    await rig.settle();
    expect(tally(waiting)).toEqual({ DISPATCHER_CLOSED: 3 });
    const late = rig.call();
    await rig.settle();
    expect([late.result, running.state]).toEqual(['DISPATCHER_CLOSED', 'running']);
    await rig.to(1_000);
    expect(running.state).toBe('fulfilled');
    const [first, second] = await Promise.all(closing);
    expect(second).toEqual(first);
    expect(rig.clock.pendingTimers).toBe(0);
    await rig.rest();
  });

  it('B101: accounts that are idle are forgotten, odd names are ordinary, the empty one is an error', async () => {
    const rig = new Rig(quotaOf(60, 60_000, { maxAccounts: 1_000 }));
    for (let n = 0; n < 100_000; n += 1) {
      rig.call({ account: `customer ${n}` });
      if (n % 500 === 499) await rig.clock.advance(2_000);
    }
    expect(rig.snap().accounts).toBeLessThanOrEqual(1_000);
    expect(tally(rig.calls)).toEqual({ fulfilled: 100_000 });
    for (const account of NAMES) {
      await rig.clock.advance(60_000);
      const calls = Array.from({ length: 7 }, () => rig.call({ account }));
      await rig.settle();
      expect(tally(calls)).toEqual({ fulfilled: 6, waiting: 1 });
    }
    const nameless = rig.call({ account: '' });
    await rig.settle();
    expect(nameless.refusal.code).toBe('INVALID_CALL');
    expect(Object.keys(Object.prototype)).toEqual([]);
    await rig.clock.advance(3_600_000);
    await rig.rest();
  });

  it('B101: odd names of downstreams are ordinary', async () => {
    const rig = new Rig(Object.fromEntries(NAMES.map((name) => [name, configS()])));
    for (const to of NAMES.filter((name) => rig.dispatcher.names().includes(name))) {
      const calls = Array.from({ length: 8 }, () => rig.call({ to }));
      await rig.settle();
      expect(tally(calls)).toEqual({ fulfilled: 7, waiting: 1 });
    }
    for (const name of ['__proto__', 'hasOwnProperty']) {
      if (!rig.dispatcher.names().includes(name)) rig.dispatcher.register(name, configS().policy);
      const call = rig.call({ to: name });
      await rig.settle();
      expect(['fulfilled', 'waiting']).toContain(call.state);
    }
    await rig.to(10_000);
    await rig.rest();
  });

  it('B103: a lane that is drained, held or waited in is never forgotten and made anew', async () => {
    const rig = new Rig(configS({ maxAccounts: 2 }));
    const drained = Array.from({ length: 12 }, () => rig.call({ account: 'drained' }));
    await rig.settle();
    for (let atMs = 500; atMs < 5_000; atMs += 100) {
      await rig.to(atMs);
      rig.call({ account: `other ${atMs}` });
      await rig.settle();
    }
    await rig.to(5_000);
    const starts = drained.map((call) => call.startedMs);
    expect(starts).toEqual([0, 0, 0, 0, 0, 0, 0, 1_000, 2_000, 3_000, 4_000, 5_000]);
    const refused = rig.calls.filter((call) => call.state === 'rejected');
    expect(refused.every((call) => call.result === 'RATE_LIMIT_QUEUE_FULL')).toBe(true);
    await rig.by(60_000);
    await rig.rest();
  });

  it('B105: a mistyped name is refused and the nearest one named', async () => {
    const rig = new Rig({ carrier: configS() });
    const call = rig.call({ to: 'carier' });
    await rig.settle();
    expect(call.refusal).toMatchObject({ code: 'UNKNOWN_DOWNSTREAM', started: false, retryable: false });
    expect(call.refusal.message).toContain('carrier');
    expect(() => rig.dispatcher.require(['carrier', 'carier', 'mail'])).toThrow(/carier[\s\S]*mail/);
    await rig.rest();
  });

  it('B105: every way in is counted in the same totals', async () => {
    const rig = new Rig({ api: configS(), open: { policy: {}, declares: [] } });
    let runs = 0;
    const fn = (): number => ++runs;
    const { dispatcher } = rig;
    await dispatcher.callDownstream('api', fn);
    await dispatcher.callDownstream('open', fn);
    await dispatcher.callDownstream('api', fn, { cost: 0 });
    await dispatcher.callDownstream('api', fn, { priority: 'batch' });
    await dispatcher.callDownstream('api', async (call) => {
      await call.run(fn);
      return fn();
    });
    await dispatcher.with({ tool: 'x' }).callDownstream('api', fn);
    await dispatcher.wrap('api', fn)();
    const lease = await dispatcher.acquire('api');
    fn();
    lease.release();
    await rig.settle();
    const total = rig.snap('api').totals.started + rig.snap('open').totals.started;
    expect([runs, total]).toEqual([9, 9]);
    await rig.rest({ otherCalls: 9 });
  });

  it('B106: a fan-out of fan-outs meets no 429, and who cannot make it is told at once', async () => {
    const rig = new Rig(configS({ maxConcurrent: 10 }));
    const server = new FakeDownstream({ clock: rig.clock, limit: 75, windowMs: 60_000 });
    let inFlight = 0;
    let most = 0;
    const fn = async (): Promise<Response> => {
      most = Math.max(most, ++inFlight);
      await rig.sleep(700);
      inFlight -= 1;
      return server.call();
    };
    const calls = Array.from({ length: 142 * 20 }, (_, n) =>
      rig.call({
        fn,
        runId: `run ${n % 142}`,
        tool: ['find', 'read', 'list'][n % 3],
        ...(n % 2 === 0 && { deadlineIn: 60_000 }),
      }),
    );
    await rig.settle();
    const refused = calls.filter((call) => call.state === 'rejected');
    expect(refused.length).toBeGreaterThan(1_300);
    expect(refused.every((call) => call.endedMs === 0 && call.result === 'DEADLINE_EXCEEDED')).toBe(true);
    await rig.to(3_000_000);
    expect(calls.every((call) => call.isSettled)).toBe(true);
    expect([server.count({ status: 429 }), most <= 10]).toEqual([0, true]);
    expect(server.maxInAnyWindow(60_000)).toBeLessThanOrEqual(75);
    await rig.rest();
  });
});
