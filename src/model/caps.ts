import { DUE_MS } from '../base/clock.ts';
import type { Costs } from './bucket.ts';

/** Stands for the index of a bucket where no bucket counts requests: every start takes one. */
export const EACH_START = -1;

/** More instants than this for one counter are drawn together: the lower count, the later instant. */
const MOST_PER_INDEX = 8;

/** So much may start before an instant. */
export interface Cap {
  /** The bucket whose permits it counts, or `EACH_START`. */
  readonly index: number;
  /** Every call takes some: where nothing is left, nothing starts. */
  readonly isOfAll: boolean;
  left: number;
  /** Monotonic milliseconds. */
  readonly until: number;
}

/**
 * What the server's own counters leave us: for each, how many permits may be taken before an instant at
 * which it starts afresh. A word can only lower what was known: one that allows more before the same
 * instant is dropped, and one that says more by a later instant binds beside the earlier one.
 */
export class Caps {
  /** Per index by instant, the count rising with it. */
  #caps: Cap[] = [];
  /** After this instant nothing is capped. */
  until = Number.NEGATIVE_INFINITY;

  /** `left` permits before `until`; true if less was left to us than before. */
  lower(index: number, left: number, until: number, isOfAll: boolean): boolean {
    if (this.#caps.some((cap) => cap.index === index && cap.left <= left && cap.until >= until)) return false;
    const others = this.#caps.filter((cap) => cap.index !== index);
    const same = this.#caps.filter((cap) => cap.index === index && !(cap.left >= left && cap.until <= until));
    same.push({ index, left, until, isOfAll });
    same.sort((a, b) => a.until - b.until);
    if (same.length > MOST_PER_INDEX) {
      const [first] = same.splice(0, 1);
      same[0] = { ...same[0]!, left: Math.min(first!.left, same[0]!.left) };
    }
    this.#caps = [...others, ...same];
    this.#settle();
    return true;
  }

  /** Calls of these costs start. */
  take(costs: Costs, times = 1): void {
    for (const cap of this.#caps) cap.left -= times * costOf(cap, costs);
  }

  /** When a call of these costs may start as far as the server's counters go; `at` if it may then. */
  dueAt(costs: Costs, at: number): number {
    return this.binding(costs, at)?.until ?? at;
  }

  /** The counter for which a call of these costs that could start at `at` has to wait longest. */
  binding(costs: Costs, at: number): Readonly<Cap> | undefined {
    let found: Cap | undefined;
    for (const cap of this.#caps) {
      if (cap.until > (found?.until ?? at) + DUE_MS && isShort(cap, costOf(cap, costs))) found = cap;
    }
    return found;
  }

  /** How many calls of these costs may start before one has to wait for a counter; Infinity: all of them. */
  room(costs: Costs, at: number): number {
    let room = Number.POSITIVE_INFINITY;
    for (const cap of this.#caps) {
      const cost = costOf(cap, costs);
      if (cost <= 0 || cap.until <= at + DUE_MS) continue;
      room = Math.min(room, Math.max(0, Math.floor((cap.left + 1e-9) / cost)));
    }
    return room;
  }

  /** The cap in force that leaves least of one bucket. */
  tightest(index: number, now: number): Readonly<Cap> | undefined {
    return this.#caps
      .filter((cap) => cap.index === index && cap.until > now + DUE_MS)
      .reduce<Cap | undefined>(
        (least, cap) => (least !== undefined && least.left <= cap.left ? least : cap),
        undefined,
      );
  }

  /** The latest instant until which nothing is left at all; -Infinity if there is none. */
  get spentUntil(): number {
    let until = Number.NEGATIVE_INFINITY;
    for (const cap of this.#caps) if (cap.isOfAll && isShort(cap, 1)) until = Math.max(until, cap.until);
    return until;
  }

  /** Forgets the counters that have started afresh. */
  expire(now: number): void {
    this.#caps = this.#caps.filter((cap) => cap.until > now + DUE_MS);
    this.#settle();
  }

  /** The same under another plan: `from` says which bucket an index has become; what has no bucket now is forgotten. */
  reindex(from: (index: number) => number | undefined): void {
    this.#caps = this.#caps.flatMap((cap) => {
      const index = from(cap.index);
      return index === undefined ? [] : [{ ...cap, index }];
    });
    this.#settle();
  }

  clear(): void {
    this.#caps = [];
    this.#settle();
  }

  copy(): Caps {
    const copy = new Caps();
    copy.#caps = this.#caps.map((cap) => ({ ...cap }));
    copy.until = this.until;
    return copy;
  }

  #settle(): void {
    this.until = Math.max(Number.NEGATIVE_INFINITY, ...this.#caps.map((cap) => cap.until));
  }
}

function costOf(cap: Cap, costs: Costs): number {
  return cap.index === EACH_START ? 1 : (costs[cap.index] ?? 0);
}

function isShort(cap: Cap, cost: number): boolean {
  return cost > 0 && cap.left < cost - 1e-9;
}
