import type { CooldownPlan } from '../base/plan.ts';

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
 * The hold for one incident. A hint is kept exactly the first time; from the second incident in a row
 * it is at least the cooldown, so that a server that always says "1 s" is not asked every second.
 */
export function incidentHoldMs(
  plan: CooldownPlan,
  inARow: number,
  hintMs: number | undefined,
  maxHoldMs: number,
): { ms: number; isCapped: boolean } {
  const floor = cooldownMs(plan, inARow);
  if (hintMs === undefined) return { ms: floor, isCapped: false };
  const wanted = inARow > 1 ? Math.max(hintMs, floor) : hintMs;
  return { ms: Math.min(wanted, maxHoldMs), isCapped: hintMs > maxHoldMs };
}
