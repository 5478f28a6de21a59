import { Fifo } from './fifo.ts';
import { Heap } from './heap.ts';
import type { Waiter } from './waiter.ts';

/** Runs that have just had a turn and wait for nothing are remembered until their turn is past, at most so many. */
const MOST_REMEMBERED = 10_000;
/** An estimate of what is ahead looks at no more runs than this. */
const MOST_SCANNED = 512;
const OWN = '';

/**
 * A run's place among the runs beside it, by start-time fair queueing (Goyal, Vin, Cheng 1996) with every
 * call counted as one: its next call has the tag max(V, F), V the tag last served beside it, F its own
 * last tag + 1; the smallest tag is served first, then the older call. A run is either a leaf, with calls
 * of its own, or has runs below it that take turns for its turn (`job7/sub12`).
 */
export class Run {
  readonly parent: Run | undefined;
  readonly #key: string;
  #waiters: Fifo<Waiter> | undefined;
  #runs: Map<string, Run> | undefined;
  #heap: Heap<Run> | undefined;
  /** Waiters in this run and below. */
  length = 0;
  /** The tag of its next call, while it has one. */
  tag = 0;
  /** F: the tag after the one it was last served with. */
  #finish = 0;
  /** V: the tag last served among its runs. */
  #turn = 0;
  /** V when runs were last forgotten. */
  #sweptAt = 0;
  #emptied: Run[] = [];
  #isListed = false;
  /** Tag and age of its next call as the heap above knows them. */
  #listedTag = 0;
  #listedSeq = 0;

  constructor(parent?: Run, key = OWN) {
    this.parent = parent;
    this.#key = key;
  }

  /** The leaf of a path, made where it is missing. */
  leaf(path: readonly string[]): Run {
    let run: Run = this;
    for (const key of path) run = run.#child(key);
    return run.#runs === undefined ? run : run.#child(OWN);
  }

  push(waiter: Waiter): void {
    this.#waiters ??= new Fifo<Waiter>(isWaiting);
    this.#waiters.push(waiter);
    this.#grow();
  }

