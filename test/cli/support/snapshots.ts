import type { DownstreamSnapshot, QuotaSnapshot, Snapshot } from '../../../src/base/snapshot.ts';
import { lane as atRest } from '../../support/lanes.ts';

export const AT = Date.UTC(2026, 0, 1, 3, 0, 0);

export function quota(text: string, declaredPerSecond: number, utilization = 0.8): QuotaSnapshot {
  const sizedPerSecond = declaredPerSecond * utilization;
  return { quota: text, unit: 'requests', permits: 3, burst: 6, declaredPerSecond, sizedPerSecond };
}

/** A lane of 60/minute at rest, or with these fields. */
export function lane(downstream: string, fields: Partial<DownstreamSnapshot> = {}): DownstreamSnapshot {
  return atRest(downstream, {
    quotas: [quota('60/minute', 1)],
    recent: { startsPerSecond: 0.5, waitP50Ms: 0, waitP95Ms: 0, refused: 0, throttled: 0 },
    ...fields,
  });
}

export function snapshot(downstreams: readonly DownstreamSnapshot[], fields: Partial<Snapshot> = {}): Snapshot {
  const alerts = { pending: 0, dropped: {} };
  return {
    schema: 1,
    at: AT,
    name: 'checkout',
    policyHash: '0123456789abcdef',
    isClosed: false,
    alerts,
    downstreams,
    ...fields,
  };
}

/** A bad night: one held, one paused, one full, one slow, one fine. */
export function badNight(): Snapshot {
  const hold = (cause: 'retry-after' | 'operator', leftMs: number) => [{ cause, leftMs, until: AT + leftMs }];
  const { totals } = lane('x');
  return snapshot(
    [
      lane('search', { quotas: [], running: 2 }),
      lane('carrier', {
        queued: 12,
        oldestWaitMs: 38_000,
        expectedWaitMs: 56_000,
        limitedBy: 'hold',
        running: 3,
        maxConcurrent: 20,
        holds: hold('retry-after', 41_000),
        heldUntil: AT + 41_000,
        inARow: 1,
        lastThrottledAt: AT - 19_000,
        recent: { startsPerSecond: 43 / 60, waitP50Ms: 1_234, waitP95Ms: 9_812, refused: 0, throttled: 2 },
      }),
      lane('model', {
        isPaused: true,
        pauseReason: 'migration of the index',
        holds: hold('operator', 1_200_000),
        recent: { startsPerSecond: 0, refused: 118, throttled: 0 },
        totals: { ...totals, refused: { RATE_LIMITED: 500, DEADLINE_EXCEEDED: 3 } },
      }),
      lane('warehouse', {
        quotas: [quota('250/second', 250)],
        queued: 8_712,
        oldestWaitMs: 44_000,
        expectedWaitMs: 66_000,
        limitedBy: 'concurrency',
        running: 20,
        maxConcurrent: 20,
        recent: { startsPerSecond: 131, waitP50Ms: 35_000, waitP95Ms: 43_000, refused: 0, throttled: 0 },
      }),
      lane('a-downstream-with-a-very-long-name-指名検索', { mode: 'observe' }),
    ],
    { alerts: { pending: 2, dropped: { slack: 1 } } },
  );
}
