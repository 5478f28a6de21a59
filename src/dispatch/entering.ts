import { DUE_MS } from '../base/clock.ts';
import { Bucket, type Costs } from '../model/bucket.ts';
import type { Gate } from '../model/gate.ts';
import { type Ahead, startAfter } from '../model/projection.ts';

/**
 * Calls that nobody keeps waiting: they start one microtask after they were made, and take nothing
 * before. What they will take is counted here, so that a second call of the same turn is told the truth.
 */
export class Entering {
  count = 0;
  places = 0;
  /** Costs of the one that starts first. */
  first: Costs = [];
  /** Permits of all of them; made when there is a second. */
  #permits: number[] | undefined;
  /** Costs of those behind the first, in their order. */
  #rest: Costs[] = [];
  #at = 0;
  readonly #gate: Gate;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  get ahead(): Ahead {
    const zero = this.#gate.buckets.map(() => 0);
    const permits = this.count === 0 ? zero : (this.#permits ?? this.#plus(zero, this.first, 1));
    return { count: this.count, permits };
  }

  add(costs: Costs, needsPlace: boolean): void {
    if (this.count === 0) this.first = costs;
    else {
      this.#permits = this.#plus(this.ahead.permits, costs, 1);
      this.#rest.push(costs);
    }
    this.count++;
    if (needsPlace) this.places++;
  }

  remove(costs: Costs, needsPlace: boolean): void {
    this.count--;
    if (needsPlace) this.places--;
    if (this.#rest.length > 0) this.first = this.#rest[this.#at++] ?? costs;
    if (this.count > 0) {
      if (this.#permits !== undefined) this.#permits = this.#plus(this.#permits, costs, -1);
      return;
    }
    this.#permits = undefined;
    if (this.#rest.length > 0) this.#rest = [];
    this.#at = 0;
  }

  /** There are other buckets now: every one of these is taken to cost what a call costs that does not say. */
  recost(costs: Costs): void {
    this.first = costs;
    this.#rest.fill(costs);
    const { buckets } = this.#gate;
    this.#permits = buckets.map((bucket, i) => this.count * Bucket.backlog(bucket, costs[i]!));
  }

  /** Whether one more could start at once too. */
  hasPermits(costs: Costs, now: number): boolean {
    if (this.count === 0) return this.#gate.canStart(costs, now);
    return startAfter(this.#gate, this.ahead, this.first, costs, now).at <= now + DUE_MS;
  }

  #plus(permits: readonly number[], costs: Costs, sign: 1 | -1): number[] {
    const { buckets } = this.#gate;
    return buckets.map((bucket, i) => Math.max(0, (permits[i] ?? 0) + sign * Bucket.backlog(bucket, costs[i] ?? 0)));
  }
}
