import { expect, test, vi } from 'vitest';
import type { Alert } from '../../src/base/alert.ts';
import type { CallEvent, DispatcherEvent } from '../../src/base/events.ts';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../../src/dispatcher.ts';
import type { PolicyInput } from '../../src/policy/input.ts';
import { ManualClock } from '../../src/testing.ts';

interface Bench {
  readonly clock: ManualClock;
  readonly dispatcher: Dispatcher;
  readonly events: DispatcherEvent[];
  readonly alerts: Alert[];
  readonly of: (type: string) => CallEvent[];
}

function bench(policy: PolicyInput, options: DispatcherOptions = {}): Bench {
  const clock = new ManualClock();
  const alerts: Alert[] = [];
  const dispatcher = createDispatcher(policy, {
    clock,
    alertSinks: [],
    env: {},
    onAlert: (alert) => alerts.push(alert),
    ...options,
  });
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  return { clock, dispatcher, events, alerts, of: (type) => events.filter((one) => one.type === type) as CallEvent[] };
}

const api = (more: PolicyInput['downstreams'][string]): PolicyInput => ({ downstreams: { api: more } });
const THROTTLED = { status: 429, headers: { 'retry-after': '30' } };

test('observe: every call starts at once, in its own order, and never before callDownstream has returned', async () => {
  const { dispatcher, clock, of } = bench(api({ quota: '60/minute', maxConcurrent: 1, mode: 'observe' }));
  const started: number[] = [];
  const calls = Array.from({ length: 50 }, (_, n) =>
    dispatcher.callDownstream('api', (call) => {
      started.push(n);
      return call.waitedMs;
    }),
  );
  expect(started).toEqual([]);
  await clock.advance(0);
  expect(started).toEqual([...calls.keys()]);
  expect(await Promise.all(calls)).toEqual(calls.map(() => 0));
  expect(of('refused')).toEqual([]);
  await clock.advance(70_000);
  expect(of('would-start')).toHaveLength(50);
  expect(of('would-start').map((event) => event.callId)).toEqual(of('started').map((event) => event.callId));
});

test('observe: the snapshot and the forecast are those of the lane as it would be; what runs is what runs', async () => {
  const { dispatcher, clock } = bench(api({ quota: '60/minute', mode: 'observe' }));
  for (let n = 0; n < 20; n++) void dispatcher.callDownstream('api', () => new Promise(() => undefined));
  await clock.advance(0);
  const [snap] = dispatcher.snapshot().downstreams;
  expect(snap).toMatchObject({ mode: 'observe', running: 20, queued: 14 });
  expect(snap!.totals).toMatchObject({ calls: 20, started: 20, refused: {} });
  expect(snap!.expectedWaitMs).toBeGreaterThan(17_000);
  expect(dispatcher.forecast('api').firstStartInMs).toBeCloseTo(snap!.expectedWaitMs);
});

test('observe: what is wrong with a call is reported, and the call runs', async () => {
  const { dispatcher, clock, of } = bench(
    api({ quota: ['60/minute', '5000 tokens/minute'], defaultCost: { tokens: 10 }, mode: 'observe', maxAccounts: 1 }),
  );
  const wrong: unknown[] = [
    { deadline: Number.NaN },
    { deadline: clock.wallNow() - 5 },
    { priority: 'urgent', runId: 'r1' },
    { cost: { tokens: 900_000 } },
    { cost: { tokens: -1 } },
    { account: '' },
    { signal: 'stop' },
    { timeout: 5 },
    'text',
    [],
    new Map(),
    {
      get tool() {
        throw new Error('mine');
      },
    },
    { account: 'a' },
    { account: 'b' },
  ];
  const answers = await Promise.all(wrong.map((ctx) => dispatcher.callDownstream('api', () => 'ran', ctx as never)));
  expect(answers).toEqual(wrong.map(() => 'ran'));
  await clock.advance(1);
  expect(of('refused')).toEqual([]);
  const codes = of('would-refuse').map(({ code }) => code);
  expect(codes.filter((code) => code === 'INVALID_CALL')).toHaveLength(10);
  expect(codes).toContain('DEADLINE_EXCEEDED');
  expect(codes).toContain('COST_EXCEEDS_QUOTA');
  expect(codes).toContain('RATE_LIMIT_QUEUE_FULL');
  expect(of('would-refuse').find(({ runId }) => runId === 'r1')).toMatchObject({ code: 'INVALID_CALL' });
});

