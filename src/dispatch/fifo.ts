const CHUNK = 1024;
/** The list is rebuilt once less than one in so many of those listed is still here. */
const MOST_GONE = 4;

interface Chunk<T> {
  readonly items: T[];
  next: Chunk<T> | undefined;
}

/**
 * A first-in, first-out list whose members may leave from anywhere: a member that has left is passed
 * over when it is met, and the list is rebuilt once most of it has left. Chunked, so that a million
 * members are never copied in one go.
 */
export class Fifo<T> {
  #first: Chunk<T> = { items: [], next: undefined };
  #last = this.#first;
  #offset = 0;
  /** Members and those that have left but are still listed. */
  #listed = 0;
  readonly #isHere: (item: T) => boolean;

  constructor(isHere: (item: T) => boolean) {
    this.#isHere = isHere;
  }

  push(item: T): void {
    if (this.#last.items.length === CHUNK) this.#last = this.#last.next = { items: [], next: undefined };
    this.#last.items.push(item);
    this.#listed++;
  }

  /** The oldest member. */
  head(): T | undefined {
    if (this.#listed === 0) return undefined;
    for (;;) {
      const { items, next } = this.#first;
      for (; this.#offset < items.length; this.#offset++, this.#listed--) {
        const item = items[this.#offset]!;
        if (this.#isHere(item)) return item;
      }
      if (next === undefined) {
        items.length = 0;
        this.#offset = 0;
        return undefined;
      }
      this.#first = next;
      this.#offset = 0;
    }
  }

  /** The newest member. */
  newest(): T | undefined {
    const { items } = this.#last;
    for (let i = items.length - 1; i >= 0; i--) if (this.#isHere(items[i]!)) return items[i];
    let newest: T | undefined;
    for (const item of this) newest = item;
    return newest;
  }

  /** Tells that members have left; `here` is how many there are now. */
  left(here: number): void {
    if (here === 0) {
      this.#first = this.#last = { items: [], next: undefined };
      this.#offset = this.#listed = 0;
      return;
    }
    if (this.#listed <= CHUNK || this.#listed <= MOST_GONE * here) return;
    let chunk: Chunk<T> | undefined = this.#first;
    let from = this.#offset;
    this.#first = this.#last = { items: [], next: undefined };
    this.#offset = this.#listed = 0;
    for (; chunk !== undefined; chunk = chunk.next, from = 0) {
      for (let i = from; i < chunk.items.length; i++) if (this.#isHere(chunk.items[i]!)) this.push(chunk.items[i]!);
    }
  }

  /** Every member, the oldest first: for very many of them, some three times as fast as iterating. */
  each(visit: (item: T) => void): void {
    let from = this.#offset;
    for (let chunk: Chunk<T> | undefined = this.#first; chunk !== undefined; chunk = chunk.next) {
      for (let i = from; i < chunk.items.length; i++) if (this.#isHere(chunk.items[i]!)) visit(chunk.items[i]!);
      from = 0;
    }
  }

  *[Symbol.iterator](): IterableIterator<T> {
    let from = this.#offset;
    for (let chunk: Chunk<T> | undefined = this.#first; chunk !== undefined; chunk = chunk.next) {
      for (let i = from; i < chunk.items.length; i++) if (this.#isHere(chunk.items[i]!)) yield chunk.items[i]!;
      from = 0;
    }
  }
}