  /** The waiter whose turn it is, in this run and below. */
  head(): Waiter | undefined {
    if (this.#runs === undefined) return this.#waiters?.head();
    return this.#heap?.top()?.head();
  }

  /** A waiter of this leaf starts: its run and every run above have had their turn. */
  tookTurn(): void {
    // Whose turn it was is read at every level before any tag moves: a tag below decides who is older above.
    for (let run: Run = this; run.parent !== undefined; run = run.parent) {
      const { parent } = run;
      if (parent.#heap?.top() === run) parent.#turn = Math.max(parent.#turn, run.tag);
    }
    for (let run: Run = this; run.parent !== undefined; run = run.parent) run.tag = run.#finish = run.tag + 1;
  }

  /** A waiter of this leaf has gone, served or not. */
  left(): void {
    this.#waiters?.left(this.length - 1);
    for (let run: Run | undefined = this; run !== undefined; run = run.parent) {
      run.length--;
      if (run.length === 0) run.#rest();
      else if (run.#runs !== undefined) run.#ageAnew();
      run.#forgetPast();
    }
  }

  /**
   * How many waiters would be served before the next one to arrive at the end of `path`, those of its own
   * leaf included. Where there are very many runs, fewer: never more than the truth.
   */
  countAhead(path: readonly string[]): number {
    const key = path[0];
    // A first run below this one takes turns with the calls that are here already.
    if (this.#runs === undefined) return key === undefined ? this.length : Math.min(this.length, 1);
    const own = this.#runs.get(key ?? OWN);
    const ahead = own === undefined ? 0 : own.countAhead(path.slice(1));
    const first = own === undefined ? this.#turn : own.length > 0 ? own.tag : Math.max(this.#turn, own.#finish);
    const tag = first + ahead;
    let count = ahead;
    let scanned = 0;
    for (const run of this.#heap ?? []) {
      if (run === own) continue;
      if (++scanned > MOST_SCANNED) break;
      count += Math.min(Math.max(tag - run.tag + 1, 0), run.length);
    }
    return count;
  }

  /** Its own waiters, the oldest first; none where runs lie below it. */
  own(): Iterable<Waiter> {
    return this.#waiters ?? [];
  }

  /** The runs below it, in a heap of its own by keys that order them alike; undefined where it has none. */
  runs(
    isActive: (run: Run) => boolean,
    tagOf: (run: Run) => number,
    seqOf: (run: Run) => number,
  ): Heap<Run> | undefined {
    return this.#heap?.copy(isActive, tagOf, seqOf);
  }

  get hasRuns(): boolean {
    return this.#runs !== undefined;
  }

  #child(key: string): Run {
    if (this.#runs === undefined) {
      this.#runs = new Map();
      this.#heap = new Heap<Run>(Run.#isActive, Run.#tagOf, Run.#seqOf, Run.#unlist);
      this.#adoptOwn();
    }
    let run = this.#runs.get(key);
    if (run === undefined) {
      run = new Run(this, key);
      this.#runs.set(key, run);
    }
    return run;
  }

  /** Calls that named this run itself become one of the runs below it. */
  #adoptOwn(): void {
    if (this.length === 0) return;
    const own = new Run(this, OWN);
    this.#runs!.set(OWN, own);
    const waiters = [...(this.#waiters ?? [])];
    this.#waiters = undefined;
    this.length -= waiters.length;
    for (let run = this.parent; run !== undefined; run = run.parent) run.length -= waiters.length;
    for (const waiter of waiters) {
      waiter.leaf = own;
      own.push(waiter);
    }
  }

  #grow(): void {
    for (let run: Run = this; ; run = run.parent) {
      run.length++;
      if (run.parent === undefined) return;
      if (run.length === 1) run.parent.#enlist(run);
    }
  }

  #enlist(run: Run): void {
    run.tag = Math.max(this.#turn, run.#finish);
    if (run.#isListed) return;
    run.#isListed = true;
    this.#heap!.push(run);
  }

  /** Nothing waits here any more: what lies below is forgotten, the own last turn is remembered above. */
  #rest(): void {
    this.#runs = undefined;
    this.#heap = undefined;
    this.#waiters = undefined;
    this.#emptied = [];
    this.#turn = this.#sweptAt = 0;
    const { parent } = this;
    if (parent === undefined || parent.#runs === undefined) return;
    parent.#emptied.push(this);
    if (parent.#emptied.length > MOST_REMEMBERED) parent.#forget(parent.#emptied.shift()!);
  }

  /** Below, the call whose turn it was may have gone and an older one be next: then this run may come before others. */
  #ageAnew(): void {
    if (this.parent === undefined || this.tag !== this.#listedTag) return;
    const head = this.head();
    if (head !== undefined && head.seq < this.#listedSeq) this.parent.#heap!.lessened(this);
  }

  /** A run is forgotten once F <= V: from then on it is like a new one. */
  #forgetPast(): void {
    if (this.#sweptAt === this.#turn) return;
    this.#sweptAt = this.#turn;
    this.#emptied = this.#emptied.filter((run) => {
      if (run.length > 0) return false;
      if (run.#finish > this.#turn) return true;
      this.#forget(run);
      return false;
    });
  }

  #forget(run: Run): void {
    if (run.length === 0 && this.#runs?.get(run.#key) === run) this.#runs.delete(run.#key);
  }

  static #isActive(run: Run): boolean {
    return run.length > 0;
  }

  static #unlist(run: Run): void {
    run.#isListed = false;
  }

  static #tagOf(run: Run): number {
    return (run.#listedTag = run.tag);
  }

  static #seqOf(run: Run): number {
    return (run.#listedSeq = run.head()?.seq ?? 0);
  }
}

/** Whether a waiter is still in line. */
export function isWaiting(waiter: Waiter): boolean {
  return waiter.isInLine;
}
