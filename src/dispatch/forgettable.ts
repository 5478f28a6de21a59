import type { Lane } from './lane.ts';

/** Knows nothing that a fresh lane would not: full buckets, nobody waiting or unsettled, no hold, no row of incidents. */
export function isForgettable(lane: Lane): boolean {
  const now = lane.readNow();
  const { gate, incidents, running, books } = lane;
  if (lane.mode !== 'enforce') {
    return lane.isAtRest && running.orphaned === 0 && (books === lane || isForgettable(books));
  }
  const at = gate.time.at(now);
  const isFull = gate.buckets.every((bucket) => bucket.tat <= at) && !gate.time.isWarm(now);
  const isRested = now >= gate.lastStartAt + (gate.plan.minIntervalMs ?? 0);
  const isLedgerInForce = gate.plan.engine !== 'bottleneck' && gate.isLedgerInForce(now);
  const isQuiet = !gate.isHeld(now) && !isLedgerInForce && now >= Math.max(gate.caps.until, gate.remembersUntil);
  const isCalm = isRested && isQuiet && incidents.isCalm;
  return isFull && isCalm && lane.isAtRest && running.orphaned === 0;
}
