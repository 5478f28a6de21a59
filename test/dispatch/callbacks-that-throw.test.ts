import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDispatcher, type DispatcherOptions } from '../../src/dispatcher.ts';
import { ManualClock, recordEvents } from '../../src/testing.ts';
import { bare, configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { fateOf, ODD_THROWN } from './support/odd.ts';

/** Throws it, or rejects with it. */
const WAYS = ODD_THROWN.flatMap(([name, thrown]) => [
  {
    what: `throws ${name}`,
    act: (): void => {
      throw thrown;
    },
  },
  { what: `rejects with ${name}`, act: (): void => Promise.reject(thrown) as never },
]);

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

beforeEach(() => {
  process.on('unhandledRejection', note);
});
afterEach(() => {
  process.off('unhandledRejection', note);
  expect(unhandled.splice(0)).toHaveLength(0);
});

function stage(options: DispatcherOptions) {
  const clock = new ManualClock();
  const policy = { downstreams: { api: { maxConcurrent: 1 } } };
  const dispatcher = createDispatcher(policy, { alertSinks: [], env: {}, ...options, clock });
  return { clock, dispatcher, record: recordEvents(dispatcher) };
}

describe.each(WAYS)("Somebody else's code that $what harms nobody", ({ act }) => {
  it('as a listener: every event is heard by the others, the failure is told once', async () => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    rig.dispatcher.subscribe((event) => (event.type === 'started' ? act() : undefined));
    const calls = rig.callMany(3, { runMs: 10 });
    await rig.to(1_000);
    expect(calls.map((call) => [call.state, call.startedMs])).toEqual([0, 10, 20].map((ms) => ['fulfilled', ms]));
    const failures = rig.record.of('listener-failed');
    expect(failures).toHaveLength(3);
    expect(failures[0]).toMatchObject({ downstream: 'api', detail: expect.any(String) });
    await rig.rest();
  });

  it('as a listener that fails at the news of its own failure too: there is no end without an end', async () => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    rig.dispatcher.subscribe(() => act());
    const calls = rig.callMany(2);
    await rig.settle();
    expect(calls.map((call) => call.state)).toEqual(['fulfilled', 'fulfilled']);
    expect(rig.record.of('listener-failed')).toHaveLength(rig.record.events.length / 2);
    await rig.rest();
  });

  it('as onWait: the call starts at its time, each failure is told', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const call = rig.call({ onWait: () => act() });
    const next = rig.call();
    await rig.settle();
    const failures = rig.record.of('listener-failed');
    expect(failures).toMatchObject([{ downstream: 'api', detail: expect.stringMatching(/^onWait: /) }]);
    await rig.to(5_000);
    expect([call.startedMs, next.startedMs]).toEqual([1_000, 2_000]);
    await rig.rest();
  });

  it('as onAlert: the caller gets its own answer, the failure is told once', async () => {
    const { clock, dispatcher, record } = stage({ onAlert: () => act() });
    const answers = [1, 2].map(() =>
      fateOf(dispatcher.callDownstream('api', () => ({ status: 429, retryAfterMs: 1 }))),
    );
    await clock.advance(10_000);
    expect(answers.map(({ state }) => state)).toEqual(['fulfilled', 'fulfilled']);
    expect(record.of('listener-failed')).toMatchObject([{ detail: expect.stringMatching(/^onAlert: /) }]);
    expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ running: 0, queued: 0 });
    await dispatcher.close();
  });

  it('as a sink: the failure is told once, the alert waits for the next attempt', async () => {
    const { clock, dispatcher, record } = stage({ alertSinks: [{ name: 'pager', deliver: () => act() }] });
    dispatcher.report('api', { status: 429, retryAfterMs: 1 });
    await dispatcher.flush();
    expect(record.of('sink-failed')).toMatchObject([{ detail: expect.stringMatching(/^pager: failed/) }]);
    expect(dispatcher.snapshot().alerts.pending).toBe(1);
    const closing = dispatcher.close({ within: 1 });
    await clock.advance(10);
    expect(await closing).toMatchObject({ alertsDropped: { pager: 1 } });
  });

  it('as a classifier: the outcome is judged by its shape, the failure is told once', async () => {
    const { clock, dispatcher, record } = stage({ classify: { api: act as never } });
    const answers = [1, 2].map(() => fateOf(dispatcher.callDownstream('api', () => 'answer')));
    await clock.advance(10);
    expect(answers).toEqual(answers.map(() => ({ state: 'fulfilled', result: 'answer' })));
    expect(record.of('classifier-failed')).toHaveLength(1);
    expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ running: 0, totals: { settled: { success: 2 } } });
  });
});
