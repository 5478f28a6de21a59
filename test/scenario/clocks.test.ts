import { afterEach, describe, expect, it, vi } from 'vitest';
import { createDispatcher, type Dispatcher } from '../../src/dispatcher.ts';
import type { PolicyInput } from '../../src/policy/input.ts';
import { configS, quotaOf } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** One call that has to wait a second of real time; returns how long it did. */
async function realWaitMs(build: () => Dispatcher): Promise<number> {
  const dispatcher = build();
  await dispatcher.callDownstream('api', () => undefined);
  const fromMs = performance.now();
  await dispatcher.callDownstream('api', () => undefined);
  return performance.now() - fromMs;
}

function onePerSecond(): Dispatcher {
  return createDispatcher<PolicyInput>(
    { downstreams: { api: { quota: '1/second', utilization: 1 } } },
    { alertSinks: [], env: {} },
  );
}

describe('Clocks', () => {
  it('B18: a wall clock that steps back and forth moves no start', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const waits: number[] = [];
    rig.call({ onWait: ({ expectedMs }) => waits.push(expectedMs) });
    rig.callMany(2, { deadlineIn: 20_000 });
    const steps: [number, number][] = [
      [500, -11_000],
      [1_500, 22_000],
      [2_500, -11_000],
    ];
    for (const [atMs, stepMs] of steps) {
      await rig.to(atMs);
      rig.clock.jumpWall(stepMs);
      const permits = rig.snap().quotas[0]!.permits;
      expect(permits).toBeGreaterThanOrEqual(-1e-6);
      expect(permits).toBeLessThanOrEqual(1);
    }
    await rig.to(10_000);
    expect(rig.starts()).toEqual([1_000, 2_000, 3_000]);
    expect(Math.max(...waits)).toBeLessThanOrEqual(1_000);
    await rig.rest();
  });

  it('B18: a backward step extends no deadline', async () => {
    const rig = new Rig(configS({ maxConcurrent: 1 }));
    rig.call({ runMs: 60_000 });
    const waiting = rig.call({ deadlineIn: 10_000 });
    await rig.to(1_000);
    rig.clock.jumpWall(-3_600_000);
    await rig.to(60_000);
    expect(waiting.result).toBe('DEADLINE_EXCEEDED');
    expect(waiting.endedMs).toBeLessThanOrEqual(11_000);
    await rig.rest();
  });

  it('B20: a date that is pinned, before or after, stops no queue', async () => {
    const pin = (): void => void vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 86_400_000);
    const after = realWaitMs(() => {
      const dispatcher = onePerSecond();
      pin();
      return dispatcher;
    });
    const before = realWaitMs(onePerSecond);
    for (const waitedMs of await Promise.all([before, after])) {
      expect(waitedMs).toBeGreaterThanOrEqual(998);
      expect(waitedMs).toBeLessThan(1_500);
    }
  });

  it('B20: the injected clock needs no real time', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const call = rig.call();
    await rig.to(1_000);
    expect(call.startedMs).toBe(1_000);
    await rig.rest();
  });

  it.each(['frozen', 'advancing'] as const)(
    'B22: a laptop that sleeps (monotonic time %s) wakes without a burst',
    async (monotonic) => {
      const rig = new Rig(configS());
      await rig.drain();
      const patient = rig.callMany(30);
      const hasty = rig.callMany(3, { deadlineIn: 60_000, runId: 'other' });
      await rig.to(500);
      await rig.clock.suspend(600_000, { monotonic });
      rig.watch.look();
      await rig.by(1_000);
      expect(hasty.map((call) => call.result)).toEqual(Array.from({ length: 3 }, () => 'DEADLINE_EXCEEDED'));
      expect(hasty.filter((call) => call.runs > 0)).toEqual([]);
      await rig.by(120_000);
      expect(patient.every((call) => call.runs === 1)).toBe(true);
      expect(rig.watch.windowMax('api', 60_000)).toBeLessThanOrEqual(75);
      await rig.rest();
    },
  );

  it.each(['frozen', 'advancing'] as const)(
    'B22: who is next, but whose deadline passed while the machine slept (monotonic time %s), never runs',
    async (monotonic) => {
      const rig = new Rig(configS());
      await rig.drain();
      const next = rig.call({ deadlineIn: 60_000 });
      await rig.to(500);
      await rig.clock.suspend(600_000, { monotonic });
      await rig.by(1_000);
      expect([next.result, next.runs]).toEqual(['DEADLINE_EXCEEDED', 0]);
      await rig.rest();
    },
  );

  it('B23: a queue of thirty days sets no timer that the platform cannot keep', async () => {
    const rig = new Rig(quotaOf(5, 86_400_000));
    await rig.drain();
    const calls = rig.callMany(120);
    await rig.settle();
    expect(rig.clock.pendingTimers).toBe(1);
    await rig.to(30 * 86_400_000);
    expect(calls.map((call) => call.startedMs)).toEqual(calls.map((_, n) => (n + 1) * 6 * 3_600_000));
    await rig.rest();
  });

  it('B23: a single wait longer than the longest timer is made of several', async () => {
    const rig = new Rig(quotaOf(1, 40 * 86_400_000, { utilization: 1 }));
    await rig.drain();
    const call = rig.call();
    await rig.to(39 * 86_400_000);
    expect(call.runs).toBe(0);
    await rig.to(40 * 86_400_000);
    expect(call.startedMs).toBe(40 * 86_400_000);
    await rig.rest();
  });

  it.each([
    ['a number', (_timer: unknown) => 7],
    ['a handle without unref', (_timer: unknown) => ({})],
  ])('B25: a runtime whose setTimeout returns %s', async (_, handleOf) => {
    const real = setTimeout;
    vi.stubGlobal('setTimeout', (...args: Parameters<typeof real>) => handleOf(real(...args)));
    const dispatcher = createDispatcher(
      { downstreams: { api: { quota: '1/100ms', utilization: 1 } } },
      { alertSinks: [], env: {} },
    );
    const ran = await Promise.all([1, 2].map((n) => dispatcher.callDownstream('api', () => n)));
    expect(ran).toEqual([1, 2]);
    await dispatcher.close();
  });

  it('B25: importing the package sets no timer', async () => {
    vi.resetModules();
    const timers = vi.fn(setTimeout);
    vi.stubGlobal('setTimeout', timers);
    vi.stubGlobal('setInterval', timers);
    await import('../../src/index.ts');
    expect(timers).not.toHaveBeenCalled();
  });
});
