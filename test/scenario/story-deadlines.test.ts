import { describe, expect, it } from 'vitest';
import { CALLS, tell } from '../support/story.ts';

const DEADLINE_MS = 120_000;

interface Fate {
  readonly madeMs: number;
  /** Absent for those that must be refused. */
  readonly startMs?: number;
  readonly wouldWaitMs: number;
}

/**
 * The same fan-out worked out by hand: a bucket of 6 that gets one permit each 1,250 ms, served in
 * order of arrival, and whoever would have to wait for longer than two minutes does not enter.
 */
function fates(): Fate[] {
  const everyMs = 1_250;
  const size = 6;
  let level = size;
  let levelAtMs = 0;
  return Array.from({ length: CALLS }, (_, n) => {
    const madeMs = n * 112.5;
    const fromMs = Math.max(madeMs, levelAtMs);
    const levelThen = Math.min(size, level + (fromMs - levelAtMs) / everyMs);
    const startMs = fromMs + Math.max(0, 1 - levelThen) * everyMs;
    const wouldWaitMs = startMs - madeMs;
    if (wouldWaitMs > DEADLINE_MS + 1e-6) return { madeMs, wouldWaitMs };
    level = levelThen + (startMs - fromMs) / everyMs - 1;
    levelAtMs = startMs;
    return { madeMs, startMs, wouldWaitMs };
  });
}

describe('the fan-out with two minutes each', () => {
  it('exactly those run that can start in time; the others are told so at once, right to 1 ms', async () => {
    const { rig, server } = await tell({ ask: () => ({ deadlineIn: DEADLINE_MS }) });
    const expected = fates();
    expect(rig.calls).toHaveLength(CALLS);
    for (const [n, call] of rig.calls.entries()) {
      const { madeMs, startMs, wouldWaitMs } = expected[n]!;
      if (startMs !== undefined) {
        expect([n, call.state]).toEqual([n, 'fulfilled']);
        expect(Math.abs(call.startedMs! - startMs)).toBeLessThan(0.01);
        continue;
      }
      expect(call.refusal).toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'admission', started: false });
      expect(Math.abs(call.refusal.expectedWaitMs! - wouldWaitMs)).toBeLessThan(1);
      expect(call.endedMs).toBe(madeMs);
    }
    const refused = expected.filter((fate) => fate.startMs === undefined).length;
    expect(refused).toBeGreaterThan(500);
    expect(rig.record.ends.filter((end) => end.type === 'refused')).toHaveLength(refused);
    expect(server.count({ status: 429 })).toBe(0);
    await rig.rest();
  });
});
