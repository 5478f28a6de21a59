import { describe, expect, it } from 'vitest';
import type { CallContext } from '../../src/dispatch/context.ts';
import { createDispatcher, type Dispatcher } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../src/policy/input.ts';
import { ManualClock } from '../../src/testing.ts';

// How long 100,000 of each may take is measured by the bench, on a machine that does nothing else.
// Here it is the growth that counts, which no load changes: ten times the waiters, about ten times
// the time. What is quadratic takes a hundred times as long.
const FEW = 5_000;
const MANY = 10 * FEW;
const MOST_GROWTH = 30;

const HOURLY = { quota: '1/hour', utilization: 1 };

interface Crowd {
  readonly clock: ManualClock;
  readonly dispatcher: Dispatcher;
  /** Runs turns of the loop until all have been told: a mass ending is handed out in slices. */
  readonly allSettled: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A lane whose one start is spent, and so many waiters. */
function crowd(
  count: number,
  policy: DownstreamPolicyInput,
  ctxOf: (n: number, clock: ManualClock) => CallContext,
): Crowd {
  const clock = new ManualClock();
  const dispatcher = createDispatcher<PolicyInput>(
    { downstreams: { api: policy } },
    { alertSinks: [], env: {}, clock },
  );
  let settled = 0;
  const tell = (): void => void (settled += 1);
  // Rejected when the dispatcher is closed: it never ends by itself.
  dispatcher.callDownstream('api', () => new Promise(() => undefined)).catch(() => undefined);
  for (let n = 0; n < count; n += 1) {
    dispatcher.callDownstream('api', () => undefined, ctxOf(n, clock)).then(tell, tell);
  }
  return {
    clock,
    dispatcher,
    allSettled: async () => {
      expect(dispatcher.snapshot().downstreams[0]?.queued).toBeLessThanOrEqual(count);
      for (let turn = 0; turn < 10_000 && settled < count; turn += 1) await clock.advance(1);
      expect(settled).toBe(count);
    },
    close: async () => {
      const closing = dispatcher.close({ within: 0 });
      await clock.advance(1_000);
      await closing;
    },
  };
}

/** CPU time of this process while it runs, in milliseconds. */
async function cpuOf(run: () => Promise<void> | void): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** What one of the scenes below costs for so many waiters. */
type Scene = (count: number) => Promise<number>;

const CLASSES = ['interactive', 'normal', 'batch'] as const;

function enterAndLeave(classes: number): Scene {
  return (count) =>
    cpuOf(async () => {
      const ctxOf = (n: number) => ({ priority: CLASSES[classes === 1 ? 1 : n % 3], runId: `run ${n % 10}` });
      const all = crowd(count, HOURLY, ctxOf);
      await all.clock.advance(0);
      expect(all.dispatcher.snapshot().downstreams[0]?.queued).toBe(count);
      all.dispatcher.register('api', { quota: '10000000/second' });
      await all.allSettled();
      await all.close();
    });
}

const abortAtRandom: Scene = async (count) => {
  const aborts = Array.from({ length: count }, () => new AbortController());
  const all = crowd(count, HOURLY, (n) => ({ signal: aborts[n]!.signal }));
  await all.clock.advance(0);
  let seed = 5;
  const order = aborts.map((abort) => ({ abort, at: (seed = (seed * 48_271) % 2_147_483_647) }));
  order.sort((a, b) => a.at - b.at);
  const cpuMs = await cpuOf(async () => {
    for (const { abort } of order) abort.abort('gone');
    await all.allSettled();
  });
  expect(all.dispatcher.snapshot().downstreams[0]?.queued).toBe(0);
  await all.close();
  return cpuMs;
};

const abortByOneSignal: Scene = async (count) => {
  const abort = new AbortController();
  const all = crowd(count, HOURLY, () => ({ signal: abort.signal }));
  await all.clock.advance(0);
  const cpuMs = await cpuOf(async () => {
    abort.abort();
    await all.allSettled();
  });
  await all.close();
  return cpuMs;
};

const expireTogether: Scene = async (count) => {
  const all = crowd(count, { maxConcurrent: 1 }, (_, clock) => ({ deadline: clock.wallNow() + 1_000 }));
  await all.clock.advance(999);
  expect(all.dispatcher.snapshot().downstreams[0]?.queued).toBe(count);
  const cpuMs = await cpuOf(all.allSettled);
  await all.close();
  return cpuMs;
};

describe('a crowd of waiters', () => {
  it.each<[string, Scene]>([
    ['enters one class, and leaves when the quota is raised', enterAndLeave(1)],
    ['enters three classes, and leaves when the quota is raised', enterAndLeave(3)],
    ['is aborted one by one in random order', abortAtRandom],
    ['is aborted by one signal', abortByOneSignal],
    ['expires together', expireTogether],
  ])('B91: ten times as many cost about ten times as much: %s', async (_, scene) => {
    await scene(FEW);
    const few = await scene(FEW);
    const many = await scene(MANY);
    expect(many / few).toBeLessThan(MOST_GROWTH);
  });
});
