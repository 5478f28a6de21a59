import { DUE_MS } from '../base/clock.ts';

/** More starts than this are kept in pairs: bounded memory, and a pair counts for longer, never for less. */
const MOST_ENTRIES = 1 << 17;
/** Windows that an alert shows whatever is declared reach this far back. */
const SHOWN_MS = 10_000;

interface Cursor {
  readonly windowMs: number;
  tail: number;
  head: number;
  sum: number;
}

/**
 * The starts of the last window, with what each took of every bucket. Needed where levels alone cannot
 * keep the window rule (after a refund, after a change of policy) and to tell what was started when.
 * A push costs one write per column; sums are caught up when they are asked for.
 */
export class Ledger {
  #times: Float64Array;
  #counts: Float64Array;
  #costs: Float64Array[];
  #cursors: Cursor[];
  #tail = 0;
  #head = 0;
  #hasPairs = false;

  constructor(windowsMs: readonly number[], capacity = 64) {
    this.#times = new Float64Array(capacity);
    this.#counts = new Float64Array(capacity);
    this.#costs = windowsMs.map(() => new Float64Array(capacity));
    this.#cursors = windowsMs.map((windowMs) => ({ windowMs, tail: 0, head: 0, sum: 0 }));
  }

  push(at: number, costs: readonly number[]): void {
    if (this.#head - this.#tail === this.#times.length) this.#makeRoom(at);
    const slot = this.#head++ & (this.#times.length - 1);
    this.#times[slot] = at;
    this.#counts[slot] = 1;
    for (let i = 0; i < costs.length; i++) this.#costs[i]![slot] = costs[i]!;
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
      const slot = i & (this.#times.length - 1);
      sum -= this.#costs[index]![slot]!;
      at = this.#times[slot]! + cursor.windowMs;
    }
    return at;
  }

  /** Corrects what the call that started at `startedAt` took of bucket `index`. */
  correct(index: number, startedAt: number, permits: number): void {
    const i = this.#firstFrom(startedAt);
    if (i >= this.#head) return;
    const slot = i & (this.#times.length - 1);
    this.#costs[index]![slot]! += permits;
    const cursor = this.#cursors[index]!;
    if (i >= cursor.tail && i < cursor.head) cursor.sum += permits;
  }

  /** Starts in (now - windowMs, now]. */
  starts(windowMs: number, now: number): number {
    let i = this.#firstFrom(now - windowMs);
    while (i < this.#head && this.#times[i & (this.#times.length - 1)]! <= now - windowMs) i++;
    if (!this.#hasPairs) return this.#head - i;
    let count = 0;
    for (; i < this.#head; i++) count += this.#counts[i & (this.#times.length - 1)]!;
    return count;
  }

  /** The same history under new windows; `from[i]` is the old index of bucket i, or -1. */
  replanned(windowsMs: readonly number[], from: readonly number[]): Ledger {
    const next = new Ledger(windowsMs, this.#times.length);
    next.#times = this.#times;
    next.#counts = this.#counts;
    next.#costs = from.map((old) => this.#costs[old]?.slice() ?? new Float64Array(this.#times.length));
    next.#tail = this.#tail;
    next.#head = this.#head;
    next.#hasPairs = this.#hasPairs;
    for (const cursor of next.#cursors) cursor.tail = cursor.head = this.#tail;
    return next;
  }

  #catchUp(index: number, now: number): Cursor {
    const cursor = this.#cursors[index]!;
    const costs = this.#costs[index]!;
    const mask = this.#times.length - 1;
    for (; cursor.head < this.#head; cursor.head++) cursor.sum += costs[cursor.head & mask]!;
    const edge = now - cursor.windowMs + DUE_MS;
    while (cursor.tail < cursor.head && this.#times[cursor.tail & mask]! <= edge) {
      cursor.sum -= costs[cursor.tail++ & mask]!;
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
      if (this.#times[middle & (this.#times.length - 1)]! < at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #makeRoom(now: number): void {
    let keepFrom = this.#head;
    for (let i = 0; i < this.#cursors.length; i++) keepFrom = Math.min(keepFrom, this.#catchUp(i, now).tail);
    keepFrom = Math.min(keepFrom, this.#firstFrom(now - SHOWN_MS));
    this.#tail = keepFrom;
    const length = this.#head - this.#tail;
    if (length <= this.#times.length / 2) return;
    if (this.#times.length < MOST_ENTRIES) this.#rebuild(this.#times.length * 2, 1);
    else this.#rebuild(this.#times.length, 2);
  }

  /** Copies what is kept to the start of columns of `capacity`, `step` entries into one. */
  #rebuild(capacity: number, step: 1 | 2): void {
    const mask = this.#times.length - 1;
    const columns = [this.#times, this.#counts, ...this.#costs];
    const copies = columns.map(() => new Float64Array(capacity));
    let to = 0;
    for (let i = this.#tail; i < this.#head; i += step, to++) {
      const last = Math.min(i + step, this.#head) - 1;
      copies[0]![to] = this.#times[last & mask]!;
      for (let c = 1; c < columns.length; c++) {
        for (let j = i; j <= last; j++) copies[c]![to]! += columns[c]![j & mask]!;
      }
    }
    if (step === 2) this.#hasPairs = true;
    [this.#times, this.#counts] = copies as [Float64Array, Float64Array];
    this.#costs = copies.slice(2);
    this.#tail = 0;
    this.#head = to;
    for (const cursor of this.#cursors) cursor.tail = cursor.head = cursor.sum = 0;
  }
}
