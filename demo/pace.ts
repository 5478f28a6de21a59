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

/** The agents' requests per second in the last whole second before `untilMs`, as answered. */
export function paceBefore(pace: readonly PaceStep[], untilMs: number): number {
  const end = Math.floor(untilMs / STEP_MS);
  const last = pace.slice(Math.max(0, end - 1_000 / STEP_MS), end);
  return last.reduce((total, step) => total + step.agents, 0);
}
