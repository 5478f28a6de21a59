import { describe, expect, test } from 'vitest';
import { fakeTimers, KINDS, Stage } from './support.ts';

fakeTimers();

const refused = (code: string, more: object = {}): object => expect.objectContaining({ code, started: false, ...more });

const ENDS = ['settled', 'refused', 'aborted'];

describe.each(KINDS)('waiting by $name', (kind) => {
  test('a waiter whose deadline comes is refused then, never runs, and whoever is behind it starts in its turn', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const first = stage.call({ runMs: 500 });
    await stage.pass(kind.slackMs);
    const late = stage.call({ deadline: stage.in(200) });
    const next = stage.call();
    await stage.pass(220);
    expect(late.end).toEqual(refused('DEADLINE_EXCEEDED'));
    expect(late.endedAt).toBeLessThan(240);
    await stage.pass(500);
    expect([first.end, late.startedAt, next.end]).toEqual(['done', undefined, 'done']);
    expect(next.startedAt).toBeLessThanOrEqual(500 + 2 * kind.slackMs);
  });

  test('maxWait', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1, maxWait: 100 });
    stage.call({ runMs: 500 });
    await stage.pass(kind.slackMs);
    const late = stage.call();
    await stage.pass(150);
    expect(late.end).toEqual(refused('RATE_LIMIT_QUEUE_TIMEOUT'));
  });

  test('a deadline that the quota cannot meet: refused, at once where that is foretold', async () => {
    const stage = new Stage(kind, { quota: '1/10s', utilization: 1 });
    const [first, late] = stage.calls(2, { deadline: stage.in(1_000) });
    await stage.pass(100);
    expect(first!.end).toBe('done');
    expect(late!.end === undefined).toBe(!kind.predicts);
    await stage.pass(1_000);
    expect(late!.end).toEqual(refused('DEADLINE_EXCEEDED'));
    expect(late!.startedAt).toBeUndefined();
  });

  test('a waiter that is aborted leaves at once with the reason of its signal and never runs', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    stage.call({ runMs: 300 });
    await stage.pass(kind.slackMs);
    const controller = new AbortController();
    const left = stage.call({ signal: controller.signal });
    const next = stage.call();
    await stage.pass(10);
    const reason = { own: 'reason' };
    controller.abort(reason);
    await stage.pass(1);
    expect(left.end).toBe(reason);
    await stage.pass(300 + 2 * kind.slackMs);
    expect([left.startedAt, next.end]).toEqual([undefined, 'done']);
  });

  test('a call that is aborted while it runs keeps its place until it settles', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const controller = new AbortController();
    const running = stage.call({ signal: controller.signal, runMs: 300 });
    await stage.pass(kind.slackMs);
    const next = stage.call();
    controller.abort('enough');
    await stage.pass(50);
    expect([running.end, next.startedAt]).toEqual(['enough', undefined]);
    await stage.pass(300 + kind.slackMs);
    expect(next.end).toBe('done');
  });

  test('the signal of a running call fires at its deadline, and its place comes back after leaseGrace', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1, leaseGrace: '1s' });
    let fired: unknown;
    const running = stage.dispatcher.callDownstream(
      'api',
      ({ signal }) => new Promise(() => signal.addEventListener('abort', () => (fired = signal.reason))),
      { deadline: stage.in(500) },
    );
    const end = running.catch((error: unknown) => error);
    await stage.pass(400);
    const next = stage.call();
    await stage.pass(200);
    await expect(end).resolves.toMatchObject({ code: 'DEADLINE_EXCEEDED', started: true });
    expect(fired).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(next.startedAt).toBeUndefined();
    await stage.pass(1_000 + kind.slackMs);
    expect(next.end).toBe('done');
  });

  test('maxRun', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1, maxRun: 100 });
    const running = stage.call({ fn: () => new Promise(() => undefined) });
    await stage.pass(100 + 2 * kind.slackMs);
    expect(running.end).toMatchObject({ code: 'DEADLINE_EXCEEDED', started: true });
  });

  test('cancel refuses what waits of a run and of what is below it', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const running = stage.call({ runId: 'job', runMs: 100 });
    await stage.pass(kind.slackMs);
    const waiting = [stage.call({ runId: 'job' }), stage.call({ runId: 'job/sub' }), stage.call({ runId: 'other' })];
    expect(stage.dispatcher.cancel({ runId: 'job' }, 'not wanted')).toBe(2);
    await stage.pass(200 + 2 * kind.slackMs);
    expect(waiting.map(({ end }) => end)).toEqual([refused('CANCELLED'), refused('CANCELLED'), 'done']);
    expect(running.end).toBe('done');
  });

  test('unregister refuses what waits; what runs comes to its end', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const running = stage.call({ runMs: 100 });
    await stage.pass(kind.slackMs);
    const waiting = stage.call();
    stage.dispatcher.unregister('api');
    await stage.pass(200);
    expect([running.end, waiting.end]).toEqual(['done', refused('DISPATCHER_CLOSED')]);
  });

  test('close refuses what waits; with drain it runs', async () => {
    for (const drain of [false, true]) {
      const stage = new Stage(kind, { maxConcurrent: 1 });
      const running = stage.call({ runMs: 100 });
      await stage.pass(kind.slackMs);
      const waiting = stage.calls(2);
      await stage.pass(10);
      const closing = stage.dispatcher.close({ drain, within: '10s' });
      const late = stage.call();
      await stage.pass(1_000);
      const report = await closing;
      expect(running.end).toBe('done');
      expect(late.end).toEqual(refused('DISPATCHER_CLOSED'));
      const other = drain ? 'done' : refused('DISPATCHER_CLOSED');
      expect(waiting.map(({ end }) => end)).toEqual([other, other]);
      expect(report).toMatchObject({ settled: drain ? 3 : 1, refused: drain ? 0 : 2, abandoned: 0 });
      expect(report.tookMs).toBeLessThan(300);
    }
  });

  test('what waits is let go when the lane stops enforcing, and held again when it enforces', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    stage.call({ runMs: 1_000 });
    await stage.pass(kind.slackMs);
    const waiting = stage.calls(3);
    await stage.pass(20);
    stage.dispatcher.setMode('observe');
    await stage.pass(5);
    expect(waiting.map(({ end }) => end)).toEqual(['done', 'done', 'done']);
    stage.dispatcher.setMode('enforce');
    const later = stage.call();
    await stage.pass(500);
    expect(later.startedAt).toBeUndefined();
    await stage.pass(600 + kind.slackMs);
    expect(later.end).toBe('done');
  });

  test('a new policy: those that wait go on under it, by whichever engine it names', async () => {
    const stage = new Stage(kind, { minInterval: '10s' });
    const calls = stage.calls(3);
    await stage.pass(100);
    for (const engine of ['penstock', 'bottleneck', 'penstock'] as const) {
      stage.dispatcher.apply({ downstreams: { api: { minInterval: '10s', engine } } });
      await stage.pass(50);
    }
    expect(calls.map(({ end }) => end)).toEqual(['done', undefined, undefined]);
    stage.dispatcher.apply({ downstreams: { api: { minInterval: 10, engine: 'bottleneck' } } });
    await stage.pass(200);
    expect(calls.map(({ end }) => end)).toEqual(['done', 'done', 'done']);
  });

  test('every call ends exactly once, with one event of each kind, whatever comes when', async () => {
    const stage = new Stage(kind, { quota: '20/1s', maxConcurrent: 3, maxQueueDepth: 12 });
    const controllers: AbortController[] = [];
    const made: ReturnType<Stage['call']>[] = [];
    for (let i = 0; i < 60; i++) {
      const controller = new AbortController();
      controllers.push(controller);
      const deadline = i % 4 === 0 ? { deadline: stage.in(30 + (i % 7) * 40) } : {};
      made.push(stage.call({ signal: controller.signal, runMs: (i % 5) * 13, runId: `r${i % 3}`, ...deadline }));
      if (i % 5 === 0) controllers[Math.floor(i / 2)]!.abort(new Error('left'));
      if (i === 30) stage.dispatcher.cancel({ runId: 'r1' }, 'gone');
      await stage.pass(i % 3 === 0 ? 17 : 0);
    }
    await stage.pass(10_000);
    expect(made.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
    for (const id of new Set(stage.record.events.flatMap((event) => ('callId' in event ? [event.callId] : [])))) {
      const types = stage.record.events.flatMap((event) =>
        'callId' in event && event.callId === id ? [event.type] : [],
      );
      expect(new Set(types).size).toBe(types.length);
      expect(types.filter((type) => ENDS.includes(type))).toHaveLength(1);
      expect(ENDS).toContain(types.at(-1));
    }
    const { totals, queued, running } = stage.dispatcher.snapshot().downstreams[0]!;
    expect([queued, running, totals.calls]).toEqual([0, 0, 60]);
  });
});
