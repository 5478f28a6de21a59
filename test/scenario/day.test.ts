import { describe, expect, it } from 'vitest';
import { returned429, thrown429 } from '../support/answers.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

const HOUR = 3_600_000;

/** What an ordinary day brings, at random: `random` decides what comes next. */
async function something(rig: Rig, random: () => number, open: AbortController[]): Promise<void> {
  const pick = <T>(...of: T[]): T => of[Math.floor(random() * of.length)]!;
  const abort = new AbortController();
  const dice = random();
  if (dice < 0.75) {
    const outcome = random();
    open.push(abort);
    rig.call({
      signal: abort.signal,
      cost: pick(1, 1, 1, 2, 5, 20),
      priority: pick('interactive', 'normal', 'batch'),
      ...(random() < 0.5 && { runId: `run ${Math.floor(random() * 5)}` }),
      ...(random() < 0.5 && { deadlineIn: Math.floor(random() * 120_000) }),
      fn: async () => {
        await rig.sleep(1 + Math.floor(random() * 4_000));
        if (outcome < 0.01) return returned429(pick('1', '30', '400'));
        if (outcome < 0.015) throw thrown429();
        if (outcome < 0.1) throw new Error('failed');
        return 'done';
      },
    });
  } else if (dice < 0.85) open.splice(Math.floor(random() * open.length), 1)[0]?.abort();
  else if (dice < 0.855) rig.dispatcher.pause('api', { for: pick(1_000, 400_000) });
  else if (dice < 0.86)
    rig.dispatcher.register('api', configS({ ...LIMITS, quota: pick('60/minute', '75/minute') }).policy);
  else if (dice < 0.863) await rig.clock.suspend(60_000, { monotonic: pick('frozen', 'advancing') });
  else if (dice < 0.866) rig.clock.jumpWall(pick(-5_000, 5_000));
}

const LIMITS = { maxConcurrent: 4, maxQueueDepth: 200 };

describe('A day', () => {
  it.each([1, 2])(
    'B98: of everything at random never leaves a waiter that nothing stops (seed %d)',
    async (seed) => {
      let state = seed * 7_919;
      const random = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
      const rig = new Rig(configS(LIMITS));
      const open: AbortController[] = [];
      while (rig.t < 24 * HOUR) {
        await something(rig, random, open);
        rig.watch.isLedgerBound = true;
        await rig.by(Math.floor(random() * 12_000));
      }
      await rig.by(HOUR);
      expect(rig.snap()).toMatchObject({ queued: 0, running: 0, overdue: 0, orphaned: 0 });
      expect(rig.snap().quotas[0]!.permits).toBe(rig.snap().quotas[0]!.burst);
      expect(rig.calls.length).toBeGreaterThan(8_000);
      await rig.rest();
    },
    120_000,
  );
});
