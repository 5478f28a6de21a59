/**
 * A binary min-heap whose entries may die in place (a call that has ended) or grow later in key while
 * they are listed; both are put right when they reach the top, so nothing is ever searched for.
 */
export class Heap<T> {
  #items: T[] = [];
  #keys: number[] = [];
  #ties: number[] = [];
  readonly #isAlive: (item: T) => boolean;
  readonly #keyOf: (item: T) => number;
  readonly #tieOf: (item: T) => number;
  readonly #dropped: (item: T) => void;

  /** `dropped` hears of every entry that is let go because it died. */
  constructor(
    isAlive: (item: T) => boolean,
    keyOf: (item: T) => number,
    tieOf: (item: T) => number = () => 0,
    dropped: (item: T) => void = () => undefined,
  ) {
    this.#isAlive = isAlive;
    this.#keyOf = keyOf;
    this.#tieOf = tieOf;
    this.#dropped = dropped;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#keys.push(this.#keyOf(item));
    this.#ties.push(this.#tieOf(item));
    this.#up(this.#items.length - 1);
  }

  /** The living entry with the smallest key. */
  top(): T | undefined {
    while (this.#items.length > 0) {
      const item = this.#items[0]!;
      if (!this.#isAlive(item)) {
        this.#removeTop();
        this.#dropped(item);
        continue;
      }
      const key = this.#keyOf(item);
      const tie = this.#tieOf(item);
      if (key === this.#keys[0] && tie === this.#ties[0]) return item;
      this.#keys[0] = key;
      this.#ties[0] = tie;
      this.#down(0);
    }
    return undefined;
  }

  /** Tells that the key of an entry, or its tie, may have become smaller. Looks for the entry: not for every day. */
  lessened(item: T): void {
    const i = this.#items.indexOf(item);
    if (i < 0) return;
    this.#keys[i] = Math.min(this.#keys[i]!, this.#keyOf(item));
    this.#ties[i] = this.#tieOf(item);
    this.#up(i);
  }

  /** Tells that entries have died; `alive` is how many live. */
  died(alive: number): void {
    if (this.#items.length <= 64 || this.#items.length <= 2 * alive) return;
    this.rekey();
  }

  /** Rebuilds the heap: for keys that may have become smaller, and to let go of the dead. */
  rekey(): void {
    for (const item of this.#items) if (!this.#isAlive(item)) this.#dropped(item);
    this.#items = this.#items.filter(this.#isAlive);
    this.#keys = this.#items.map(this.#keyOf);
    this.#ties = this.#items.map(this.#tieOf);
    for (let i = (this.#items.length >> 1) - 1; i >= 0; i--) this.#down(i);
  }

  /** The same entries in a heap of their own, by keys that order them alike: nothing is sorted. */
  copy(isAlive: (item: T) => boolean, keyOf: (item: T) => number, tieOf: (item: T) => number): Heap<T> {
    const copy = new Heap<T>(isAlive, keyOf, tieOf);
    copy.#items = this.#items.slice();
    copy.#keys = this.#keys.slice();
    copy.#ties = this.#ties.slice();
    return copy;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const item of this.#items) if (this.#isAlive(item)) yield item;
  }

  #removeTop(): void {
    const item = this.#items.pop()!;
    const key = this.#keys.pop()!;
    const tie = this.#ties.pop()!;
    if (this.#items.length === 0) return;
    this.#items[0] = item;
    this.#keys[0] = key;
    this.#ties[0] = tie;
    this.#down(0);
  }

  #up(from: number): void {
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!this.#isLess(i, parent)) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  #down(from: number): void {
    let i = from;
    for (;;) {
      const left = 2 * i + 1;
      const right = left + 1;
      let least = i;
      if (left < this.#keys.length && this.#isLess(left, least)) least = left;
      if (right < this.#keys.length && this.#isLess(right, least)) least = right;
      if (least === i) return;
      this.#swap(i, least);
      i = least;
    }
  }

  #isLess(a: number, b: number): boolean {
    const key = this.#keys[a]!;
    const other = this.#keys[b]!;
    return key < other || (key === other && this.#ties[a]! < this.#ties[b]!);
  }

  #swap(a: number, b: number): void {
    const item = this.#items[a]!;
    this.#items[a] = this.#items[b]!;
    this.#items[b] = item;
    const key = this.#keys[a]!;
    this.#keys[a] = this.#keys[b]!;
    this.#keys[b] = key;
    const tie = this.#ties[a]!;
    this.#ties[a] = this.#ties[b]!;
    this.#ties[b] = tie;
  }
}
