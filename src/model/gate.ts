import { DUE_MS } from '../base/clock.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import { type HoldCause, type LimitedBy, REQUESTS } from '../base/words.ts';
import { Bucket, type Costs } from './bucket.ts';
import { Caps, EACH_START } from './caps.ts';
import { type CountLeft, countsFor } from './count-left.ts';
import { Holds } from './holds.ts';
import { LaneTime } from './lane-time.ts';
import { Ledger } from './ledger.ts';
import { type Known, mattersUntil, type OlderLimit, replanQuotas } from './replanning.ts';

/** A server's instant is kept to the nanosecond: only what floating point adds is forgiven. */
const HOLD_DUE_MS = 1e-6;
const SERVERS_HOLDS: readonly HoldCause[] = ['retry-after', 'cooldown', 'quota-reset'];
const WARMED_AFTER: ReadonlySet<HoldCause> = new Set(['retry-after', 'cooldown']);

/**
 * All the numbers that decide when a call of one lane may start: buckets, holds, the interval between
 * starts, and the ledger. Pure and synchronous: an instant goes in, an instant comes out, and only
 * `take`, `hold` and their like change anything. Instants are monotonic milliseconds.
 */
export class Gate {
  plan: DownstreamPlan;
  buckets: readonly Bucket[];
  readonly time = new LaneTime();
  readonly holds = new Holds();
  /** What the server's own counters leave us. */
  caps = new Caps();
  ledger: Ledger;
  lastStartAt = Number.NEGATIVE_INFINITY;
  /** Starts since the gate was made. */
  startCount = 0;
  /** What made the last `dueAt` later than its `now`. */
  limitedBy: LimitedBy | undefined;
  /** The same with its name: `quota:60/minute`, `hold:retry-after`. */
  limit: string | undefined;
  /** The end of a hold after which no call has started yet. */
  holdEnd: number | undefined;
  /**
   * An engine hands out turns: nothing starts that has none. Asked only where the ledger is in force, which it always
   * is there: other lanes do not pay for it.
   */
  isByTurns = false;
  /** Goes up whenever a start could come later than was thought before, other than by other starts. */
  revision = 0;
  #ledgerUntil = Number.NEGATIVE_INFINITY;
  /** For one window after a change of policy the larger quota of the two still binds the ledger. */
  #olderLimits: readonly (readonly OlderLimit[])[];
  /** Quotas that were taken out of the policy not long ago. */
  #asleep: readonly Known[] = [];

  constructor(plan: DownstreamPlan, now: number) {
    this.plan = plan;
    this.buckets = plan.quotas.map((quota) => new Bucket(quota, this.time.at(now)));
    this.ledger = new Ledger(plan.quotas.map((quota) => quota.windowMs));
    this.#olderLimits = plan.quotas.map(() => []);
    if (plan.engine === 'bottleneck') this.#ledgerUntil = Number.POSITIVE_INFINITY;
  }

