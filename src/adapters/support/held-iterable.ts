import type { Streaming } from './streaming.ts';

type Method = 'next' | 'return' | 'throw';
type Step = (...args: unknown[]) => unknown;
type Source = Partial<Record<Method, Step>> & { [Symbol.asyncIterator]?: () => Source };

const METHODS: readonly Method[] = ['next', 'return', 'throw'];

/** An AsyncIterable whose end is heard of: of a generator the methods are replaced, of anything else the one that makes iterators. */
export class HeldIterable implements Streaming {
  readonly value: unknown;
  readonly ended: Promise<void>;
  #end!: () => void;
  #threw!: (error: unknown) => void;
  #failure: { readonly reason: unknown } | undefined;
  #isRead = false;
  #latest: Source | undefined;
  /** The reads that have no answer yet. */
  readonly #waiting = new Set<(reason: unknown) => void>();

  private constructor(source: Source) {
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#threw = reject;
    });
    this.value = typeof source.next === 'function' ? this.#held(source) : this.#iterable(source);
  }

  /** Undefined for what is no AsyncIterable. */
  static of(value: object): HeldIterable | undefined {
    return typeof (value as Source)[Symbol.asyncIterator] === 'function'
      ? new HeldIterable(value as Source)
      : undefined;
  }

  readonly isRead = (): boolean => this.#isRead;

  readonly fail = (reason: unknown): void => {
    if (this.#failure !== undefined) return;
    this.#failure = { reason };
    for (const reject of this.#waiting) reject(reason);
    this.#waiting.clear();
    const source = this.#latest;
    // Never begun, there is nothing that could be closed.
    if (source?.return === undefined) this.#end();
    else
      new Promise((resolve) => resolve(source.return?.())).then(
        () => this.#end(),
        (error: unknown) => this.#threw(error),
      );
  };

  #iterable(source: Source): Source {
    const make = source[Symbol.asyncIterator]!;
    const value = (): Source => {
      const made = make.call(source);
      // One object for all that read it, or one for each: either is held once.
      return made === source ? source : this.#held({ ...steps(made), [Symbol.asyncIterator]: itself });
    };
    return replaced(source, { [Symbol.asyncIterator]: value });
  }

  #held(iterator: Source): Source {
    const own = steps(iterator);
    this.#latest = own;
    const held = METHODS.filter((method) => own[method] !== undefined).map((method) => [
      method,
      (...args: unknown[]) => this.#step(method, own[method]!, args),
    ]);
    return replaced(iterator, Object.fromEntries(held));
  }

  #step(method: Method, own: Step, args: unknown[]): Promise<unknown> {
    this.#isRead = true;
    if (this.#failure !== undefined && method === 'next') return Promise.reject(this.#failure.reason);
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      new Promise((settle) => settle(own(...args))).then(
        (result) => {
          this.#waiting.delete(reject);
          if (method === 'return' || (result as { readonly done?: unknown } | undefined)?.done === true) this.#end();
          resolve(result);
        },
        (error: unknown) => {
          this.#waiting.delete(reject);
          this.#threw(error);
          reject(error);
        },
      );
    });
  }
}

/** The methods of an iterator as they are now, each bound to it. */
function steps(iterator: Source): Source {
  const own = METHODS.filter((method) => typeof iterator[method] === 'function');
  return Object.fromEntries(own.map((method) => [method, iterator[method]!.bind(iterator)]));
}

function itself(this: Source): Source {
  return this;
}

/** The object itself with these properties; one that is frozen stays, and another that inherits from it has them. */
function replaced(target: Source, properties: object): Source {
  const descriptors = Object.fromEntries(
    Reflect.ownKeys(properties).map((key) => [
      key,
      { value: (properties as Record<PropertyKey, unknown>)[key], configurable: true, writable: true },
    ]),
  );
  try {
    return Object.defineProperties(target, descriptors);
  } catch {
    return Object.create(target, descriptors) as Source;
  }
}
