import { describe, expect, it } from 'vitest';
import { configF, configS, quotaOf } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

describe('Cancellation', () => {
  it('B67: aborted waiters use up no permit of those behind them', async () => {
    const rig = new Rig(configF());
    await rig.drain();
    const all = new AbortController();
    const dead = rig.callMany(10, { signal: all.signal });
    const alive = rig.call();
    await rig.to(10);
    all.abort();
    await rig.to(2_000);
    expect(dead.map((call) => [call.endedMs, call.runs, call.error])).toEqual(
      dead.map(() => [10, 0, all.signal.reason]),
    );
    expect(alive.startedMs).toBe(125);
    await rig.rest();
  });

  it.each(['a full queue', 'free permits', 'a paused lane'])(
    'B68: a signal already aborted, with %s',
    async (state) => {
      const rig = new Rig(configS(state === 'a full queue' ? { maxConcurrent: 1, maxQueueDepth: 1 } : {}));
      if (state === 'a full queue') rig.callMany(2, { runMs: 10 });
      await rig.settle();
      if (state === 'a paused lane') rig.dispatcher.pause('api', { for: '1h' });
      const { queued, running, quotas } = rig.snap();
      const call = rig.call({ signal: AbortSignal.abort('gone') });
      await rig.settle();
      expect([call.endedMs, call.error, call.runs]).toEqual([0, 'gone', 0]);
      expect(rig.snap()).toMatchObject({ queued, running, quotas });
      rig.dispatcher.resume('api');
      await rig.by(60_000);
      await rig.rest();
    },
  );

  it('B70: an abort leaves no timer behind', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const all = new AbortController();
    rig.callMany(6, { signal: all.signal });
    await rig.to(500);
    expect(rig.clock.pendingTimers).toBe(1);
    all.abort();
    expect(rig.clock.pendingTimers).toBe(0);
    await rig.by(60_000);
    expect(rig.starts()).toEqual([]);
    await rig.rest();
  });

  it.each([
    ['no reason', undefined],
    ['an error', new TypeError('not today')],
    ['a text', 'stopped'],
  ])('B71: an abort with %s rejects with that very reason, queued or running', async (_, reason) => {
    const rig = new Rig(quotaOf(1, 1_000, { utilization: 1 }));
    const abort = new AbortController();
    const running = rig.call({ signal: abort.signal, fn: ({ signal }) => untilAborted(signal) });
    const queued = rig.call({ signal: abort.signal });
    await rig.to(100);
    if (reason === undefined) abort.abort();
    else abort.abort(reason);
    await rig.settle();
    expect([running.error, queued.error]).toEqual([abort.signal.reason, abort.signal.reason]);
    expect(running.error).toBe(queued.error);
    if (reason === undefined) expect((queued.error as Error).name).toBe('AbortError');
    expect(rig.record.ends.map((end) => [end.type, end.started])).toEqual(
      expect.arrayContaining([
        ['aborted', true],
        ['aborted', false],
      ]),
    );
    await rig.rest();
  });

  it('B73: an aborted waiter gives its place in the queue back at once', async () => {
    const rig = new Rig(configS({ maxQueueDepth: 1 }));
    await rig.drain();
    const abort = new AbortController();
    const first = rig.call({ signal: abort.signal });
    abort.abort();
    const second = rig.call();
    await rig.to(1_000);
    expect([first.state, second.startedMs]).toEqual(['rejected', 1_000]);
    await rig.rest();
  });

  it('B73: the queue counts right after every one of 10,000 arrivals and aborts', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const open: AbortController[] = [];
    let seed = 7;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    for (let step = 0; step < 10_000; step += 1) {
      if (open.length > 0 && random() < 0.5) {
        open.splice(Math.floor(random() * open.length), 1)[0]!.abort();
      } else {
        const abort = new AbortController();
        open.push(abort);
        rig.call({ signal: abort.signal });
      }
      if (step % 100 === 0) await rig.settle();
      if (step % 100 === 0) expect(rig.snap().queued).toBe(open.length);
    }
    for (const abort of open) abort.abort();
    await rig.settle();
    expect([rig.snap().queued, rig.starts()]).toEqual([0, []]);
    await rig.rest();
  });

  it('B77: a call that expires in the queue leaks no place', async () => {
    const rig = new Rig(quotaOf(1_000, 1_000, { maxConcurrent: 1 }));
    for (let round = 0; round < 1_000; round += 1) {
      rig.zero();
      const first = rig.call({ runMs: 500 });
      const expires = rig.call({ deadlineIn: 100 });
      await rig.to(600);
      const next = rig.call();
      await rig.settle();
      expect([first.state, expires.result, expires.endedMs]).toEqual(['fulfilled', 'DEADLINE_EXCEEDED', 100]);
      expect([next.startedMs, expires.runs, rig.snap().running]).toEqual([600, 0, 0]);
    }
    await rig.rest();
  });
});

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
