import { DUE_MS } from '../base/clock.ts';
import { Bucket } from '../model/bucket.ts';
import type { Costs, Gate } from '../model/gate.ts';
import { type Ahead, startAfter } from '../model/projection.ts';

/**
 * Calls that nobody keeps waiting: they start one microtask after they were made, and take nothing
 * before. What they will take is counted here, so that a second call of the same turn is told the truth.
 */
export class Entering {
  count = 0;
  places = 0;
  #first: Costs = [];
  #permits: number[] = [];
  readonly #gate: Gate;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** Costs of the one that starts first. */
  get first(): Costs {
    return this.#first;
  }

  get ahead(): Ahead {
    return { count: this.count, permits: this.#gate.buckets.map((_, i) => this.#permits[i] ?? 0) };
  }

  add(costs: Costs, places: number): void {
    if (this.count === 0) {
      this.#first = costs;
      this.#permits = [];
    }
    this.count++;
    this.places += places;
    const { buckets } = this.#gate;
    for (let i = 0; i < buckets.length; i++) {
      this.#permits[i] = (this.#permits[i] ?? 0) + Bucket.backlog(buckets[i]!, costs[i]!);
    }
  }

  remove(costs: Costs, places: number): void {
    this.count--;
    this.places -= places;
    const { buckets } = this.#gate;
    for (let i = 0; i < buckets.length; i++) this.#permits[i]! -= Bucket.backlog(buckets[i]!, costs[i] ?? 0);
  }

  /** Whether one more could start at once too. */
  hasPermits(costs: Costs, now: number): boolean {
    if (this.count === 0) return this.#gate.canStart(costs, now);
    return startAfter(this.#gate, this.ahead, this.#first, costs, now).at <= now + DUE_MS;
  }
}
