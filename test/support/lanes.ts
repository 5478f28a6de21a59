import type { DownstreamSnapshot } from '../../src/base/snapshot.ts';

/** A lane at rest. */
export function lane(downstream: string, fields: Partial<DownstreamSnapshot> = {}): DownstreamSnapshot {
  const quiet = { length: 0, oldestMs: 0 };
  return {
    downstream,
    mode: 'enforce',
    queued: 0,
    classes: { interactive: quiet, normal: quiet, batch: quiet },
    oldestWaitMs: 0,
    running: 0,
    overdue: 0,
    orphaned: 0,
    isPaused: false,
    holds: [],
    warmLeftMs: 0,
    expectedWaitMs: 0,
    quotas: [],
    inARow: 0,
    accounts: 0,
    recent: { startsPerSecond: 0, refused: 0, throttled: 0 },
    top: { windowMs: 60_000, runs: [], tools: [] },
    totals: totals(),
    ...fields,
  };
}

export function totals(fields: Partial<DownstreamSnapshot['totals']> = {}): DownstreamSnapshot['totals'] {
  const settled = { success: 0, throttled: 0, overloaded: 0, exhausted: 0, failed: 0, cancelled: 0 };
  return { calls: 0, started: 0, refused: {}, aborted: 0, settled, throttled: 0, ...fields };
}
