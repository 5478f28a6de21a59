import { describe, expect, it } from 'vitest';
import { isAdmissionError } from '../../src/base/errors.ts';
import {
  type DispatcherDouble,
  ManualClock,
  openDispatcher,
  type RefusalCode,
  recordEvents,
  refusingDispatcher,
} from '../../src/testing.ts';

describe('openDispatcher', () => {
  it('knows every name, runs every call at once and records it', async () => {
    const dispatcher = openDispatcher();
    const { callDownstream, acquire, wrap } = dispatcher;
    const many = Array.from({ length: 1_000 }, (_, n) => callDownstream('carrier', () => n, { tool: 'status' }));
    expect(await Promise.all(many)).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    expect(await callDownstream('__proto__', async ({ downstream, waitedMs }) => [downstream, waitedMs])).toEqual([
      '__proto__',
      0,
    ]);
    (await acquire('mail', { account: 'a' })).release();
    expect(
      await wrap(
        'search',
        (text: string) => text.length,
        (text) => ({ tool: text }),
      )('four'),
    ).toBe(4);
    expect(dispatcher.calls).toHaveLength(1_003);
    expect(dispatcher.calls.slice(-2)).toEqual([
      { downstream: 'mail', ctx: { account: 'a' } },
      { downstream: 'search', ctx: { tool: 'four' } },
    ]);
    expect(dispatcher.names().sort()).toEqual(['__proto__', 'carrier', 'mail', 'search']);
  });

  it('never runs fn before the call has returned, and passes on what it throws', async () => {
    const { callDownstream } = openDispatcher();
    let hasRun = false;
    const boom = new Error('boom');
    const call = callDownstream('carrier', () => {
      hasRun = true;
      throw boom;
    });
    expect(hasRun).toBe(false);
    await expect(call).rejects.toBe(boom);
  });

  it('records the merged context of with(), in the same list', async () => {
    const dispatcher = openDispatcher();
    const scoped: DispatcherDouble = dispatcher.with({ runId: 'r' }) as DispatcherDouble;
    await scoped.with({ tool: 'a' }).callDownstream('carrier', () => 1, { tool: 'b' });
    expect(dispatcher.calls).toEqual([{ downstream: 'carrier', ctx: { runId: 'r', tool: 'b' } }]);
    expect(scoped.calls).toBe(dispatcher.calls);
  });

  it('keeps to signals and to deadlines on its clock', async () => {
    const clock = new ManualClock();
    const { callDownstream } = openDispatcher({ clock });
    await expect(callDownstream('x', () => 1, { signal: AbortSignal.abort('gone') })).rejects.toBe('gone');
    const past = callDownstream('x', () => 1, { deadline: clock.wallNow() - 1 });
    await expect(past).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'entry' });
    expect(await callDownstream('x', ({ remainingMs }) => remainingMs, { deadline: clock.wallNow() + 5 })).toBe(5);
  });

  it('a 429 holds nothing; a pause, a forecast, require() and register() are no trouble', async () => {
    const dispatcher = openDispatcher();
    dispatcher.require(['a', 'b']);
    dispatcher.register('c', { quota: '1/hour' });
    dispatcher.report('d', { status: 429 });
    await dispatcher.callDownstream('e', () => ({
      status: 429,
      headers: new Headers({ 'retry-after': '60' }),
    }));
    await dispatcher.callDownstream('e', () => 'still open');
    expect(dispatcher.forecast('f', { calls: 100 })).toMatchObject({ lastStartInMs: 0, fits: 100 });
    expect(dispatcher.names().sort()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('delivers events like any dispatcher', async () => {
    const dispatcher = openDispatcher();
    const record = recordEvents(dispatcher);
    await dispatcher.callDownstream('a', () => 1);
    expect([record.starts.length, record.ends[0]?.outcome, record.faults]).toEqual([1, 'success', []]);
    await dispatcher.close();
    await expect(dispatcher.callDownstream('a', () => 1)).rejects.toMatchObject({
      code: 'DISPATCHER_CLOSED',
    });
  });
});

describe('refusingDispatcher', () => {
  const codes: [RefusalCode, string, boolean][] = [
    ['DEADLINE_EXCEEDED', 'DeadlineExceeded', true],
    ['RATE_LIMIT_QUEUE_FULL', 'QueueFull', true],
    ['RATE_LIMIT_QUEUE_TIMEOUT', 'QueueTimeout', true],
    ['RATE_LIMITED', 'DownstreamPaused', true],
    ['COST_EXCEEDS_QUOTA', 'CostExceedsQuota', false],
    ['UNKNOWN_DOWNSTREAM', 'UnknownDownstream', false],
    ['INVALID_CALL', 'InvalidCall', false],
    ['DISPATCHER_CLOSED', 'DispatcherClosed', false],
  ];

  it.each(codes)('%s: every way in rejects with it, and fn never runs', async (code, name, retryable) => {
    const dispatcher = refusingDispatcher(code);
    let runs = 0;
    const fn = (): number => ++runs;
    const errors = await Promise.all(
      [
        dispatcher.callDownstream('carrier', fn, { tool: 't', runId: 'r' }),
        dispatcher.acquire('carrier'),
        dispatcher.wrap('carrier', fn)(),
        dispatcher.with({ runId: 'r' }).callDownstream('carrier', fn),
      ].map((call) =>
        call.then(
          () => 'resolved',
          (error: unknown) => error,
        ),
      ),
    );
    for (const error of errors) {
      expect(isAdmissionError(error)).toBe(true);
      expect(error).toMatchObject({ code, name, downstream: 'carrier', started: false, retryable });
    }
    expect(errors[0]).toMatchObject({ tool: 't', runId: 'r' });
    expect(new Set(errors).size).toBe(4);
    expect([runs, dispatcher.calls.length]).toEqual([0, 4]);
  });

  it('carries the facts that the test gives', async () => {
    const clock = new ManualClock({ wallMs: 1_000_000_000_000 });
    const { callDownstream } = refusingDispatcher('DEADLINE_EXCEEDED', {
      clock,
      retryAfterMs: 60_000,
      expectedWaitMs: 90_000,
      limitedBy: 'hold',
      phase: 'waiting',
    });
    await expect(callDownstream('carrier', () => 1)).rejects.toMatchObject({
      retryAfterMs: 60_000,
      retryAt: 1_000_000_060_000,
      expectedWaitMs: 90_000,
      limitedBy: 'hold',
      phase: 'waiting',
      message: 'carrier: refused, as the test wants it (DEADLINE_EXCEEDED).',
    });
  });
});
