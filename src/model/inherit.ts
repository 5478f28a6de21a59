import type { Bucket } from './bucket.ts';
import type { Gate } from './gate.ts';

/**
 * A gate takes over what another one of the same plan knows: of each level the lower, the pace after a hold,
 * holds, and what the server has counted. Its own starts stay its own.
 */
export function inherit(gate: Gate, from: Gate, now: number): void {
  const levels = gate.buckets.map((bucket, i) =>
    Math.min(bucket.level(gate.time.at(now)), from.buckets[i]?.level(from.time.at(now)) ?? Number.POSITIVE_INFINITY),
  );
  gate.time.follow(from.time);
  const lane = gate.time.at(now);
  for (const [i, bucket] of gate.buckets.entries()) bucket.tat = tatOf(bucket, levels[i]!, lane);
  for (const [cause, until] of from.holds.inForce(now)) gate.holds.extend(cause, until);
  gate.holdEnd = from.holdEnd;
  gate.caps = from.caps.copy();
  gate.revision++;
}

/** The history of starts too, for a gate that has none of its own. */
export function inheritStarts(gate: Gate, from: Gate): void {
  const windows = from.plan.quotas.map((quota) => quota.windowMs);
  gate.ledger = from.ledger.replanned(windows, [...windows.keys()]);
  gate.lastStartAt = from.lastStartAt;
  gate.startCount = from.startCount;
}

/**
 * Buckets that were charged while nothing was held back are empty at most: what was too much lies in the
 * ledger, which lets nothing start in a window that is full already.
 */
export function forgiveDebts(gate: Gate, now: number): void {
  const lane = gate.time.at(now);
  for (const bucket of gate.buckets) bucket.tat = Math.min(bucket.tat, bucket.fullFromEmpty(lane));
}

function tatOf(bucket: Bucket, level: number, lane: number): number {
  return lane + (bucket.plan.burst - level) * bucket.msPerPermit;
}
