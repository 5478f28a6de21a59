import { DUE_MS } from '../base/clock.ts';

/** More starts than this are kept in pairs: bounded memory, and a pair counts for longer, never for less. */
const MOST_ENTRIES = 1 << 16;
/** Windows that an alert shows whatever is declared reach this far back. */
const SHOWN_MS = 10_000;
/** Columns of an entry: its instant, the starts it stands for, then what it took of each bucket. */
const COUNT = 1;
const COSTS = 2;

/** What a bucket that is new takes over: the costs of an old one, the number of starts, or nothing. */
export type Inherited = number | 'starts' | 'nothing';

interface Cursor {
  readonly windowMs: number;
  tail: number;
  head: number;
  sum: number;
}

/**
 * The starts of the last window, with what each took of every bucket. Needed where levels alone cannot
 * keep the window rule (after a refund, after a change of policy) and to tell what was started when.
 * A push writes one row of a ring; sums are caught up when they are asked for.
 */
export class Ledger {
  readonly #stride: number;
  readonly #cursors: Cursor[];
  #rows: Float64Array;
  /** The ring before the last rebuild, used for the next one. */
  #spare: Float64Array | undefined;
  /** Rows of the ring less 1: a power of two less 1. */
  #mask: number;
  #tail = 0;
  #head = 0;
  #hasPairs = false;
  /** What a start counts for in the columns that it has no costs for. */
  readonly #fills: readonly number[];

  /** `fills`: for the last columns, what every start counts for there. */
  constructor(windowsMs: readonly number[], capacity = 64, fills: readonly number[] = []) {
    this.#fills = fills;
    this.#stride = COSTS + windowsMs.length;
    this.#cursors = windowsMs.map((windowMs) => ({ windowMs, tail: 0, head: 0, sum: 0 }));
    this.#rows = new Float64Array(capacity * this.#stride);
    this.#mask = capacity - 1;
  }

