import type { CarrierEntry } from './carrier.ts';

/** Something worth a line. `atMs` counts from the fan-out's first call. */
export interface Moment {
  readonly atMs: number;
  readonly text: string;
}

/** Requests the carrier saw in one step of time. */
export interface PaceStep {
  readonly agents: number;
  readonly others: number;
  readonly throttled: number;
}

export const STEP_MS = 250;

/** The carrier's books in steps of time, from `since` (epoch milliseconds) on. */
export function paceOf(entries: readonly CarrierEntry[], since: number): PaceStep[] {
  const steps: { agents: number; others: number; throttled: number }[] = [];
  for (const { at, consumer, status } of entries) {
    if (at < since) continue;
    const index = Math.floor((at - since) / STEP_MS);
    while (steps.length <= index) steps.push({ agents: 0, others: 0, throttled: 0 });
    const step = steps[index];
    if (step === undefined) continue;
    if (status !== 200) step.throttled += 1;
    else if (consumer === 'ticket' || consumer === 'customer') step.agents += 1;
    else step.others += 1;
  }
  return steps;
}
