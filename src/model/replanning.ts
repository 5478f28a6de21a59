import type { QuotaPlan } from '../base/plan.ts';
import { REQUESTS } from '../base/words.ts';
import { Bucket } from './bucket.ts';
import type { Inherited, Ledger } from './ledger.ts';

/** Quotas that were taken out of the policy are remembered, at most so many: each costs a column of the ledger. */
const MOST_ASLEEP = 8;

/** A limit that was in force: until an instant it still binds the window rule. */
export interface OlderLimit {
  readonly limit: number;
  readonly until: number;
}

/** A quota and what is known of it: in force, or asleep since it was taken out of the policy. */
export interface Known {
  readonly quota: QuotaPlan;
  readonly bucket: Bucket;
  readonly older: readonly OlderLimit[];
  /** Monotonic milliseconds; undefined while it is in force. */
  readonly sleptAt?: number;
}

/** When quotas change: monotonic and lane time. */
export interface Instant {
  readonly now: number;
  readonly lane: number;
  readonly clockAt: (lane: number) => number;
}

/** What a lane goes on with under other quotas. */
export interface Replanned {
  readonly awake: readonly Known[];
  readonly asleep: readonly Known[];
  readonly ledger: Ledger;
}

/**
 * Matches quotas by unit and window. A quota that is gone is remembered as long as it could matter: one that
 * is taken out and put back must not come back full. A quota that is new has no more permits than its unit had
 * before, nor more than what started has left of it.
 * `known`: in the order of the ledger's columns.
 */
export function replanQuotas(
  quotas: readonly QuotaPlan[],
  known: readonly Known[],
  ledger: Ledger,
  instant: Instant,
): Replanned {
  const { now } = instant;
  const from = quotas.map((quota) => known.findIndex((one) => isSame(one.quota, quota)));
  const columns = quotas.map((quota, i) => inherited(quota, from[i]!, known));
  const awake = quotas.map((quota, i): Known => {
    const old = known[from[i]!];
    if (old === undefined) {
      return { quota, bucket: newBucket(quota, columns[i]!, known, ledger, instant), older: [] };
    }
    const bucket = levelled(old, from[i]!, ledger, instant).replanned(quota, instant.lane);
    return { quota, bucket, older: olderLimits(old, quota, now) };
  });
  const left = known
    .map((one, column) => ({ one: { ...one, sleptAt: one.sleptAt ?? now }, column }))
    .filter(({ one, column }) => !from.includes(column) && matters(one, instant))
    .sort((a, b) => b.one.sleptAt - a.one.sleptAt)
    .slice(0, MOST_ASLEEP);
  const asleep = left.map(({ one }) => one);
  return {
    awake,
    asleep,
    ledger: ledger.replanned(
      [...quotas, ...asleep.map(({ quota }) => quota)].map(({ windowMs }) => windowMs),
      [...columns, ...left.map(({ column }) => column)],
      asleep.map(({ quota }) => (quota.unit === REQUESTS ? 1 : 0)),
    ),
  };
}

/** Until when a quota that is asleep can matter. */
export function mattersUntil({ quota, bucket, sleptAt = 0 }: Known, clockAt: Instant['clockAt']): number {
  return Math.max(sleptAt + quota.windowMs, clockAt(bucket.tat));
}

function matters(one: Known, { now, clockAt }: Instant): boolean {
  return mattersUntil(one, clockAt) > now;
}

function isSame(a: QuotaPlan, b: QuotaPlan): boolean {
  return a.unit === b.unit && a.windowMs === b.windowMs;
}

/** A quota that is new is held to what started before it, as far as that is known. */
function inherited({ unit }: QuotaPlan, same: number, known: readonly Known[]): Inherited {
  if (same >= 0) return same;
  const alike = known.findIndex((one) => one.quota.unit === unit && one.sleptAt === undefined);
  if (alike >= 0) return alike;
  return unit === REQUESTS ? 'starts' : 'nothing';
}

/** The limits that still bind it, once each: one that is not larger than a later one says nothing. */
function olderLimits({ quota: old, older, sleptAt }: Known, quota: QuotaPlan, now: number): OlderLimit[] {
  const latest = { limit: old.share, until: (sleptAt ?? now) + quota.windowMs };
  return [...older.filter(({ limit }) => limit > latest.limit), latest].filter(({ until }) => until > now);
}

/** The bucket as it is; of one that was asleep, less what started meanwhile, at most down to empty. */
function levelled({ bucket, sleptAt }: Known, column: number, ledger: Ledger, { now, lane }: Instant): Bucket {
  if (sleptAt === undefined) return bucket;
  const charged = new Bucket(bucket.plan, bucket.tat);
  charged.heaviest = bucket.heaviest;
  ledger.replay(column, sleptAt, (at, cost) => charged.take(cost, lane - (now - at)));
  charged.tat = Math.min(charged.tat, Math.max(bucket.tat, charged.fullFromEmpty(lane)));
  return charged;
}

/** With what the starts that are known have left in it, and no more permits than its unit has had; never in debt. */
function newBucket(
  quota: QuotaPlan,
  column: Inherited,
  known: readonly Known[],
  ledger: Ledger,
  instant: Instant,
): Bucket {
  const { now, lane } = instant;
  const bucket = new Bucket(quota, Number.NEGATIVE_INFINITY);
  if (column !== 'nothing') {
    ledger.replay(column, Number.NEGATIVE_INFINITY, (at, cost) => bucket.take(cost, lane - (now - at)));
  }
  let level = bucket.level(lane);
  for (const [i, one] of known.entries()) {
    if (one.quota.unit !== quota.unit) continue;
    level = Math.min(level, levelled(one, i, ledger, instant).level(lane));
  }
  bucket.tat = lane + (quota.burst - Math.max(0, Math.min(level, quota.burst))) * bucket.msPerPermit;
  return bucket;
}
