/** A waiter as the naive line knows it. */
export interface Turn {
  readonly seq: number;
  readonly rank: number;
  readonly path: readonly string[];
}

/** A run without heaps, lazy lists or shortcuts: the rule as it is written down. */
class NaiveRun {
  own: Turn[] = [];
  /** Set once a run below it has called. */
  runs: Map<string, NaiveRun> | undefined;
  tag = 0;
  finish = 0;
  turn = 0;

  get all(): Turn[] {
    return this.runs === undefined ? this.own : [...this.runs.values()].flatMap((run) => run.all);
  }

  push(turn: Turn, path: readonly string[]): void {
    const [key, ...rest] = path;
    if (key === undefined && this.runs === undefined) {
      this.own.push(turn);
      return;
    }
    if (this.runs === undefined) {
      const before = this.own;
      this.runs = new Map();
      this.own = [];
      for (const one of before) this.#into('', one, []);
    }
    this.#into(key ?? '', turn, rest);
  }

  /** The run whose turn it is. */
  get next(): NaiveRun | undefined {
    const waiting = [...(this.runs?.values() ?? [])].filter((run) => run.all.length > 0);
    return waiting.sort((a, b) => a.tag - b.tag || a.head!.seq - b.head!.seq)[0];
  }

  get head(): Turn | undefined {
    return this.runs === undefined ? this.own[0] : this.next?.head;
  }

  /** Takes a waiter out; where it was served, its run and every run above have had their turn. */
  take(turn: Turn, path: readonly string[], isServed: boolean): void {
    if (this.runs === undefined) this.own = this.own.filter((one) => one !== turn);
    else {
      const [key = '', ...rest] = path;
      const run = this.runs.get(key)!;
      if (isServed) {
        if (this.next === run) this.turn = Math.max(this.turn, run.tag);
        run.finish = run.tag + 1;
        run.tag = run.finish;
      }
      run.take(turn, rest, isServed);
    }
    if (this.all.length === 0) {
      // Everybody has had their turn: those that come next begin anew.
      this.runs = undefined;
      this.own = [];
      this.turn = 0;
    }
  }

  #into(key: string, turn: Turn, rest: readonly string[]): void {
    let run = this.runs!.get(key);
    if (run === undefined) {
      run = new NaiveRun();
      this.runs!.set(key, run);
    }
    if (run.all.length === 0) run.tag = Math.max(this.turn, run.finish);
    run.push(turn, rest);
  }
}

/** Classes in order, runs in turn, and every so often the longest waiter of all. */
export class NaiveLine {
  /** Nested calls, then the three classes. */
  readonly #classes = [-1, 0, 1, 2].map(() => new NaiveRun());
  readonly #lowerShare: number;
  #share = 0;

  constructor(lowerShare: number) {
    this.#lowerShare = lowerShare;
  }

  push(turn: Turn): void {
    this.#class(turn).push(turn, turn.path);
  }

  /** Without a place only nested calls can start, and none of them has to wait for the longest waiter. */
  next(hasPlace: boolean): Turn | undefined {
    const isNestedFirst = !hasPlace && this.#classes[0]!.all.length > 0;
    return this.#isOldestDue && !isNestedFirst ? this.#oldest : this.#classes.find((one) => one.all.length > 0)?.head;
  }

  serve(turn: Turn): void {
    const share = this.#share + this.#lowerShare;
    const isOldest = this.#isOldestDue && turn === this.#oldest;
    this.#share = isOldest ? Math.max(0, share - 1) : Math.min(1, share);
    this.#class(turn).take(turn, turn.path, true);
  }

  leave(turn: Turn): void {
    this.#class(turn).take(turn, turn.path, false);
  }

  #class({ rank }: Turn): NaiveRun {
    return this.#classes[rank + 1]!;
  }

  get #oldest(): Turn | undefined {
    return this.#classes.flatMap((one) => one.all).sort((a, b) => a.seq - b.seq)[0];
  }

  get #isOldestDue(): boolean {
    return this.#share + this.#lowerShare >= 1 - 1e-9;
  }
}