test.each(['observe', 'off'] as const)(
  '%s: a signal that has fired and a dispatcher that is closed still reject',
  async (mode) => {
    const { dispatcher, clock, of } = bench(api({ quota: '60/minute', mode }));
    const fn = vi.fn();
    await expect(dispatcher.callDownstream('api', fn, { signal: AbortSignal.abort('no') })).rejects.toBe('no');
    await expect(dispatcher.callDownstream('api', 'no function' as never)).rejects.toMatchObject({
      code: 'INVALID_CALL',
    });
    await expect(dispatcher.callDownstream('ap' as never, fn)).rejects.toMatchObject({ code: 'UNKNOWN_DOWNSTREAM' });
    await dispatcher.close();
    await expect(dispatcher.callDownstream('api', fn)).rejects.toMatchObject({ code: 'DISPATCHER_CLOSED' });
    await clock.advance(1);
    expect(fn).not.toHaveBeenCalled();
    expect([...of('would-start'), ...of('would-refuse')]).toEqual([]);
  },
);

test('observe: a deadline that comes while fn runs ends it; maxRun does not', async () => {
  const { dispatcher, clock } = bench(api({ quota: '60/minute', maxRun: '1s', mode: 'observe' }));
  const never = (): Promise<never> => new Promise(() => undefined);
  const bound = dispatcher.callDownstream('api', never, { deadline: clock.wallNow() + 2_000 });
  const free = dispatcher.callDownstream(
    'api',
    () => new Promise((resolve) => void clock.setTimer(9_000, () => resolve(1))),
  );
  const rejected = expect(bound).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED', started: true });
  await clock.advance(10_000);
  await rejected;
  expect(await free).toBe(1);
});

test('observe: a 429 raises its alert, claims no hold, and counts what has really started', async () => {
  const { dispatcher, clock, alerts, events, of } = bench(api({ quota: '60/minute', mode: 'observe' }));
  for (let n = 0; n < 100; n++) await dispatcher.callDownstream('api', () => ({ status: 200, headers: {} }));
  await dispatcher.callDownstream('api', () => THROTTLED, { tool: 'look' });
  await clock.advance(1);
  expect(alerts).toHaveLength(1);
  expect(alerts[0]).toMatchObject({
    name: 'QuotaModelWrong',
    action: { kind: 'none' },
    impact: { waiting: 0, refused: 0 },
    tool: 'look',
  });
  expect(alerts[0]!.observed.windows.find(({ windowMs }) => windowMs === 60_000)).toMatchObject({ starts: 101 });
  expect(events.filter(({ type }) => type === 'held')).toEqual([]);
  const [snap] = dispatcher.snapshot().downstreams;
  expect(snap).toMatchObject({ inARow: 1, totals: { throttled: 1 } });
  expect(snap!.holds).toHaveLength(1);
  expect(snap!.incidentId).toBe(alerts[0]!.incident.id);
  // Its hold is in the books: nothing would start before it ends.
  await dispatcher.callDownstream('api', () => ({ status: 200, headers: {} }), { deadline: clock.wallNow() + 10_000 });
  expect(of('would-refuse')).toHaveLength(1);
});

test('observe: 429s of calls that would have been held belong to one incident, as under enforce', async () => {
  const { dispatcher, clock, alerts } = bench(api({ quota: '60/minute', mode: 'observe' }));
  for (let n = 0; n < 10; n++) {
    await dispatcher.callDownstream('api', () => THROTTLED);
    await clock.advance(100);
  }
  expect(new Set(alerts.map(({ incident }) => incident.id)).size).toBe(1);
  expect(alerts).toHaveLength(10);
});

test('off: nothing waits, is held or told beside the call itself; a 429 still raises its alert', async () => {
  const { dispatcher, clock, alerts, events, of } = bench(api({ quota: '2/minute', maxConcurrent: 1, mode: 'off' }));
  const calls = Array.from({ length: 30 }, () => dispatcher.callDownstream('api', () => THROTTLED));
  await clock.advance(0);
  await Promise.all(calls);
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['started', 'settled', 'alert']));
  expect(of('settled')).toHaveLength(30);
  expect(alerts.length).toBeGreaterThan(0);
  expect(alerts.every(({ action }) => action.kind === 'none')).toBe(true);
  const [snap] = dispatcher.snapshot().downstreams;
  expect(snap).toMatchObject({ mode: 'off', queued: 0, expectedWaitMs: 0, isPaused: false, holds: [] });
  expect(snap!.totals).toMatchObject({ calls: 30, started: 30, throttled: 30 });
});