  push(at: number, costs: readonly number[]): void {
    if (this.#head - this.#tail > this.#mask) this.#makeRoom(at);
    const rows = this.#rows;
    const row = this.#row(this.#head++);
    rows[row] = at;
    rows[row + COUNT] = 1;
    for (let i = 0; i < costs.length; i++) rows[row + COSTS + i] = costs[i]!;
    const fills = this.#fills;
    for (let i = 0; i < fills.length; i++) rows[row + this.#stride - fills.length + i] = fills[i]!;
  }

  /** What bucket `index` took in the last window. */
  used(index: number, now: number): number {
    return this.#catchUp(index, now).sum;
  }

  /** The earliest instant at which `cost` more fits within `limit`; `now` if it fits already. */
  fitsAt(index: number, cost: number, limit: number, now: number): number {
    const cursor = this.#catchUp(index, now);
    let sum = cursor.sum;
    let at = now;
    for (let i = cursor.tail; i < this.#head && sum + cost > limit + 1e-9; i++) {
      const row = this.#row(i);
      sum -= this.#rows[row + COSTS + index]!;
      at = this.#rows[row]! + cursor.windowMs;
    }
    return at;
  }

  /** Corrects what the call that started at `startedAt` took of bucket `index`. */
  correct(index: number, startedAt: number, permits: number): void {
    const i = this.#firstFrom(startedAt);
    // One that is no longer kept must not be taken for the first that is.
    if (i >= this.#head || (i === this.#tail && this.#at(i) !== startedAt)) return;
    this.#rows[this.#row(i) + COSTS + index]! += permits;
    const cursor = this.#cursors[index]!;
    if (i >= cursor.tail && i < cursor.head) cursor.sum += permits;
  }

  /** What the last `count` starts took of bucket `index`; where starts are kept in pairs, at least that. */
  lastTaken(index: number, count: number): number {
    let sum = 0;
    for (let i = Math.max(this.#tail, this.#head - count); i < this.#head; i++) {
      sum += this.#rows[this.#row(i) + COSTS + index]!;
    }
    return sum;
  }

  /** Starts in (now - windowMs, now]. */
  starts(windowMs: number, now: number): number {
    let i = this.#firstFrom(now - windowMs);
    while (i < this.#head && this.#at(i) <= now - windowMs) i++;
    if (!this.#hasPairs) return this.#head - i;
    let count = 0;
    for (; i < this.#head; i++) count += this.#rows[this.#row(i) + COUNT]!;
    return count;
  }

  /**
   * What bucket `index` took at starts after `since`, without the last `skipped` of them; each start counts
   * for one at least. Without a bucket (-1): the starts.
   */
  takenSince(since: number, index: number, skipped = 0): number {
    let i = this.#firstFrom(since);
    while (i < this.#head && this.#at(i) <= since) i++;
    let left = skipped;
    let sum = 0;
    for (let j = this.#head - 1; j >= i; j--) {
      const row = this.#row(j);
      const starts = this.#rows[row + COUNT]!;
      if (left >= starts) left -= starts;
      else sum += Math.max(starts, index < 0 ? 0 : this.#rows[row + COSTS + index]!);
    }
    return sum;
  }

  /** What the last `count` starts took of bucket `index`, each for one at least, and the most that one of them took. */
  takenByLast(count: number, index: number): { sum: number; most: number } {
    let left = count;
    let sum = 0;
    let most = 1;
    for (let i = this.#head - 1; i >= this.#tail && left > 0; i--) {
      const row = this.#row(i);
      const starts = this.#rows[row + COUNT]!;
      const cost = Math.max(starts, index < 0 ? 0 : this.#rows[row + COSTS + index]!);
      sum += cost;
      most = Math.max(most, cost);
      left -= starts;
    }
    return { sum: sum + Math.max(0, left), most };
  }

  /** When the start came that `later` others have followed; undefined where it is not kept one by one. */
  startAt(later: number): number | undefined {
    const i = this.#head - 1 - later;
    return this.#hasPairs || i < this.#tail ? undefined : this.#at(i);
  }

  /** The most starts in any window that ended before `until`; those in `except` (0 for the last start, 1 for the one before it) do not count. */
  mostStarts(windowMs: number, until: number, except: ReadonlySet<number>): number {
    const starts = (i: number): number => (except.has(this.#head - 1 - i) ? 0 : this.#rows[this.#row(i) + COUNT]!);
    let most = 0;
    let sum = 0;
    let first = this.#tail;
    for (let i = this.#tail; i < this.#head && this.#at(i) < until; i++) {
      sum += starts(i);
      for (; this.#at(first) <= this.#at(i) - windowMs; first++) sum -= starts(first);
      most = Math.max(most, sum);
    }
    return most;
  }

  /** What a column holds of the starts after an instant, oldest first; nothing of those that took none. */
  replay(from: Exclude<Inherited, 'nothing'>, since: number, each: (at: number, cost: number) => void): void {
    const column = from === 'starts' ? COUNT : COSTS + from;
    for (let i = this.#tail; i < this.#head; i++) {
      const row = this.#row(i);
      const cost = this.#rows[row + column]!;
      if (cost > 0 && this.#rows[row]! > since) each(this.#rows[row]!, cost);
    }
  }

  /** The same history for other buckets; `from[i]` is the old bucket whose costs bucket i takes over. */
  replanned(windowsMs: readonly number[], from: readonly Inherited[], fills: readonly number[] = []): Ledger {
    const next = new Ledger(windowsMs, this.#mask + 1, fills);
    const columns = from.map((one) => (one === 'starts' ? COUNT : one === 'nothing' ? -1 : COSTS + one));
    for (let i = this.#tail; i < this.#head; i++) {
      const old = this.#row(i);
      const row = next.#row(next.#head++);
      next.#rows[row] = this.#rows[old]!;
      next.#rows[row + COUNT] = this.#rows[old + COUNT]!;
      for (let j = 0; j < columns.length; j++) {
        const column = columns[j]!;
        next.#rows[row + COSTS + j] = column < 0 ? 0 : this.#rows[old + column]!;
      }
    }
    next.#hasPairs = this.#hasPairs;
    return next;
  }

  #row(index: number): number {
    return (index & this.#mask) * this.#stride;
  }

  #at(index: number): number {
    return this.#rows[this.#row(index)]!;
  }

  #catchUp(index: number, now: number): Cursor {
    const cursor = this.#cursors[index]!;
    const column = COSTS + index;
    for (; cursor.head < this.#head; cursor.head++) cursor.sum += this.#rows[this.#row(cursor.head) + column]!;
    const edge = now - cursor.windowMs + DUE_MS;
    for (; cursor.tail < cursor.head && this.#at(cursor.tail) <= edge; cursor.tail++) {
      cursor.sum -= this.#rows[this.#row(cursor.tail) + column]!;
    }
    if (cursor.tail === cursor.head) cursor.sum = 0;
    return cursor;
  }

  /** Index of the first entry at or after an instant. */
  #firstFrom(at: number): number {
    let low = this.#tail;
    let high = this.#head;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#at(middle) < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #makeRoom(now: number): void {
    let keepFrom = this.#firstFrom(now - SHOWN_MS);
    for (let i = 0; i < this.#cursors.length; i++) keepFrom = Math.min(keepFrom, this.#catchUp(i, now).tail);
    this.#tail = keepFrom;
    const capacity = this.#mask + 1;
    if (this.#head - this.#tail <= capacity / 2) return;
    if (capacity < MOST_ENTRIES) this.#rebuild(capacity * 2, 1);
    else this.#rebuild(capacity, 2);
  }

  /** Copies what is kept into a ring of `capacity`, `step` entries into one. */
  #rebuild(capacity: number, step: 1 | 2): void {
    const length = capacity * this.#stride;
    const rows = this.#spare?.length === length ? this.#spare : new Float64Array(length);
    let to = 0;
    for (let i = this.#tail; i < this.#head; i += step, to += this.#stride) {
      const last = Math.min(i + step, this.#head) - 1;
      rows[to] = this.#at(last);
      for (let j = i; j <= last; j++) {
        const row = this.#row(j);
        for (let column = COUNT; column < this.#stride; column++) {
          rows[to + column] = (j === i ? 0 : rows[to + column]!) + this.#rows[row + column]!;
        }
      }
    }
    this.#hasPairs ||= step === 2;
    this.#spare = this.#rows;
    this.#rows = rows;
    this.#mask = capacity - 1;
    this.#tail = 0;
    this.#head = to / this.#stride;
    for (const cursor of this.#cursors) cursor.tail = cursor.head = cursor.sum = 0;
  }
}
