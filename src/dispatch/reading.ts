import type { HoldState } from '../base/plan.ts';
import type { ClassSnapshot, DownstreamSnapshot, HeardSnapshot, QuotaSnapshot } from '../base/snapshot.ts';
import { type HoldCause, type LimitedBy, PRIORITIES, type Priority } from '../base/words.ts';
import type { Downstream } from './downstream.ts';
import { expect, shown } from './expectation.ts';
import type { Lane } from './lane.ts';
import { plainRequest, type Request } from './request.ts';
import { Tally } from './tally.ts';

/** One downstream as a snapshot shows it, the lanes of its accounts included; reading changes nothing. */
export function readDownstream(downstream: Downstream): DownstreamSnapshot {
  const { lane, plan, mode, ports, pauseReason } = downstream;
  const now = ports.clock.now();
  const wall = ports.clock.wallNow() - now;
  const lanes = [...downstream.lanes()];
  const books = lanes.map((one) => one.books);
  const sum = (of: (one: Lane) => number): number => lanes.reduce((total, one) => total + of(one), 0);
  const most = (of: (one: Lane) => number): number => books.reduce((most, one) => Math.max(most, of(one)), 0);
  const heldUntil = most((one) => (one.gate.isHeld(now) ? one.gate.heldUntil : 0));
  const told = worst(books, plainRequest(plan, now), now);
  const tally = new Tally();
  tally.add(downstream.forgotten);
  for (const one of lanes) tally.add(one.tally);
  const incidentId = books.find((one) => one.incidents.id !== undefined)?.incidents.id;
  const heard = lanes.reduce<HeardSnapshot | undefined>(
    (latest, { heard: { last } }) => (last !== undefined && last.at >= (latest?.at ?? 0) ? last : latest),
    undefined,
  );
  return {
    downstream: plan.name,
    mode,
    queued: books.reduce((total, one) => total + one.line.length, 0),
    classes: readClasses(books, now),
    oldestWaitMs: most((one) => ageOf(one, undefined, now)),
    running: sum((one) => one.running.inFlight),
    ...(plan.maxConcurrent === undefined ? {} : { maxConcurrent: plan.maxConcurrent }),
    overdue: sum((one) => one.running.overdue),
    orphaned: sum((one) => one.running.orphaned),
    isPaused: books.some((one) => one.gate.isPaused(now)),
    ...(heldUntil > 0 ? { heldUntil: wall + heldUntil } : {}),
    holds: mode === 'off' ? [] : readHolds(books, now, wall),
    ...(pauseReason === undefined ? {} : { pauseReason }),
    warmLeftMs: most(({ gate }) => (gate.time.isWarm(now) ? gate.time.warmUntil - now : 0)),
    expectedWaitMs: told.ms,
    ...(told.ms > 0 ? { limitedBy: told.limitedBy } : {}),
    quotas: readQuotas(lane.books, now, wall),
    inARow: most((one) => one.incidents.inARow),
    ...(incidentId === undefined ? {} : { incidentId }),
    ...(tally.lastThrottledAt === undefined ? {} : { lastThrottledAt: tally.lastThrottledAt }),
    ...(heard === undefined ? {} : { heard }),
    accounts: downstream.accounts,
    recent: ports.recent.read(now),
    top: downstream.top.read(now),
    totals: tally.read(),
  };
}

/** What a new call would be told where it would wait longest: a lane that stands still must be seen. */
function worst(lanes: readonly Lane[], request: Request, now: number): { ms: number; limitedBy: LimitedBy } {
  let worst = { ms: 0, limitedBy: 'queue' as LimitedBy };
  for (const lane of lanes) {
    const told = shown(lane, expect(lane, request, now), now);
    if (told.ms > worst.ms) worst = told;
  }
  return worst;
}

function readHolds(lanes: readonly Lane[], now: number, wall: number): HoldState[] {
  const latest = new Map<HoldCause, number>();
  for (const { gate } of lanes) {
    for (const [cause, until] of gate.holds.inForce(now)) latest.set(cause, Math.max(latest.get(cause) ?? 0, until));
  }
  return [...latest].map(([cause, until]) => ({ cause, leftMs: until - now, until: wall + until }));
}

function readClasses(lanes: readonly Lane[], now: number): Record<Priority, ClassSnapshot> {
  const read = PRIORITIES.map((priority, rank) => {
    const length = lanes.reduce((total, lane) => total + lane.line.lengthOf(rank), 0);
    const oldestMs = lanes.reduce((most, lane) => Math.max(most, ageOf(lane, rank, now)), 0);
    return [priority, { length, oldestMs }] as const;
  });
  return Object.fromEntries(read) as Record<Priority, ClassSnapshot>;
}

function ageOf(lane: Lane, rank: number | undefined, now: number): number {
  const oldest = lane.line.oldest(rank);
  return oldest === undefined ? 0 : now - oldest.since;
}

function readQuotas(lane: Lane, now: number, wall: number): QuotaSnapshot[] {
  const at = lane.gate.time.at(now);
  return lane.gate.buckets.map((bucket, i) => {
    const counted = lane.gate.caps.tightest(i, now);
    const { text, unit, burst, limit, sized, windowMs } = bucket.plan;
    return {
      quota: text,
      unit,
      permits: bucket.level(at),
      burst,
      ...(counted === undefined ? {} : { counted: { left: Math.max(0, counted.left), until: wall + counted.until } }),
      declaredPerSecond: (limit * 1_000) / windowMs,
      sizedPerSecond: (sized * 1_000) / windowMs,
    };
  });
}