test.each(['observe', 'off'] as const)('%s: whoever waits is let go at once, with what it has waited', async (mode) => {
  const { dispatcher, clock, events, of } = bench(api({ quota: '60/minute' }));
  const waits: number[] = [];
  for (let n = 0; n < 40; n++)
    void dispatcher.callDownstream('api', (call) => waits.push(call.waitedMs), { runId: `${n}` });
  await clock.advance(3_000);
  expect(waits.length).toBeLessThan(12);
  dispatcher.setMode(mode);
  expect(events.at(-1)).toMatchObject({
    type: 'policy-changed',
    changes: [{ downstream: 'api', path: 'mode', from: 'enforce', to: mode }],
  });
  await clock.advance(0);
  expect(waits).toHaveLength(40);
  expect(waits.filter((ms) => ms === 3_000)).not.toHaveLength(0);
  expect(new Set(of('settled').map(({ callId }) => callId)).size).toBe(40);
  await clock.advance(120_000);
  const would = of('would-start');
  expect(would).toHaveLength(mode === 'off' ? 0 : of('started').filter(({ waitedMs }) => waitedMs === 3_000).length);
  // In the books they wait on, from when they came.
  if (mode === 'observe') expect(would.at(-1)!.waitedMs).toBeGreaterThan(40_000);
});

test.each(['observe', 'off'] as const)(
  '%s to enforce: a window that is full already gets nothing more',
  async (mode) => {
    const { dispatcher, clock, of } = bench(api({ quota: '60/minute', mode }));
    for (let n = 0; n < 100; n++) {
      void dispatcher.callDownstream('api', () => 'ok');
      await clock.advance(100);
    }
    dispatcher.setMode('enforce', { downstream: 'api' });
    for (let n = 0; n < 100; n++) void dispatcher.callDownstream('api', () => 'ok');
    await clock.advance(200_000);
    const at = of('started').map((event) => event.at);
    expect(at).toHaveLength(200);
    const first = at[100]!;
    expect(first - at[40]!).toBeGreaterThanOrEqual(60_000 - 1);
    for (const [i, one] of at.entries()) {
      if (i < 100) continue;
      expect(at.filter((other) => other > one - 60_000 && other <= one).length).toBeLessThanOrEqual(60);
    }
    // And no longer than it must: the rest goes at the usual pace.
    expect(at[199]! - first).toBeLessThan(130_000);
  },
);

test('observe to enforce: ghosts are gone, places of what really runs and what was learned are kept', async () => {
  const { dispatcher, clock, of, events } = bench(api({ quota: '600/minute', maxConcurrent: 2, mode: 'observe' }));
  const ends: (() => void)[] = [];
  for (let n = 0; n < 5; n++)
    void dispatcher.callDownstream('api', () => new Promise<void>((resolve) => ends.push(resolve)));
  await clock.advance(0);
  expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ queued: 3, running: 5 });
  dispatcher.report('api', { status: 429, retryAfterMs: 5_000 });
  dispatcher.setMode('enforce');
  expect(events.filter(({ type }) => type === 'held')).toMatchObject([{ cause: 'retry-after' }]);
  expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ queued: 0, running: 5, inARow: 1, mode: 'enforce' });
  const started = vi.fn();
  void dispatcher.callDownstream('api', started);
  await clock.advance(4_999);
  for (const end of ends.slice(0, 3)) end();
  await clock.advance(0);
  expect(started).not.toHaveBeenCalled();
  await clock.advance(2);
  expect(started).not.toHaveBeenCalled();
  ends[3]!();
  await clock.advance(0);
  expect(started).toHaveBeenCalledOnce();
  expect(of('would-start')).toHaveLength(2);
});

test('enforce to observe: holds, levels and places are taken over into the books', async () => {
  const { dispatcher, clock, of } = bench(api({ quota: '60/minute', maxConcurrent: 3 }));
  let end!: () => void;
  void dispatcher.callDownstream('api', () => new Promise<void>((resolve) => (end = resolve)));
  await clock.advance(0);
  dispatcher.report('api', { status: 429, retryAfterMs: 10_000 });
  dispatcher.setMode('observe');
  expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ inARow: 1, holds: [{ cause: 'retry-after' }] });
  await dispatcher.callDownstream('api', () => undefined);
  end();
  await clock.advance(20_000);
  expect(of('would-start').map(({ waitedMs }) => waitedMs)).toEqual([10_000]);
});

