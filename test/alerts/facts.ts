import type { Alert, AlertFacts } from '../../src/base/alert.ts';

/** 2026-01-01T00:00:00Z, where a manual clock starts. */
export const NOW = Date.UTC(2026, 0, 1);

export const origin: Alert['origin'] = { instance: 'worker-7', version: '0.1.0', policyHash: 'abc123' };

/** A 429 with `Retry-After: 30` on a downstream of 60/minute, changed as the test needs it. */
export function factsOf(change: Partial<AlertFacts> = {}): AlertFacts {
  const at = change.at ?? NOW;
  return {
    name: 'QuotaModelWrong',
    downstream: 'carrier',
    at,
    incident: { id: 'incident-1', startedAt: at, throttles: 1, inARow: 1 },
    action: { kind: 'hold', cause: 'retry-after', until: at + 30_000 },
    impact: { waiting: 34, refused: 0, inFlight: 3, oldestWaitMs: 1_200, tools: ['get_status'] },
    observed: {
      windows: [
        { windowMs: 1_000, starts: 1 },
        { windowMs: 10_000, starts: 9 },
        { windowMs: 60_000, starts: 41, declared: 60, sized: 48 },
      ],
      processUpMs: 7_200_000,
    },
    server: { status: 429, retryAfterMs: 30_000, readFrom: 'retry-after' },
    declared: [{ text: '60/minute', limit: 60, windowMs: 60_000, unit: 'requests' }],
    longestWindowMs: 60_000,
    ...change,
  };
}
