import type { AlertFacts } from '../../src/base/alert.ts';
import type { CounterEvidence, Evidence, QuotaEvidence } from '../../src/base/evidence.ts';
import { diagnose } from '../../src/feedback/diagnosis.ts';
import { factsOf } from '../alerts/facts.ts';

export const SIXTY: QuotaEvidence = {
  text: '60/minute',
  unit: 'requests',
  limit: 60,
  windowMs: 60_000,
  share: 60,
  sized: 48,
  burst: 6,
  taken: 30,
};
/** All 60 used, all of them ours. */
const FULL: CounterEvidence = {
  quota: 0,
  unit: 'requests',
  limit: 60,
  remaining: 0,
  ageMs: 0,
  used: 60,
  ours: 60,
  oursAtMost: 60,
  spanMs: 60_000,
  before: 0,
};

export function found(evidence: Partial<Evidence>, change: Partial<AlertFacts> = {}): ReturnType<typeof diagnose> {
  return diagnose(
    factsOf({ ...change, evidence: { workers: 1, quotas: [SIXTY], counters: [], bunches: [], ...evidence } }),
  );
}

export const hypotheses = (...ask: Parameters<typeof found>): string[] =>
  found(...ask).findings.map(({ hypothesis }) => hypothesis);
export const counter = (change: Partial<CounterEvidence>): Partial<Evidence> => ({
  counters: [{ ...FULL, ...change }],
});
