import type { ClassSnapshot, DownstreamSnapshot, QuotaSnapshot } from '../base/snapshot.ts';
import { PRIORITIES, type Priority } from '../base/words.ts';
import type { Downstream } from './downstream.ts';
import { expect, shown } from './expectation.ts';
import type { Lane } from './lane.ts';
import { plainRequest } from './request.ts';
import { Tally } from './tally.ts';

/** One downstream as a snapshot shows it; reading changes nothing. */
export function readDownstream(downstream: Downstream): DownstreamSnapshot {
  const { lane, plan, ports, pauseReason } = downstream;
  const now = ports.clock.now();
  const wall = ports.clock.wallNow() - now;
  const lanes = [...downstream.lanes()];
  const sum = (of: (one: Lane) => number): number => lanes.reduce((total, one) => total + of(one), 0);
  const holds = lane.gate.holds
    .inForce(now)
    .map(([cause, until]) => ({ cause, leftMs: until - now, until: wall + until }));
  const isHeld = lane.gate.holds.isHeld(now);
  const told = shown(lane, expect(lane, plainRequest(plan, now), now), now);
  const tally = new Tally();
  for (const one of lanes) tally.add(one.tally);
  const { warmFrom, warmUntil } = lane.gate.time;
  return {
    downstream: plan.name,
    queued: sum((one) => one.line.length),
    classes: readClasses(lanes, now),
    oldestWaitMs: Math.max(...lanes.map((one) => ageOf(one, undefined, now))),
    running: sum((one) => one.running.inFlight),
    overdue: sum((one) => one.running.overdue),
    orphaned: sum((one) => one.running.orphaned),
    isPaused: lane.isPaused(now),
    ...(isHeld ? { heldUntil: wall + lane.gate.holds.until } : {}),
    holds,
    ...(pauseReason === undefined ? {} : { pauseReason }),
    warmLeftMs: now >= warmFrom ? Math.max(0, warmUntil - now) : 0,
    expectedWaitMs: told.ms,
    ...(told.ms > 0 ? { limitedBy: told.limitedBy } : {}),
    quotas: readQuotas(lane, now),
    inARow: lane.incidents.inARow,
    ...(lane.incidents.id === undefined ? {} : { incidentId: lane.incidents.id }),
    ...(tally.lastThrottledAt === undefined ? {} : { lastThrottledAt: tally.lastThrottledAt }),
    accounts: downstream.accounts,
    totals: tally.read(),
  };
}

function readClasses(lanes: readonly Lane[], now: number): Record<Priority, ClassSnapshot> {
  const read = PRIORITIES.map((priority, rank) => {
    const length = lanes.reduce((total, lane) => total + lane.line.lengthOf(rank), 0);
    return [priority, { length, oldestMs: Math.max(...lanes.map((lane) => ageOf(lane, rank, now))) }] as const;
  });
  return Object.fromEntries(read) as Record<Priority, ClassSnapshot>;
}

function ageOf(lane: Lane, rank: number | undefined, now: number): number {
  const oldest = lane.line.oldest(rank);
  return oldest === undefined ? 0 : now - oldest.since;
}

function readQuotas(lane: Lane, now: number): QuotaSnapshot[] {
  const at = lane.gate.time.at(now);
  return lane.gate.buckets.map((bucket) => {
    const { text, unit, burst, limit, sized, windowMs } = bucket.plan;
    return {
      quota: text,
      unit,
      permits: bucket.level(at),
      burst,
      declaredPerSecond: (limit * 1_000) / windowMs,
      sizedPerSecond: (sized * 1_000) / windowMs,
    };
  });
}
