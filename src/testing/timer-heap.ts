/** One timer of a manual clock. `index` is its place in the heap, -1 once it has left. */
export interface ManualTimer {
  readonly atMs: number;
  /** Breaks ties: what was set first runs first. */
  readonly order: number;
  readonly fire: () => void;
  readonly keepAlive: boolean;
  index: number;
}

/** Timers by due time, then by order of creation. Adding, taking and removing cost O(log n). */
export class TimerHeap {
  readonly #items: ManualTimer[] = [];

  get first(): ManualTimer | undefined {
    return this.#items[0];
  }

  add(timer: ManualTimer): void {
    timer.index = this.#items.length;
    this.#items.push(timer);
    this.#rise(timer);
  }

  /** Returns whether the timer was still there. */
  remove(timer: ManualTimer): boolean {
    const index = timer.index;
    if (index < 0) return false;
    timer.index = -1;
    const last = this.#items.pop()!;
    if (last !== timer) {
      this.#put(last, index);
      this.#rise(last);
      this.#sink(last);
    }
    return true;
  }

  #put(timer: ManualTimer, index: number): void {
    this.#items[index] = timer;
    timer.index = index;
  }

  #rise(timer: ManualTimer): void {
    while (timer.index > 0) {
      const parent = this.#items[(timer.index - 1) >> 1]!;
      if (isBefore(parent, timer)) return;
      const index = parent.index;
      this.#put(parent, timer.index);
      this.#put(timer, index);
    }
  }

  #sink(timer: ManualTimer): void {
    for (;;) {
      const left = this.#items[2 * timer.index + 1];
      const right = this.#items[2 * timer.index + 2];
      if (left === undefined) return;
      const child = right !== undefined && isBefore(right, left) ? right : left;
      if (isBefore(timer, child)) return;
      const index = child.index;
      this.#put(child, timer.index);
      this.#put(timer, index);
    }
  }
}

function isBefore(a: ManualTimer, b: ManualTimer): boolean {
  return a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs;
}
