import { expect, test, vi } from 'vitest';
import { api, bench } from './support/bench.ts';

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
