import type { CooldownPlan, DownstreamPlan } from '../base/plan.ts';
import type { HoldCause } from '../base/words.ts';
import type { RowKind } from './incident-rules.ts';

/** Where several workers share a quota, the end of a hold is spread by up to this share, later only. */
export const SPREAD = 0.05;

/** What of a policy decides how long a lane is held. */
export type HoldPlan = Pick<DownstreamPlan, 'cooldown' | 'maxHoldMs' | 'pauseAboveMs' | 'workers'>;

/** How long to hold, from now, and why. */
export interface HoldChoice {
  readonly ms: number;
  readonly cause: HoldCause;
  /** The server said longer than `maxHold`. */
  readonly isCapped: boolean;
}

/**
 * The hold we choose ourselves when a 429 carries no hint: base · 2^(n-1) up to max, or the n-th step of
 * the ladder. `inARow` (n) counts incidents without a success in between, from 1.
 */
export function cooldownMs(plan: CooldownPlan, inARow: number): number {
  const { ladderMs } = plan;
  if (ladderMs !== undefined) return ladderMs[Math.min(inARow, ladderMs.length) - 1] ?? plan.maxMs;
  return Math.min(plan.baseMs * 2 ** Math.min(inARow - 1, 52), plan.maxMs);
}

/**
 * How long a new incident is held, the `inARow`-th of its row. The server's word is kept exactly the first
 * time; from the second incident in a row on it is at least the cooldown, so that a server that always says
 * "1 s" is not asked every second. What is exhausted has no steps: its floor is the first one.
 */
export function openingHold(kind: RowKind, plan: HoldPlan, inARow: number, hintMs: number | undefined): HoldChoice {
  const { cooldown } = plan;
  const isExhausted = kind === 'exhausted';
  if (hintMs === undefined) {
    return { ms: isExhausted ? cooldown.maxMs : cooldownMs(cooldown, inARow), cause: 'cooldown', isCapped: false };
  }
  const said = saidHold(kind, plan, hintMs);
  const floor = inARow > 1 ? cooldownMs(cooldown, isExhausted ? 1 : inARow) : 0;
  return floor > said.ms ? { ...said, ms: floor, cause: 'cooldown' } : said;
}

/** The server's word, capped. */
export function saidHold(kind: RowKind, { maxHoldMs }: HoldPlan, hintMs: number): HoldChoice {
  const cause = kind === 'exhausted' ? 'quota-reset' : 'retry-after';
  return { ms: Math.min(hintMs, maxHoldMs), cause, isCapped: hintMs > maxHoldMs };
}

/**
 * A hold with the spread of this worker, `share` in [0, 1] of the whole of it. It comes on top of `maxHold`:
 * workers that were all told "30 days" must not come back together either. It never makes a pause of a hold
 * that we chose ourselves, which would empty the queue.
 */
export function spreadMs({ ms, cause }: HoldChoice, { workers, pauseAboveMs }: HoldPlan, share: number): number {
  if (workers <= 1) return ms;
  const spread = ms + ms * SPREAD * share;
  return cause === 'cooldown' && ms <= pauseAboveMs ? Math.min(spread, pauseAboveMs) : spread;
}