test('a mode that was said at run time outlives the policy, until it is given back', async () => {
  const { dispatcher } = bench({ downstreams: { a: { mode: 'off' }, b: {}, c: { quota: '1/second' } } });
  const modes = (): Record<string, string> =>
    Object.fromEntries(dispatcher.snapshot().downstreams.map(({ downstream, mode }) => [downstream, mode]));
  dispatcher.setMode('observe');
  expect(modes()).toEqual({ a: 'observe', b: 'observe', c: 'observe' });
  dispatcher.register('a', { mode: 'enforce', quota: '5/second' });
  dispatcher.register('d', {});
  expect(modes()).toEqual({ a: 'observe', b: 'observe', c: 'observe', d: 'observe' });
  dispatcher.setMode('off', { downstream: 'b' });
  dispatcher.setMode('policy', { downstream: 'c' });
  expect(modes()).toEqual({ a: 'observe', b: 'off', c: 'enforce', d: 'observe' });
  dispatcher.setMode('policy');
  expect(modes()).toEqual({ a: 'enforce', b: 'enforce', c: 'enforce', d: 'enforce' });
  dispatcher.register('a', { mode: 'observe', quota: '5/second' });
  expect(modes().a).toBe('observe');
});

test('setMode says what is wrong', async () => {
  const { dispatcher } = bench(api({}));
  expect(() => dispatcher.setMode('on' as never)).toThrow(/expected one of enforce, observe, off, policy, found "on"/);
  expect(() => dispatcher.setMode('off', { downstream: 'apo' as never })).toThrow(/did you mean "api"/);
  await dispatcher.close();
  expect(() => dispatcher.setMode('off')).toThrow(/closed/);
});

test('PENSTOCK_MODE wins over files and over what is registered', () => {
  const { dispatcher } = bench(
    { mode: 'enforce', defaults: { mode: 'off' }, downstreams: { a: { mode: 'off' }, b: {} } },
    {
      env: { PENSTOCK_MODE: 'observe', PENSTOCK__B__MODE: 'enforce' },
    },
  );
  dispatcher.register('c', { mode: 'off' });
  expect(dispatcher.snapshot().downstreams.map(({ mode }) => mode)).toEqual(['observe', 'enforce', 'observe']);
});

test('pause: kept in the books, and in force again with enforce', async () => {
  const { dispatcher, clock, of } = bench(api({ quota: '60/minute', mode: 'observe' }));
  dispatcher.pause('api', { for: '10s', reason: 'deploy' });
  await dispatcher.callDownstream('api', () => 1);
  expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ pauseReason: 'deploy', holds: [{ cause: 'operator' }] });
  dispatcher.setMode('off');
  await dispatcher.callDownstream('api', () => 1);
  dispatcher.setMode('enforce');
  const call = dispatcher.callDownstream('api', ({ waitedMs }) => waitedMs);
  await clock.advance(10_000);
  expect(await call).toBe(10_000);
  expect(of('would-start')).toEqual([]);
});

test('a let-go call whose signal fires before its turn counts as aborted, under its own id', async () => {
  const { dispatcher, clock, of } = bench(api({ quota: '1/minute' }));
  const controller = new AbortController();
  void dispatcher.callDownstream('api', () => 1);
  const call = dispatcher.callDownstream('api', () => 2, { signal: controller.signal });
  await clock.advance(0);
  dispatcher.setMode('off');
  controller.abort('gone');
  await expect(call).rejects.toBe('gone');
  expect(of('aborted').map(({ callId }) => callId)).toEqual(of('queued').map(({ callId }) => callId));
});

test('nothing that observe keeps holds the process, or outlives the close', async () => {
  const { dispatcher, clock, of } = bench(api({ quota: '1/minute', maxConcurrent: 1, mode: 'observe' }));
  for (let n = 0; n < 30; n++)
    void dispatcher.callDownstream('api', () => 1, { deadline: clock.wallNow() + 3_600_000 });
  await clock.advance(1_000);
  expect(clock.pendingTimers).toBe(0);
  await dispatcher.close();
  const before = of('would-start').length;
  await clock.advance(3_600_000);
  expect(of('would-start')).toHaveLength(before);
});
