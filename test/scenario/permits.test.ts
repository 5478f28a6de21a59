import { describe, expect, it } from 'vitest';
import { configF, configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

/** Small, seeded and repeatable. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** The level of a plain bucket after these starts: refilled evenly, never above its size. */
function levelAfter(starts: readonly number[], atMs: number, size: number, everyMs: number): number {
  let level = size;
  let seenMs = 0;
  for (const startMs of [...starts, atMs]) {
    level = Math.min(size, level + (startMs - seenMs) / everyMs) - 1;
    seenMs = startMs;
  }
  return level + 1;
}

/** Arrivals, aborts, deadlines and pauses, some of them in the instant of a grant or inside another `fn`. */
async function storm(rig: Rig, seed: number, steps: number): Promise<void> {
  const random = randomOf(seed);
  const open: AbortController[] = [];
  const abortOne = (): void => open.splice(Math.floor(random() * open.length), 1)[0]?.abort();
  for (let step = 0; step < steps; step += 1) {
    const dice = random();
    const abort = new AbortController();
    if (dice < 0.6) {
      open.push(abort);
      rig.call({
        signal: abort.signal,
        ...(random() < 0.3 && { deadlineIn: Math.floor(random() * 2_000) }),
        fn: () => {
          if (random() < 0.2) abortOne();
          return random() < 0.5 ? undefined : rig.sleep(1 + Math.floor(random() * 300));
        },
      });
    } else if (dice < 0.8) abortOne();
    else if (dice < 0.83) rig.dispatcher.pause('api', { for: 200 });
    else await rig.by(dice < 0.9 ? (rig.clock.nextTimerInMs ?? 1) : Math.floor(random() * 400));
    if (random() < 0.1) abortOne();
  }
  rig.dispatcher.resume('api');
  await rig.by(600_000);
}

describe('Permits', () => {
  it.each(Array.from({ length: 60 }, (_, n) => n + 1))(
    'B75: none is lost where abort, deadline, pause and grant coincide (seed %d)',
    async (seed) => {
      const rig = new Rig(configF({ maxConcurrent: 3 }));
      await storm(rig, seed, 400);
      const granted = rig.calls.filter((call) => call.runs === 1);
      expect(granted.length).toBe(rig.snap().totals.started);
      expect(rig.calls.every((call) => call.isSettled)).toBe(true);
      expect(rig.snap().running).toBe(0);
      expect(rig.snap().quotas[0]!.permits).toBe(1);
      await rig.rest();
    },
  );

  it('B75: what was granted and what is left add up to what was refilled', async () => {
    const rig = new Rig(configS());
    const random = randomOf(3);
    for (let step = 0; step < 1_000; step += 1) {
      const abort = new AbortController();
      rig.call({ signal: abort.signal });
      if (random() < 0.3) abort.abort();
      await rig.by(Math.floor(random() * 2_000));
      const level = levelAfter(rig.starts(), rig.t, 7, 1_000);
      expect(Math.abs(rig.snap().quotas[0]!.permits - level)).toBeLessThan(1e-6);
    }
    await rig.by(1_000_000);
    await rig.rest();
  });
});
