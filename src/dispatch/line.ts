import { PRIORITIES } from '../base/words.ts';
import { Bucket } from '../model/bucket.ts';
import type { Gate } from '../model/gate.ts';
import type { Ahead } from '../model/projection.ts';
import { Fifo } from './fifo.ts';
import { byAge, inTurn } from './rehearsal.ts';
import type { Request } from './request.ts';
import { isWaiting, Run } from './run.ts';
import type { Top } from './top.ts';
import type { Waiter } from './waiter.ts';

/** One class: whose turn it is among its runs, and who came when. */
interface Class {
  readonly turns: Run;
  readonly arrivals: Fifo<Waiter>;
  /** Permits of its waiters, as `Ahead` counts them. */
  permits: number[];
  /** The least that any of its waiters adds, since the class was last empty. */
  least: number[];
}

const NO_PATH: readonly string[] = [];

/** Nested calls stand before every class: they run in a place that is held already, and whoever holds it waits for them. */
export const NESTED_RANK = -1;
const RANKS = [NESTED_RANK, ...PRIORITIES.keys()];

/**
 * A lane's waiters in order of service: classes first, runs in turn within a class, and every so often
 * (`lowerShare`) the waiter that has waited longest, whatever its class.
 */
export class Line {
  readonly #classes: readonly Class[];
  #gate: Gate;
  readonly #top: Top;
  #share = 0;
  length = 0;

  constructor(gate: Gate, top: Top) {
    this.#gate = gate;
    this.#top = top;
    this.#classes = RANKS.map(() => emptyClass(gate));
  }

  /** Where in its class a call of this request stands: its run, or nothing where runs take no turns. */
  pathOf(request: Request): readonly string[] {
    return this.#gate.plan.fairness === 'runs' ? request.path : NO_PATH;
  }

  leafFor(request: Request): Run {
    return this.#class(request.rank).turns.leaf(this.pathOf(request));
  }

