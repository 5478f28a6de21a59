import { expect, test, vi } from 'vitest';
import { MOST_GHOSTS } from '../../src/dispatch/shadow.ts';
import { api, bench, THROTTLED } from './support/bench.ts';

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

test('observe: where far more comes than would ever start, the books stay bounded and say at least how long', async () => {
  const { dispatcher, clock, of } = bench(api({ quota: '60/minute', mode: 'observe' }));
  const many = MOST_GHOSTS + 500;
  for (let n = 0; n < many; n++) void dispatcher.callDownstream('api', () => 1);
  await clock.advance(1);
  expect(dispatcher.snapshot().downstreams[0]!.queued).toBeLessThanOrEqual(MOST_GHOSTS);
  const estimated = of('would-start').filter(({ expectedMs }) => expectedMs !== undefined);
  expect(estimated.length).toBeGreaterThanOrEqual(490);
  // 10,000 calls at 48 a minute.
  expect(estimated.every(({ waitedMs }) => waitedMs > 12_000_000)).toBe(true);
  // Whoever cannot wait that long is refused in the books as ever, and an urgent call is before them all.
  void dispatcher.callDownstream('api', () => 1, { deadline: clock.wallNow() + 60_000 });
  void dispatcher.callDownstream('api', () => 1, { deadline: clock.wallNow() + 60_000, priority: 'interactive' });
  await clock.advance(5_000);
  expect(of('would-refuse')).toHaveLength(1);
  expect(of('would-start').filter(({ priority }) => priority === 'interactive')).toHaveLength(1);
});
