import type { Call } from '../../dispatch/context.ts';
import type { Pass } from '../support/tool-gate.ts';

/**
 * Yields what a source yields while its lease is held: the call begins with the first `next()`, ends with the
 * source, and learns from what the source throws. One value is taken at a time, when it is asked for. A deadline or
 * an abort rejects at once, whatever the source does; a reader that stops early ends the source, then the lease.
 */
export async function* holdToEnd<T>(pass: Pass, source: (call: Call) => Source<T>): AsyncGenerator<T, void> {
  const hand = new Handover<T>();
  const ended = pass(async (call) => pump(await source(call), hand));
  ended.then(
    () => hand.end(),
    (error) => hand.fail(error),
  );
  let isOver = false;
  try {
    for (;;) {
      const taken = await hand.take().catch((error) => {
        isOver = true;
        throw error;
      });
      if (taken.done === true) {
        isOver = true;
        return;
      }
      yield taken.value;
    }
  } finally {
    hand.stop();
    if (!isOver) await ended;
  }
}

/** What a tool may return instead of one answer. */
export type Source<T> = AsyncIterable<T> | PromiseLike<AsyncIterable<T>>;

async function pump<T>(source: AsyncIterable<T>, hand: Handover<T>): Promise<unknown> {
  const iterator = source[Symbol.asyncIterator]();
  let last: T | undefined;
  while (await hand.wanted()) {
    const next = await iterator.next();
    // The lane reads the last value as it reads an answer.
    if (next.done === true) return last;
    last = next.value;
    hand.give(next.value);
  }
  await iterator.return?.();
  return last;
}

type Taken<T> = { readonly done: false; readonly value: T } | { readonly done: true };

/** One place from which one reader takes what one writer gives, each waiting for the other. */
class Handover<T> {
  #reader: { readonly resolve: (taken: Taken<T>) => void; readonly reject: (error: unknown) => void } | undefined;
  #writer: ((isWanted: boolean) => void) | undefined;
  #isStopped = false;
  #final: (() => Promise<Taken<T>>) | undefined;

  take(): Promise<Taken<T>> {
    if (this.#final !== undefined) return this.#final();
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      this.#release(true);
    });
  }

  /** Resolves when the reader waits: true; false when it will never take again. */
  wanted(): Promise<boolean> {
    if (this.#isStopped) return Promise.resolve(false);
    if (this.#reader !== undefined) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#writer = resolve;
    });
  }

  give(value: T): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.resolve({ done: false, value });
  }

  end(): void {
    this.#reader?.resolve({ done: true });
    this.#final = () => Promise.resolve({ done: true });
  }

  fail(error: unknown): void {
    this.#reader?.reject(error);
    this.#final = () => Promise.reject(error);
  }

  stop(): void {
    this.#isStopped = true;
    this.#release(false);
  }

  #release(isWanted: boolean): void {
    const writer = this.#writer;
    this.#writer = undefined;
    writer?.(isWanted);
  }
}
