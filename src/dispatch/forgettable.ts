import type { Lane } from './lane.ts';

/** Knows nothing that a fresh lane would not: full buckets, nobody waiting or unsettled, no hold, no row of incidents. */
export function isForgettable(lane: Lane): boolean {
  const now = lane.readNow();
  const { gate, incidents, running, books } = lane;
  if (books !== lane) return lane.isAtRest && running.orphaned === 0 && isForgettable(books);
  // Switched off it counts for nothing; of one that was observed until it was shut, what has started counts still.
  if (lane.mode === 'off') return lane.isAtRest && running.orphaned === 0;
  const at = gate.time.at(now);
  const isFull = gate.buckets.every((bucket) => bucket.tat <= at) && !gate.time.isWarm(now);
  const isRested = now >= gate.lastStartAt + (gate.plan.minIntervalMs ?? 0);
  const isLedgerInForce = gate.plan.engine !== 'bottleneck' && gate.isLedgerInForce(now);
  const isQuiet = !gate.isHeld(now) && !isLedgerInForce && now >= Math.max(gate.caps.until, gate.remembersUntil);
  const isCalm = isRested && isQuiet && incidents.isCalm;
  return isFull && isCalm && lane.isAtRest && running.orphaned === 0;
}
