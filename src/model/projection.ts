import type { LimitedBy } from '../base/words.ts';
import { Bucket } from './bucket.ts';
import type { Costs, Gate } from './gate.ts';

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
  #lastAt: number;
  #isFirst = true;
  limitedBy: LimitedBy | undefined;
  limit: string | undefined;

  constructor(gate: Gate, now: number) {
    this.#gate = gate;
    this.#now = now;
    this.#lastAt = now;
    this.#tats = gate.buckets.map((bucket) => bucket.tat);
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
    for (let i = 0; i < this.#tats.length; i++) {
      const bucket = gate.buckets[i]!;
      const tat = Math.max(this.#tats[i]!, lane) + (costs[i] ?? 0) * bucket.msPerPermit;
      this.#tats[i] = this.#isFirst ? gate.emptied(bucket, tat, lane) : tat;
    }
    this.#isFirst = false;
    this.#lastAt = at;
    return at;
  }

  /** Lets a crowd start, after at least one `start`. */
  skip(ahead: Ahead): void {
    if (ahead.count <= 0) return;
    for (let i = 0; i < this.#tats.length; i++) {
      this.#tats[i]! += ahead.permits[i]! * this.#gate.buckets[i]!.msPerPermit;
    }
    this.#lastAt = this.#gate.intervalAfter(this.#lastAt, ahead.count, this.#lastAt);
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
