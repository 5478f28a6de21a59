import type { LimitedBy } from '../base/words.ts';
import { Bucket, type Costs } from './bucket.ts';
import type { Caps } from './caps.ts';
import type { Gate } from './gate.ts';

/** Costs of calls that will start before another one, summed. */
export interface Ahead {
  count: number;
  /** Permits per bucket, with what heavy calls wait above the room (`Bucket.backlog`). */
  readonly permits: number[];
}

/**
 * The starts that are to come, foretold one after another without touching the gate: what a new call
 * is told, what a look over the waiters finds, what a forecast of many calls says. Places of calls in
 * flight are not foreseen, so that what is told is never later than the truth.
 */
export class Projection {
  readonly #gate: Gate;
  readonly #now: number;
  readonly #tats: number[];
  /** The server's counters as they will be; undefined where nothing is capped. */
  readonly #caps: Caps | undefined;
  /** The instant for which such a counter makes the next call wait. */
  #resetAt: number | undefined;
  /** Somebody ahead has had to wait for one. */
  #hasReset = false;
  #lastCosts: Costs = [];
  #lastAt: number;
  #isFirst = true;
  limitedBy: LimitedBy | undefined;
  limit: string | undefined;

  constructor(gate: Gate, now: number) {
    this.#gate = gate;
    this.#now = now;
    this.#lastAt = now;
    this.#tats = gate.buckets.map((bucket) => bucket.tat);
    this.#caps = now < gate.caps.until ? gate.caps.copy() : undefined;
  }

  /** When a call of these costs would start if it were next. */
  due(costs: Costs): number {
    const gate = this.#gate;
    if (this.#isFirst) {
      const at = gate.dueAt(costs, this.#now);
      this.limitedBy = gate.limitedBy;
      this.limit = gate.limit;
      return at;
    }
    let at = gate.intervalAfter(this.#lastAt, 1, this.#lastAt);
    this.#limitIs(at > this.#lastAt ? 'interval' : 'queue');
    for (let i = 0; i < costs.length; i++) {
      const bucket = gate.buckets[i]!;
      if (costs[i]! <= 0) continue;
      const due = gate.time.clockAt(this.#tats[i]! + bucket.offset(costs[i]!));
      if (due <= at) continue;
      at = due;
      this.#limitIs('quota', bucket.plan.text);
    }
    if (this.#caps !== undefined) {
      const counter = this.#caps.binding(costs, at);
      const counted = counter?.until ?? at;
      if (counter?.isOfAll === true) this.#limitIs('hold', 'quota-reset');
      else if (counter !== undefined) this.#limitIs('quota', gate.buckets[counter.index]!.plan.text);
      // A counter that is used up will be a hold: the first start after it finds the buckets empty.
      this.#resetAt = counted > at && this.#caps.spentUntil >= counted ? counted : undefined;
      if (this.#hasReset) this.#limitIs('hold', 'quota-reset');
      at = counted;
    }
    // What a person looks for first: without the hold nobody would wait that long.
    if (gate.isHeld(this.#now)) this.#limitIs('hold', gate.holds.cause);
    return at;
  }

  #limitIs(by: LimitedBy, name?: string): void {
    this.limitedBy = by;
    this.limit = name === undefined ? by : `${by}:${name}`;
  }

  /** Lets a call of these costs start as early as it can; returns when that is. */
  start(costs: Costs): number {
    const at = this.due(costs);
    const gate = this.#gate;
    const lane = gate.time.at(at);
    const heldUntil = this.#isFirst ? gate.holdEnd : this.#resetAt;
    for (let i = 0; i < this.#tats.length; i++) {
      const bucket = gate.buckets[i]!;
      const tat = Math.max(this.#tats[i]!, lane) + (costs[i] ?? 0) * bucket.msPerPermit;
      this.#tats[i] = heldUntil === undefined ? tat : gate.emptied(bucket, tat, lane, heldUntil);
    }
    if (heldUntil !== undefined && !this.#isFirst) this.#hasReset = true;
    this.#caps?.take(costs);
    this.#lastCosts = costs;
    this.#isFirst = false;
    this.#lastAt = at;
    return at;
  }

  /** Lets a crowd start, after at least one `start`. */
  skip(ahead: Ahead): void {
    if (ahead.count <= 0) return;
    if (this.#caps === undefined) this.#skipFreely(ahead);
    else if (this.#areAllLikeTheLast(ahead)) this.#skipCounted(ahead.count, this.#caps);
    else this.#skipMixed(ahead, this.#caps);
  }

  #skipFreely(ahead: Ahead): void {
    for (let i = 0; i < this.#tats.length; i++) {
      this.#tats[i]! += ahead.permits[i]! * this.#gate.buckets[i]!.msPerPermit;
    }
    this.#lastAt = this.#gate.intervalAfter(this.#lastAt, ahead.count, this.#lastAt);
  }

  #areAllLikeTheLast({ count, permits }: Ahead): boolean {
    return permits.every((sum, i) => sum === count * backlogOf(this.#gate, i, this.#lastCosts));
  }

  /** As many as the server's counters leave, then one that waits for them to start afresh, and so on. */
  #skipCounted(count: number, caps: Caps): void {
    const costs = this.#lastCosts;
    let left = count;
    while (left > 0) {
      const free = Math.min(left, caps.room(costs, this.#lastAt));
      caps.take(costs, free);
      this.#skipFreely({
        count: free,
        permits: costs.map((cost, i) => free * Bucket.backlog(this.#gate.buckets[i]!, cost)),
      });
      left -= free;
      if (left > 0) this.start(costs);
      left--;
    }
  }

  /** What each of them costs is not known: never later than the truth. */
  #skipMixed(ahead: Ahead, caps: Caps): void {
    // A backlog is less than twice the cost.
    const costs = ahead.permits.map((permits) => permits / 2 / ahead.count);
    const until = caps.dueAt(
      costs.map((cost) => cost * ahead.count),
      this.#lastAt,
    );
    this.#skipFreely(ahead);
    this.#lastAt = Math.max(this.#lastAt, until);
    caps.take(costs, ahead.count);
  }
}

/** When a call could start, and what keeps it from starting sooner. */
export interface Outlook {
  readonly at: number;
  readonly limitedBy: LimitedBy | undefined;
  readonly limit: string | undefined;
}

/** The gate once a crowd has started, the first of which has costs `first`. */
export function projectAfter(gate: Gate, ahead: Ahead, first: Costs, now: number): Projection {
  const projection = new Projection(gate, now);
  if (ahead.count > 0) {
    projection.start(first);
    const permits = ahead.permits.map((sum, i) => Math.max(0, sum - backlogOf(gate, i, first)));
    projection.skip({ count: ahead.count - 1, permits });
  }
  return projection;
}

/** When a call of these costs starts with a crowd ahead of it. */
export function startAfter(gate: Gate, ahead: Ahead, first: Costs, costs: Costs, now: number): Outlook {
  const projection = projectAfter(gate, ahead, first, now);
  const at = Math.max(now, projection.due(costs));
  return { at, limitedBy: projection.limitedBy, limit: projection.limit };
}

function backlogOf(gate: Gate, index: number, costs: Costs): number {
  return Bucket.backlog(gate.buckets[index]!, costs[index] ?? 0);
}
