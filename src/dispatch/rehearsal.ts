import { Heap } from './heap.ts';
import type { Leaf, Waiter } from './waiter.ts';

/** A run as it will be served if nobody comes or goes: only tags count then, and they only grow. */
export class Rehearsal {
  readonly #parent: Rehearsal | undefined;
  readonly #waiters: readonly Waiter[];
  readonly #runs = new Heap<Rehearsal>(Rehearsal.#isActive, Rehearsal.#tagOf, Rehearsal.#seqOf);
  #tag: number;
  #served = 0;
  #length: number;

  /** With its own waiters, or with none where it has runs below it. */
  constructor(parent: Rehearsal | undefined, tag: number, length: number, waiters: readonly Waiter[]) {
    this.#parent = parent;
    this.#tag = tag;
    this.#length = length;
    this.#waiters = waiters;
  }

  add(run: Rehearsal): void {
    this.#runs.push(run);
  }

  head(): Waiter | undefined {
    return this.#runs.size === 0 ? this.#waiters[this.#served] : this.#runs.top()?.head();
  }

  /** The oldest waiter of this leaf starts. */
  serve(): void {
    this.#served++;
    for (let run: Rehearsal | undefined = this; run !== undefined; run = run.#parent) {
      run.#tag++;
      run.#length--;
    }
  }

  static #isActive(run: Rehearsal): boolean {
    return run.#length > 0;
  }

  static #tagOf(run: Rehearsal): number {
    return run.#tag;
  }

  static #seqOf(run: Rehearsal): number {
    return run.head()?.seq ?? 0;
  }
}

/** What `inShares` needs of a class whose runs have runs below them. */
export interface Rehearsable {
  readonly rehearse: (leaves: Map<Leaf, Rehearsal>) => Rehearsal;
}

/**
 * The order of service where every so often the longest waiter of all is served, out of turn. `byTurn`: the
 * order without that. Where runs have runs below them, one that is served out of turn moves others about:
 * then `deep` are the classes to go through, highest first.
 */
export function inShares(
  byTurn: readonly Waiter[],
  share: number,
  lowerShare: number,
  deep: readonly Rehearsable[] | undefined,
): Waiter[] {
  const byAge = [...byTurn].sort((a, b) => a.seq - b.seq);
  const served = new Set<Waiter>();
  const inTurn = deep === undefined ? inList(byTurn, served) : inRuns(deep);
  const byAgeNext = inList(byAge, served).next;
  let saved = share;
  while (served.size < byTurn.length) {
    saved += lowerShare;
    const isOldestDue = saved >= 1 - 1e-9;
    if (isOldestDue) saved = Math.max(0, saved - 1);
    const waiter = isOldestDue ? byAgeNext() : inTurn.next();
    served.add(waiter);
    inTurn.serve(waiter);
  }
  return [...served];
}

interface Turns {
  readonly next: () => Waiter;
  readonly serve: (waiter: Waiter) => void;
}

/** Turns that nothing moves about but that some have been served already. */
function inList(list: readonly Waiter[], served: ReadonlySet<Waiter>): Turns {
  let at = 0;
  const next = (): Waiter => {
    while (served.has(list[at]!)) at++;
    return list[at]!;
  };
  return { next, serve: () => undefined };
}

function inRuns(deep: readonly Rehearsable[]): Turns {
  const leaves = new Map<Leaf, Rehearsal>();
  const classes = deep.map((one) => one.rehearse(leaves));
  let at = 0;
  const next = (): Waiter => {
    for (; ; at++) {
      const head = classes[at]!.head();
      if (head !== undefined) return head;
    }
  };
  return { next, serve: (waiter) => leaves.get(waiter.leaf)!.serve() };
}
