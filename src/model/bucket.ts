import type { QuotaPlan } from '../base/plan.ts';

/** Permits that a call takes, one number per bucket of its lane. */
export type Costs = readonly number[];

/**
 * One quota as one instant: `tat`, the theoretical arrival time of the generic cell rate algorithm
 * (ITU-T I.371), here the lane time at which the bucket will be full. No refill loop, no drift.
 *
 * Rate r = sized permits per window, burst b, and for calls above the burst the room that a whole
 * window leaves (limit - r·W). A call of cost c may start at
 *
 *   tat + (c - clamp(c, b, max(b, room))) / r
 *
 * so up to the burst it spends what was saved; above it, it waits for a full bucket and leaves a debt;
 * above the room it waits longer still, so that no window ever holds more than the limit.
 * All instants are lane time in milliseconds.
 */
export class Bucket {
  readonly plan: QuotaPlan;
  /** Milliseconds of lane time in which one permit comes back. */
  readonly msPerPermit: number;
  /** Largest cost that need not wait beyond a full bucket. */
  readonly room: number;
  /** Largest cost that can ever start. */
  readonly largest: number;
  /** The largest cost that was taken so far. */
  heaviest = 1;
  tat: number;

  constructor(plan: QuotaPlan, tat: number) {
    this.plan = plan;
    this.msPerPermit = plan.windowMs / plan.sized;
    this.room = Math.max(plan.burst, plan.share - plan.sized);
    this.largest = Math.max(plan.share, plan.burst);
    this.tat = tat;
  }

  /** How much later than `tat` a call of this cost starts (negative up to the burst). */
  offset(cost: number): number {
    const spent = cost <= this.plan.burst ? this.plan.burst : Math.min(cost, this.room);
    return (cost - spent) * this.msPerPermit;
  }

  earliest(cost: number): number {
    return this.tat + this.offset(cost);
  }

  take(cost: number, at: number): void {
    if (cost > this.heaviest) this.heaviest = cost;
    this.tat = Math.max(this.tat, at) + cost * this.msPerPermit;
  }

  /** Corrects what an earlier call took: above 0 takes more, below 0 gives back. */
  correct(permits: number, at: number): void {
    this.tat = Math.max(this.tat, at) + permits * this.msPerPermit;
  }

  /** How much a queued call of this cost moves those behind it, in permits: its wait above the room included. */
  static backlog(bucket: Bucket, cost: number): number {
    return cost > bucket.room ? cost + (cost - bucket.room) : cost;
  }

  /** The instant at which the bucket is full again if it is empty at `at`. */
  fullFromEmpty(at: number): number {
    return at + this.plan.burst * this.msPerPermit;
  }

  /** Permits in the bucket: at most the burst, negative while a debt is repaid. */
  level(at: number): number {
    return this.tat <= at ? this.plan.burst : this.plan.burst - (this.tat - at) / this.msPerPermit;
  }

  /** The same bucket under a new plan: the level in permits is kept, capped at the new burst. */
  replanned(plan: QuotaPlan, at: number): Bucket {
    const next = new Bucket(plan, at);
    next.heaviest = this.heaviest;
    next.tat = at + (plan.burst - Math.min(this.level(at), plan.burst)) * next.msPerPermit;
    return next;
  }
}
