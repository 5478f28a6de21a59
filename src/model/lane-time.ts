/**
 * Lane time: the clock that buckets live in. It runs with the monotonic clock, except while the lane
 * is warm (for some time after a hold), when it runs slower by `factor`. A bucket that refills in lane
 * time needs no rescaling when the pace changes, and a forecast across the change stays exact.
 *
 *   lane(t) = t - lag - (1 - factor) · (part of [from, to) that lies before t)
 */
export class LaneTime {
  #lag = 0;
  #from = 0;
  #to = 0;
  #factor = 1;

  /** Lane time at a clock instant that is not before the last change. */
  at(now: number): number {
    const warm = Math.min(Math.max(now - this.#from, 0), this.#to - this.#from);
    return now - this.#lag - (1 - this.#factor) * warm;
  }

  /** The clock instant at which lane time reaches `lane`. */
  clockAt(lane: number): number {
    const cold = lane + this.#lag;
    if (cold <= this.#from) return cold;
    const warm = this.#from + (cold - this.#from) / this.#factor;
    return warm <= this.#to ? warm : cold + (1 - this.#factor) * (this.#to - this.#from);
  }

  /** Plans a warm stretch from `from` (not before `now`) to `to`; one that was planned or under way ends now. */
  warm(now: number, from: number, to: number, factor: number): void {
    this.#lag = now - this.at(now);
    this.#from = from;
    this.#to = to;
    this.#factor = factor;
  }

  /** Goes on as another lane's time does. */
  follow(other: LaneTime): void {
    this.#lag = other.#lag;
    this.#from = other.#from;
    this.#to = other.#to;
    this.#factor = other.#factor;
  }

  get warmFrom(): number {
    return this.#from;
  }

  get warmUntil(): number {
    return this.#to;
  }

  isWarm(now: number): boolean {
    return now >= this.#from && now < this.#to;
  }
}