  /** Whether a call may start now, were nobody ahead of it. */
  canStart(costs: Costs, now: number): boolean {
    if (this.isHeld(now)) return false;
    if (this.plan.unlimited) return true;
    if (now < this.#ledgerUntil || now < this.caps.until || this.#spacingMs(now) > 0)
      return !this.isByTurns && this.dueAt(costs, now) <= now + DUE_MS;
    const at = this.time.at(now) + DUE_MS;
    for (let i = 0; i < costs.length; i++) {
      const cost = costs[i]!;
      if (cost > 0 && this.buckets[i]!.earliest(cost) > at) return false;
    }
    return true;
  }

  /** The earliest instant at which a call of these costs may start, were nobody ahead of it; `now` if it may now. */
  dueAt(costs: Costs, now: number): number {
    this.limitedBy = undefined;
    this.limit = undefined;
    let at = now;
    if (this.isHeld(now)) {
      at = this.heldUntil;
      this.#limitIs('hold', this.plan.unlimited ? 'operator' : this.holds.cause);
    }
    if (this.plan.unlimited) return at;
    const spaced = this.intervalAfter(this.lastStartAt, 1, at);
    if (spaced > at + DUE_MS) {
      at = spaced;
      this.#limitIs('interval');
    }
    const isLedgerInForce = this.isLedgerInForce(now);
    for (let i = 0; i < costs.length; i++) {
      const cost = costs[i]!;
      if (cost <= 0) continue;
      const bucket = this.buckets[i]!;
      let due = this.time.clockAt(bucket.earliest(cost));
      if (isLedgerInForce) due = Math.max(due, this.#ledgerAt(i, cost, now));
      if (due <= at + DUE_MS) continue;
      at = due;
      this.#limitIs('quota', bucket.plan.text);
    }
    if (now >= this.caps.until) return at;
    const counter = this.caps.binding(costs, at);
    if (counter === undefined) return at;
    if (counter.isOfAll) this.#limitIs('hold', 'quota-reset');
    else this.#limitIs('quota', this.buckets[counter.index]!.plan.text);
    return counter.until;
  }

  /**
   * The server has counted: so many permits of a unit are left until `until`. `startsSince` of ours it may not
   * have counted yet. True if it lowers what may start.
   */
  heed(count: CountLeft, until: number, startsSince: number, now: number): boolean {
    const index = countsFor(this.plan.quotas, count);
    if (index === undefined) return false;
    const share = count.remaining / this.plan.workers;
    const bucket = this.buckets[index];
    if (bucket !== undefined && this.#isPlenty(bucket, share, until - now, startsSince)) return false;
    const taken = index === EACH_START ? startsSince : this.ledger.lastTaken(index, startsSince);
    this.caps.expire(now);
    const isOfAll = index === EACH_START || count.unit === REQUESTS;
    if (!this.caps.lower(index, Math.max(0, share - taken), until, isOfAll)) return false;
    this.revision++;
    return true;
  }

  /** Takes the permits of a call that starts now. */
  take(costs: Costs, now: number): void {
    const lane = this.time.at(now);
    for (let i = 0; i < costs.length; i++) {
      if (costs[i]! > 0) this.buckets[i]!.take(costs[i]!, lane);
    }
    if (this.holdEnd !== undefined) {
      for (const bucket of this.buckets) bucket.tat = this.emptied(bucket, bucket.tat, lane);
      this.holdEnd = undefined;
    }
    this.lastStartAt = now;
    this.startCount++;
    if (this.caps.until > now) this.caps.take(costs);
    this.ledger.push(now, costs);
  }

  /**
   * A hold stores up no burst: the first start after it leaves the buckets of the shortest window at most
   * empty, as long as a bucket emptied at the end of the hold would not be full again. Those of longer windows
   * keep what they had: to empty the bucket of a day for a hold of a second would cost a tenth of the day.
   */
  emptied(bucket: Bucket, tat: number, lane: number, holdEnd = this.holdEnd): number {
    if (this.buckets.some((other) => other.plan.windowMs < bucket.plan.windowMs)) return tat;
    const isFullAgain = holdEnd === undefined || lane >= bucket.fullFromEmpty(this.time.at(holdEnd));
    return isFullAgain ? tat : Math.max(tat, bucket.fullFromEmpty(lane));
  }

  /** Corrects what the call that started at `startedAt` took of bucket `index`; below 0 gives back. */
  correct(index: number, permits: number, startedAt: number, now: number): void {
    const bucket = this.buckets[index];
    if (bucket === undefined || permits === 0) return;
    this.revision++;
    bucket.correct(permits, this.time.at(now));
    this.ledger.correct(index, startedAt, permits);
    if (permits < 0) this.#ledgerUntil = Math.max(this.#ledgerUntil, now + bucket.plan.windowMs);
  }

  /** Holds every start until an instant; true if that is later than what that cause held before. */
  hold(cause: HoldCause, until: number, now: number): boolean {
    if (!this.holds.extend(cause, until)) return false;
    this.revision++;
    this.holdEnd = this.holds.until;
    this.#planWarm(now);
    return true;
  }

  /** Ends the operator's hold; with `all`, the server's too. */
  resume(now: number, all: boolean): void {
    const wasHeld = this.isHeld(now);
    const wasWarmed = this.#warmedFrom(now) > now;
    this.holds.end(all ? ['operator', ...SERVERS_HOLDS] : ['operator']);
    if (all) this.caps.clear();
    if (wasHeld) this.holdEnd = Math.max(this.holds.until, now);
    if (all && wasWarmed) this.#warm(now, now);
    if (!all) this.#planWarm(now);
  }

  /** The instant before which nothing starts. Who is unlimited is held by the operator alone. */
  get heldUntil(): number {
    return this.plan.unlimited ? this.holds.untilOf('operator') : this.holds.until;
  }

  /** With more than `pauseAbove` left of it, a hold is a pause. */
  isPaused(now: number): boolean {
    return this.heldUntil - now > this.plan.pauseAboveMs + DUE_MS;
  }

  isHeld(now: number): boolean {
    return this.heldUntil - now > HOLD_DUE_MS;
  }

  /** The earliest instant at which the `count`-th start after one at `from` may come, by spacing alone. */
  intervalAfter(from: number, count: number, atLeast: number): number {
    if (this.plan.unlimited) return Math.max(from, atLeast);
    const interval = this.plan.minIntervalMs ?? 0;
    const plain = from + count * interval;
    const { warmFrom, warmUntil } = this.time;
    const spacing = this.buckets.length === 0 ? this.plan.warm.spacingMs : 0;
    const first = Math.max(from + interval, atLeast);
    if (spacing <= interval || first >= warmUntil || plain < warmFrom) return Math.max(plain, atLeast);
    const steps = Math.min(count, Math.ceil((warmUntil - from) / spacing));
    const warm = Math.min(from + steps * spacing, warmUntil);
    return Math.max(warm + (count - steps) * interval, plain, atLeast);
  }

  /** The gate under a new plan: levels, holds and history are kept; quotas are matched by unit and window. */
  replan(plan: DownstreamPlan, now: number): void {
    this.revision++;
    const known = [...this.#awake(), ...this.#asleep];
    const instant = { now, lane: this.time.at(now), clockAt: (lane: number) => this.time.clockAt(lane) };
    const { awake, asleep, ledger } = replanQuotas(plan.quotas, known, this.ledger, instant);
    this.ledger = ledger;
    this.buckets = awake.map(({ bucket }) => bucket);
    this.#olderLimits = awake.map(({ older }) => older);
    this.#asleep = asleep;
    const longest = Math.max(0, ...plan.quotas.map((quota) => quota.windowMs));
    const before = this.plan.engine === 'bottleneck' ? now : this.#ledgerUntil;
    this.#ledgerUntil = plan.engine === 'bottleneck' ? Number.POSITIVE_INFINITY : Math.max(before, now + longest);
    this.caps.reindex((index) => {
      if (index === EACH_START) return index;
      const { unit, windowMs } = this.plan.quotas[index]!;
      const kept = plan.quotas.findIndex((quota) => quota.unit === unit && quota.windowMs === windowMs);
      if (kept >= 0) return kept;
      // The server's word outlives the quota that it was matched with.
      return countsFor(plan.quotas, { unit, windowMs, remaining: 1 });
    });
    this.plan = plan;
  }

  /** Until when it knows something of quotas that are not in the policy any more. */
  get remembersUntil(): number {
    const clockAt = (lane: number): number => this.time.clockAt(lane);
    return Math.max(Number.NEGATIVE_INFINITY, ...this.#asleep.map((one) => mattersUntil(one, clockAt)));
  }

  /** After a refund and after a change of policy levels alone do not keep the window rule: history counts too. */
  isLedgerInForce(now: number): boolean {
    return now < this.#ledgerUntil;
  }

  #awake(): Known[] {
    return this.buckets.map((bucket, i) => ({ quota: bucket.plan, bucket, older: this.#olderLimits[i]! }));
  }

  /** Milliseconds that must lie between a start now and the one before it. */
  #spacingMs(now: number): number {
    const interval = this.plan.minIntervalMs ?? 0;
    return this.buckets.length === 0 && this.time.isWarm(now) ? Math.max(interval, this.plan.warm.spacingMs) : interval;
  }

  /** Whether `left`, less all that `starts` can have taken, is more than a bucket gives in that time: its room, and what comes back. */
  #isPlenty(bucket: Bucket, left: number, ms: number, starts: number): boolean {
    return left - starts * bucket.heaviest >= bucket.room + ms / bucket.msPerPermit;
  }

  #ledgerAt(index: number, cost: number, now: number): number {
    const { plan } = this.buckets[index]!;
    if (plan.providerBurst !== undefined) return now;
    let limit = plan.share;
    for (const older of this.#olderLimits[index]!) if (older.until > now) limit = Math.max(limit, older.limit);
    return this.ledger.fitsAt(index, cost, limit, now);
  }

  #warmedFrom(now: number): number {
    let from = 0;
    for (const [cause, until] of this.holds.inForce(now)) if (WARMED_AFTER.has(cause)) from = Math.max(from, until);
    return from;
  }

  #planWarm(now: number): void {
    const from = this.#warmedFrom(now);
    if (from > now && from !== this.time.warmFrom) this.#warm(now, from);
  }

  #warm(now: number, from: number): void {
    this.time.warm(now, from, from + this.plan.warm.forMs, this.plan.warm.rateFactor);
  }

  #limitIs(by: LimitedBy, name?: string): void {
    this.limitedBy = by;
    this.limit = name === undefined ? by : `${by}:${name}`;
  }
}
