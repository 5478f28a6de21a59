import type { Clock } from '../base/clock.ts';
import type { Snapshot } from '../base/snapshot.ts';

/** Anything that has a snapshot: a dispatcher. */
export interface SnapshotSource {
  readonly snapshot: () => Snapshot;
}

/** What `/snapshot` answers where several dispatchers are served: one snapshot each, under its own name. */
export interface SeveralSnapshots {
  readonly schema: 1;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly dispatchers: readonly Snapshot[];
  /** Those whose snapshot could not be made, where there are any. */
  readonly failed?: readonly string[];
}

/** One snapshot serves everybody who asks within this: however hard it is polled, it is made five times a second. */
const FRESH_MS = 200;

/** The JSON of a status server, made when it is asked for and kept for a moment. */
export class Bodies {
  readonly #sources: ReadonlyMap<string, SnapshotSource>;
  /** There is one dispatcher, and its name is its own. */
  readonly #isOne: boolean;
  readonly #clock: Clock;
  readonly #made = new Map<string | undefined, { readonly at: number; readonly text: string }>();

  constructor(sources: ReadonlyMap<string, SnapshotSource>, isOne: boolean, clock: Clock) {
    this.#sources = sources;
    this.#isOne = isOne;
    this.#clock = clock;
  }

  get names(): readonly string[] {
    return this.#isOne ? [] : [...this.#sources.keys()];
  }

  /** All of them, or the one of that name; undefined if there is none. Throws what a source throws. */
  text(name?: string): string | undefined {
    if (name !== undefined && !this.names.includes(name)) return undefined;
    const known = this.#made.get(name);
    const now = this.#clock.now();
    if (known !== undefined && now - known.at < FRESH_MS) return known.text;
    const text = `${JSON.stringify(this.#value(name))}\n`;
    this.#made.set(name, { at: now, text });
    return text;
  }

  #value(only: string | undefined): Snapshot | SeveralSnapshots {
    if (this.#isOne || only !== undefined) return this.#read(only ?? '');
    const dispatchers: Snapshot[] = [];
    const failed: string[] = [];
    let error: unknown;
    // One that is broken hides none of the others.
    for (const name of this.#sources.keys()) {
      try {
        dispatchers.push(this.#read(name));
      } catch (thrown) {
        failed.push(name);
        error = thrown;
      }
    }
    if (dispatchers.length === 0) throw error;
    return { schema: 1, at: this.#clock.wallNow(), dispatchers, ...(failed.length === 0 ? {} : { failed }) };
  }

  #read(name: string): Snapshot {
    const snapshot = this.#sources.get(name)!.snapshot();
    return this.#isOne ? snapshot : { ...snapshot, name };
  }
}
