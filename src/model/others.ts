import type { OwnUse } from './own-use.ts';

/** Instants kept per window, a little further apart than this many in one. */
const KEPT = 34;
const PER_WINDOW = 28;
/** Servers count in slices, and clocks drift: their window may be this much longer than it is said to be. */
const LONGER = 1.02;
/** Answers in a row that must say so: one that comes out of a cache says nothing of now. */
const AGREEING = 3;
/** What rounding on the server's side may add. */
const ROUNDING = 1;
/** Windows without a sign after which the count of windows begins anew. */
const FORGOTTEN = 3;

/**
 * Whether somebody else uses a quota, from what the server says is left of it. Sound rather than sharp:
 * whatever kind of window or bucket the server runs, all that it can count of ours was answered after the
 * window began, and had started by the time we heard of it. What is above that, others have used.
 */
export class Others {
  /** Windows in a row, none overlapping the next, in which others used more than they may. */
  windows = 0;
  readonly #windowMs: number;
  readonly #at = new Float64Array(KEPT);
  /** Permits that were answered by then. */
  readonly #answered = new Float64Array(KEPT);
  readonly #startCount = new Float64Array(KEPT);
  #count = 0;
  /** What the last answers prove that others used. */
  readonly #proven: number[] = [];
  #lastSignAt = Number.NEGATIVE_INFINITY;
  readonly #ceiling = new Ceiling();

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** The most that can be left: the limit, or less where the server's counter never goes so high. */
  ceiling(limit: number): number {
    return this.#ceiling.of(limit);
  }

  /** `allowed`: what others may use without anybody having to hear of it. True when a further window has shown more. */
  hear(limit: number, remaining: number, use: OwnUse, allowed: number): boolean {
    const isSign = this.#isSign(limit, remaining, use, allowed);
    this.#keep(use);
    return isSign;
  }

  #isSign(limit: number, remaining: number, use: OwnUse, allowed: number): boolean {
    const { now, startNumber } = use;
    if (startNumber === undefined) return false;
    const started = this.#last((i) => this.#startCount[i]! < startNumber);
    if (started === undefined) return false;
    const edge = this.#at[started]! - this.#windowMs * LONGER;
    const before = this.#last((i) => this.#at[i]! <= edge);
    const ours = use.taken - (before === undefined ? 0 : this.#answered[before]!);
    this.#ceiling.hear(remaining, ours);
    if (before === undefined) return false;
    this.#proven.push(this.ceiling(limit) - remaining - ours - ROUNDING);
    if (this.#proven.length > AGREEING) this.#proven.shift();
    if (this.#proven.length < AGREEING || Math.min(...this.#proven) <= allowed) return false;
    if (edge < this.#lastSignAt) return false;
    this.windows = now - this.#lastSignAt > FORGOTTEN * this.#windowMs ? 1 : this.windows + 1;
    this.#lastSignAt = now;
    return true;
  }

  /** The newest entry of which that is true. */
  #last(isIt: (i: number) => boolean): number | undefined {
    for (let n = this.#count - 1; n >= Math.max(0, this.#count - KEPT); n--) if (isIt(n % KEPT)) return n % KEPT;
    return undefined;
  }

  #keep({ now, taken, unanswered, startCount }: OwnUse): void {
    if (this.#count > 0 && now - this.#at[(this.#count - 1) % KEPT]! < this.#windowMs / PER_WINDOW) return;
    const i = this.#count++ % KEPT;
    this.#at[i] = now;
    this.#answered[i] = taken - unanswered;
    this.#startCount[i] = startCount;
  }
}

/**
 * Finds out that a counter never shows more than so much: a bucket smaller than its limit. In a window, which
 * others may use too, what is left goes down as our own use goes up; in a bucket that is full again, it does not.
 */
class Ceiling {
  #most = 0;
  #atTop = 0;
  #leastOurs = 0;
  #mostOurs = 0;
  #isFound = false;

  of(limit: number): number {
    // The answered call has been taken off already.
    return this.#isFound ? Math.min(limit, this.#most + 1) : limit;
  }

  hear(remaining: number, ours: number): void {
    if (remaining > this.#most) {
      this.#isFound &&= remaining <= this.#most + ROUNDING;
      this.#most = remaining;
    }
    if (remaining < this.#most - ROUNDING) {
      this.#atTop = 0;
      return;
    }
    if (this.#atTop++ === 0) this.#leastOurs = this.#mostOurs = ours;
    this.#leastOurs = Math.min(this.#leastOurs, ours);
    this.#mostOurs = Math.max(this.#mostOurs, ours);
    this.#isFound ||= this.#atTop > AGREEING && this.#mostOurs - this.#leastOurs > ROUNDING + 1;
  }
}