  push(waiter: Waiter): void {
    const line = this.#class(waiter.request.rank);
    waiter.leaf.push(waiter);
    line.arrivals.push(waiter);
    this.#top.waits(waiter.request);
    this.length++;
    for (let i = 0; i < line.permits.length; i++) {
      const permits = Bucket.backlog(this.#gate.buckets[i]!, waiter.costs[i]!);
      line.permits[i]! += permits;
      if (permits < line.least[i]!) line.least[i] = permits;
    }
  }

  /**
   * The waiter that is served next. Nested calls come before every class, but where a place is free they
   * leave every so many starts to the others too.
   */
  next(hasPlace = true): Waiter | undefined {
    if (this.length === 0) return undefined;
    const isOldestDue = this.#isOldestDue();
    const nested = this.#class(NESTED_RANK).turns;
    if (nested.length > 0 && !(isOldestDue && hasPlace)) return nested.head();
    return isOldestDue ? this.oldest() : this.#firstInTurn();
  }

  /** The waiter that `next` named starts. */
  serve(waiter: Waiter): void {
    const share = this.#share + this.#gate.plan.lowerShare;
    const isOldest = this.#isOldestDue() && waiter === this.oldest();
    this.#share = isOldest ? Math.max(0, share - 1) : Math.min(1, share);
    waiter.leaf.tookTurn();
    this.remove(waiter);
  }

  /** A waiter goes, without having had a turn. */
  remove(waiter: Waiter): void {
    const line = this.#class(waiter.request.rank);
    waiter.isInLine = false;
    waiter.leaf.left();
    line.arrivals.left(line.turns.length);
    this.#top.left(waiter.request);
    this.length--;
    for (let i = 0; i < line.permits.length; i++) {
      line.permits[i]! -= Bucket.backlog(this.#gate.buckets[i]!, waiter.costs[i]!);
    }
    if (line.turns.length === 0) this.#forgetPermits(line);
  }

  /** The waiter that has waited longest, of all or of one class. */
  oldest(rank?: number): Waiter | undefined {
    if (rank !== undefined) return this.#class(rank).arrivals.head();
    let oldest: Waiter | undefined;
    for (const { arrivals, turns } of this.#classes) {
      if (turns.length === 0) continue;
      const head = arrivals.head();
      if (head !== undefined && (oldest === undefined || head.seq < oldest.seq)) oldest = head;
    }
    return oldest;
  }

  /** The waiters of one class, in order of arrival. */
  members(rank: number): Iterable<Waiter> {
    return this.#class(rank).arrivals;
  }

  lengthOf(rank: number): number {
    return this.#class(rank).turns.length;
  }

  /** The newest waiter of the lowest class that has one, if that class is lower than `rank`. */
  displaceable(rank: number): Waiter | undefined {
    for (let lower = PRIORITIES.length - 1; lower > rank; lower--) {
      const newest = this.#class(lower).arrivals.newest();
      if (newest !== undefined) return newest;
    }
    return undefined;
  }

  /** What must start before a call that arrives now: at least this, if nobody leaves. */
  aheadOf(rank: number, path: readonly string[]): Ahead {
    const permits = this.#gate.buckets.map(() => 0);
    let count = 0;
    for (let higher = NESTED_RANK; higher < rank; higher++) count += this.#addWhole(this.#class(higher), permits);
    const own = this.#class(rank);
    const before = own.turns.countAhead(path);
    if (before === own.turns.length) {
      count += this.#addWhole(own, permits);
    } else if (before > 0) {
      count += before;
      for (let i = 0; i < permits.length; i++) permits[i]! += before * own.least[i]!;
    }
    return { count, permits };
  }

  /** Everybody who waits. */
  everybody(): Ahead {
    const permits = this.#gate.buckets.map(() => 0);
    for (const line of this.#classes) this.#addWhole(line, permits);
    return { count: this.length, permits };
  }

  /**
   * All waiters in the order in which they would start if nobody came or went, made as it is read: who waits
   * may change between two reads.
   */
  inOrder(): Iterable<Waiter> {
    const { lowerShare } = this.#gate.plan;
    const classes = this.#classes.filter(({ turns }) => turns.length > 0);
    // Of one run in one class the longest waiter is always next.
    if (classes.length === 1 && !classes[0]!.turns.hasRuns) return classes[0]!.arrivals;
    const turns = classes.map((line) => line.turns);
    return inTurn(turns, byAge(classes.map((line) => line.arrivals)), this.#share, lowerShare);
  }

  *[Symbol.iterator](): IterableIterator<Waiter> {
    for (const { arrivals } of this.#classes) yield* arrivals;
  }

  /** Everybody who waits, class by class, the oldest first. */
  each(visit: (waiter: Waiter) => void): void {
    for (const { arrivals } of this.#classes) arrivals.each(visit);
  }

  /** Counts the permits anew: the gate has other buckets now, and waiters other costs. */
  recount(): void {
    for (const line of this.#classes) {
      this.#forgetPermits(line);
      const { permits, least } = line;
      const { buckets } = this.#gate;
      line.arrivals.each(({ costs }) => {
        for (let i = 0; i < buckets.length; i++) {
          const own = Bucket.backlog(buckets[i]!, costs[i]!);
          permits[i]! += own;
          if (own < least[i]!) least[i] = own;
        }
      });
    }
  }

  #class(rank: number): Class {
    return this.#classes[rank - NESTED_RANK]!;
  }

  #isOldestDue(): boolean {
    return this.#share + this.#gate.plan.lowerShare >= 1 - 1e-9;
  }

  #firstInTurn(): Waiter | undefined {
    for (const { turns } of this.#classes) if (turns.length > 0) return turns.head();
    return undefined;
  }

  #addWhole(line: Class, permits: number[]): number {
    for (let i = 0; i < permits.length; i++) permits[i]! += line.permits[i]!;
    return line.turns.length;
  }

  #forgetPermits(line: Class): void {
    const fresh = emptyClass(this.#gate);
    line.permits = fresh.permits;
    line.least = fresh.least;
  }
}

function emptyClass(gate: Gate): Class {
  return {
    turns: new Run(),
    arrivals: new Fifo<Waiter>(isWaiting),
    permits: gate.buckets.map(() => 0),
    least: gate.buckets.map(() => Number.POSITIVE_INFINITY),
  };
}
