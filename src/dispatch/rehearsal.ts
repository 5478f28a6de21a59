import type { Heap } from './heap.ts';
import type { Run } from './run.ts';
import type { Waiter } from './waiter.ts';

/** A run as it will be served if nobody comes or goes: only tags count then, and they only grow. */
class Rehearsed {
  readonly run: Run;
  tag: number;
  readonly #own: Iterator<Waiter> | undefined;
  readonly #runs: Heap<Run> | undefined;
  readonly #headOf: (run: Run) => Waiter | undefined;
  #next: Waiter | undefined;

  constructor(run: Run, runs: Heap<Run> | undefined, headOf: (run: Run) => Waiter | undefined) {
    this.run = run;
    this.tag = run.tag;
    this.#runs = runs;
    this.#headOf = headOf;
    if (runs === undefined) {
      this.#own = run.own()[Symbol.iterator]();
      this.#advance();
    }
  }

  head(): Waiter | undefined {
    if (this.#runs !== undefined) {
      const top = this.#runs.top();
      return top === undefined ? undefined : this.#headOf(top);
    }
    while (this.#next !== undefined && !this.#next.isInLine) this.#advance();
    return this.#next;
  }

  /** A waiter of this run or below starts. */
  serve(waiter: Waiter): void {
    this.tag++;
    if (this.#next === waiter) this.#advance();
  }

  #advance(): void {
    const { value, done } = this.#own!.next();
    this.#next = done === true ? undefined : value;
  }
}

/**
 * The turns of one class, played without changing anything. A run is copied only when its turn comes, so that
 * to begin costs next to nothing, whoever waits; those who leave meanwhile are passed over.
 */
export class Rehearsal {
  readonly #opened = new Map<Run, Rehearsed>();
  readonly #root: Rehearsed;
  readonly #headOf = (run: Run): Waiter | undefined => (this.#opened.get(run) ?? run).head();
  readonly #tagOf = (run: Run): number => (this.#opened.get(run) ?? run).tag;

  constructor(turns: Run) {
    this.#root = this.#open(turns);
  }

  /** The waiter that is served next. */
  head(): Waiter | undefined {
    return this.#root.head();
  }

  /** A waiter starts, in turn or out of turn: its run and every run above have had their turn. */
  serve(waiter: Waiter): void {
    // Whatever a waiter stands in is a run of its line.
    for (let run: Run | undefined = waiter.leaf as Run; run !== undefined; run = run.parent) {
      (this.#opened.get(run) ?? this.#open(run)).serve(waiter);
    }
  }

  #open(run: Run): Rehearsed {
    const runs = run.runs(
      (one) => this.#headOf(one) !== undefined,
      this.#tagOf,
      (one) => this.#headOf(one)?.seq ?? 0,
    );
    const opened = new Rehearsed(run, runs, this.#headOf);
    this.#opened.set(run, opened);
    return opened;
  }
}

/** All waiters of some classes, the oldest first. Each class is in order of age already. */
export function* byAge(arrivals: readonly Iterable<Waiter>[]): IterableIterator<Waiter> {
  const sources = arrivals.map((one) => one[Symbol.iterator]());
  const heads = sources.map((source) => source.next());
  for (;;) {
    let oldest = -1;
    for (let i = 0; i < heads.length; i++) {
      const head = heads[i]!;
      if (head.done !== true && (oldest < 0 || head.value.seq < heads[oldest]!.value.seq)) oldest = i;
    }
    if (oldest < 0) return;
    yield heads[oldest]!.value;
    heads[oldest] = sources[oldest]!.next();
  }
}

/**
 * The order of service: classes first, runs in turn within a class, and every so often the longest waiter of
 * all, out of turn. `classes`: highest first; `share`: what is saved up for the longest waiter.
 */
export function* inTurn(
  classes: readonly Run[],
  ages: Iterator<Waiter>,
  share: number,
  lowerShare: number,
): IterableIterator<Waiter> {
  const turns = classes.map((runs) => new Rehearsal(runs));
  const served = new Set<Waiter>();
  let saved = share;
  for (;;) {
    saved += lowerShare;
    const isOldestDue = saved >= 1 - 1e-9;
    const waiter = (isOldestDue ? nextOf(ages, served) : undefined) ?? headOf(turns);
    if (waiter === undefined) return;
    if (isOldestDue) saved = Math.max(0, saved - 1);
    served.add(waiter);
    turns[classes.indexOf(rootOf(waiter))]?.serve(waiter);
    yield waiter;
  }
}

function headOf(turns: readonly Rehearsal[]): Waiter | undefined {
  for (const one of turns) {
    const head = one.head();
    if (head !== undefined) return head;
  }
  return undefined;
}

function nextOf(ages: Iterator<Waiter>, served: ReadonlySet<Waiter>): Waiter | undefined {
  for (let next = ages.next(); next.done !== true; next = ages.next()) {
    if (next.value.isInLine && !served.has(next.value)) return next.value;
  }
  return undefined;
}

function rootOf(waiter: Waiter): Run {
  let run = waiter.leaf as Run;
  while (run.parent !== undefined) run = run.parent;
  return run;
}
