import { describe, expect, it } from 'vitest';
import type { DispatcherEvent } from '../../src/base/events.ts';
import { bare, configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { fateOf } from './support/odd.ts';

/** Does something whenever an event of that type is heard. */
function on(rig: Rig, type: DispatcherEvent['type'], act: () => void): void {
  rig.dispatcher.subscribe((event) => {
    if (event.type === type) act();
  });
}

describe('A listener that makes room for the call it hears of', () => {
  it('lets the waiter start when it gives back the place', async () => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    const lease = await rig.dispatcher.acquire('api');
    on(rig, 'queued', () => lease.release());
    const calls = rig.callMany(2);
    await rig.settle();
    expect(calls.map((call) => call.startedMs)).toEqual([0, 0]);
    await rig.rest({ otherCalls: 1 });
  });

  it('lets the waiter start when it ends the pause', async () => {
    const rig = new Rig(configS());
    rig.dispatcher.pause('api', { for: '10s' });
    on(rig, 'queued', () => rig.dispatcher.resume('api'));
    const call = rig.call();
    await rig.settle();
    expect(call.startedMs).toBe(0);
    await rig.rest();
  });

  it('lets the waiter start when it registers the downstream as unlimited', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    on(rig, 'queued', () => void rig.dispatcher.register('api', { unlimited: true }));
    const call = rig.call();
    await rig.settle();
    expect(call.startedMs).toBe(0);
    await rig.rest();
  });
});

describe('A listener that aborts the call it hears of', () => {
  it('from the settled event of a missed deadline: the call ends once, and is overdue no longer than it runs', async () => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    const run = new AbortController();
    on(rig, 'settled', () => run.abort(new Error('the run is over')));
    const call = rig.call({ signal: run.signal, deadlineIn: 50, runMs: 100 });
    await rig.to(60);
    expect([call.result, call.endedMs, rig.snap().overdue]).toEqual(['DEADLINE_EXCEEDED', 50, 1]);
    await rig.to(100);
    expect(rig.snap()).toMatchObject({ running: 0, overdue: 0, orphaned: 0, totals: { started: 1, aborted: 0 } });
    await rig.rest();
  });

  it.each([
    ['at once', false],
    ['after it has waited', true],
  ])('from its started event, %s: fn does not run, the caller is rejected, the place comes back', async (_, waits) => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    if (waits) rig.call({ runMs: 1_000 });
    await rig.settle();
    const run = new AbortController();
    const reason = new Error('the run is over');
    on(rig, 'started', () => run.abort(reason));
    const call = rig.call({ signal: run.signal, runMs: 60_000 });
    const next = rig.call();
    await rig.to(1_000);
    expect(call).toMatchObject({ runs: 0, state: 'rejected', error: reason });
    expect(next.startedMs).toBe(waits ? 1_000 : 0);
    await rig.rest();
  });

  it('from the started event of a lease: whoever asked for it is rejected, the place comes back', async () => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    const run = new AbortController();
    on(rig, 'started', () => run.abort('the run is over'));
    const lease = fateOf(rig.dispatcher.acquire('api', { signal: run.signal }));
    const next = rig.call();
    await rig.settle();
    expect(lease).toEqual({ state: 'rejected', result: 'the run is over' });
    expect([next.startedMs, rig.snap().running]).toEqual([0, 0]);
    await rig.rest({ otherCalls: 1 });
  });

  it('from the refused event of another waiter of its run: each of them ends once', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const run = new AbortController();
    on(rig, 'refused', () => run.abort('the run is over'));
    const first = rig.call({ signal: run.signal, deadlineIn: 5_000 });
    const second = rig.call({ signal: run.signal, deadlineIn: 5_000 });
    const other = rig.call();
    rig.dispatcher.pause('api', { for: '20s' });
    await rig.to(60_000);
    expect([first.result, second.result, other.startedMs]).toEqual(['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED', 20_000]);
    await rig.rest();
  });
});

describe('A listener that closes when it hears of a refusal', () => {
  it('gets the promise of the close that refused, and everybody is refused once', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const closings: Promise<unknown>[] = [];
    on(rig, 'refused', () => closings.push(rig.dispatcher.close()));
    const waiters = rig.callMany(3);
    const closing = rig.dispatcher.close();
    await rig.by(20_000);
    expect(closings).toHaveLength(3);
    expect(closings.every((other) => other === closing)).toBe(true);
    expect(await closing).toMatchObject({ refused: 3, abandoned: 0 });
    expect(waiters.map((call) => call.result)).toEqual(waiters.map(() => 'DISPATCHER_CLOSED'));
    await rig.rest();
  });
});
