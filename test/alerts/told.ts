import type { PacedSink } from '../../src/alerts/sink.ts';
import type { Alert, AlertFacts } from '../../src/base/alert.ts';
import { NOW } from './facts.ts';

/** A sink that remembers what it was told. */
export function memory(
  change: Partial<PacedSink> = {},
): PacedSink & { readonly told: string[]; readonly alerts: Alert[] } {
  const told: string[] = [];
  const alerts: Alert[] = [];
  const deliver = (alert: Alert): void => {
    alerts.push(alert);
    told.push(`${alert.status} ${alert.severity} ${alert.incident.throttles}`);
  };
  return { name: 'memory', spacingMs: 0, deliver, ...change, told, alerts };
}

/** A pause that has refused calls: critical. */
export const pausedAndRefused = (until = NOW + 30_000): Partial<AlertFacts> => ({
  action: { kind: 'pause', cause: 'retry-after', until },
  impact: { waiting: 0, refused: 12, inFlight: 0, oldestWaitMs: 0, tools: [] },
});
