import type { Call } from '../../dispatch/context.ts';
import type { Pass } from './tool-gate.ts';

/** What a tool may return instead of one answer. */
export type Source<T> = AsyncIterable<T> | PromiseLike<AsyncIterable<T>>;

/**
 * Yields what a source yields while its lease is held: the call begins with the first `next()`, ends with the
 * source, and learns from what the source throws. One value is taken at a time, when it is asked for. A deadline or
 * an abort rejects at once, whatever the source does; a reader that stops early ends the source, then the lease.
 *
 * Unlike `holdToEnd`, which hands on the very stream that a call has made, this is there before its call is, and every
 * step of the source runs inside the call.
 */
export async function* leasedGenerator<T>(pass: Pass, source: (call: Call) => Source<T>): AsyncGenerator<T, unknown> {
  const hand = new Handover<T>();
  const ended = pass(async (call) => pump(await source(call), hand));
  listen(ended, hand);
  return yield* read(hand, ended);
}

/** The answer of `run`; or, where that is a generator, one that keeps the lease to its end as `leasedGenerator` does. */
export function answerOrGenerator(pass: Pass, run: (call: Call) => unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const hand = new Handover<unknown>();
    const ended: Promise<unknown> = pass(async (call) => {
      const answer = await run(call);
      if (!isAsyncGenerator(answer)) return answer;
      resolve(read(hand, ended));
      return pump(answer, hand);
    });
    listen(ended, hand);
    ended.then(resolve, reject);
  });
}

/** Whether somebody would read it with `for await`. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return typeof (value as Partial<AsyncIterable<unknown>>)[Symbol.asyncIterator] === 'function';
}

/** What a function has yielded, as against a stream that it hands on: nobody else reads it. */
export function isAsyncGenerator(value: unknown): value is AsyncGenerator {
  return isAsyncIterable(value) && typeof (value as Partial<AsyncGenerator>).next === 'function';
}

function listen<T>(ended: Promise<unknown>, hand: Handover<T>): void {
  ended.then(
    () => hand.end(),
    (error) => hand.fail(error),
  );
}

async function* read<T>(hand: Handover<T>, ended: Promise<unknown>): AsyncGenerator<T, unknown> {
  let isOver = false;
  try {
    for (;;) {
      isOver = true;
      const taken = await hand.take();
      if (taken.done === true) return hand.result;
      isOver = false;
      yield taken.value;
    }
  } finally {
    hand.stop();
    if (!isOver) await ended;
  }
}

async function pump<T>(source: AsyncIterable<T>, hand: Handover<T>): Promise<unknown> {
  const iterator = source[Symbol.asyncIterator]();
  let last: T | undefined;
  while (await hand.wanted()) {
    const next = await iterator.next();
    if (next.done === true) {
      hand.result = next.value;
      // The lane reads what came last as it reads an answer.
      return next.value ?? last;
    }
    last = next.value;
    hand.give(next.value);
  }
  await iterator.return?.();
  return last;
}

type Taken<T> = { readonly done: false; readonly value: T } | { readonly done: true };

/** One place from which one reader takes what one writer gives, each waiting for the other. */
class Handover<T> {
  /** What the source returned at its end; generators do. */
  result: unknown;
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
