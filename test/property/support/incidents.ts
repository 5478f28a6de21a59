import fc from 'fast-check';
import { grid } from './seed.ts';

export type Kind = 'throttled' | 'overloaded' | 'exhausted';
export type Way = 'returned' | 'thrown' | 'reported' | 'reported with its start';

/** A call: when it is made after the one before, how long it runs, and what comes of it. */
export interface Play {
  readonly afterMs: number;
  readonly runMs: number;
  readonly outcome: Kind | 'success' | 'failed';
  readonly hintMs: number | undefined;
  readonly way: Way;
  /** The operator drops all holds as it is made. */
  readonly isResumed: boolean;
}

const hints = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant(0) },
  { weight: 3, arbitrary: grid(250, 20_000, 250) },
  { weight: 1, arbitrary: fc.constantFrom(400_000, 86_400_000, 30 * 86_400_000) },
);

export const plays: fc.Arbitrary<Play[]> = fc.array(
  fc.record({
    afterMs: fc.oneof(
      { weight: 3, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: grid(0, 5_000, 250) },
      { weight: 1, arbitrary: grid(0, 100_000, 1_000) },
    ),
    runMs: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: grid(0, 60_000, 250) }),
    outcome: fc.oneof(
      { weight: 5, arbitrary: fc.constant('throttled' as const) },
      { weight: 2, arbitrary: fc.constantFrom<Kind>('overloaded', 'exhausted') },
      { weight: 2, arbitrary: fc.constantFrom('success' as const, 'failed' as const) },
    ),
    hintMs: hints,
    way: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom<Way>('returned', 'thrown') },
      { weight: 1, arbitrary: fc.constantFrom<Way>('reported', 'reported with its start') },
    ),
    isResumed: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
  }),
  { minLength: 2, maxLength: 40, size: 'max' },
);

export const BASE_MS = 2_000;
export const MAX_MS = 60_000;
export const MOST_HOLD_MS = 86_400_000;

/**
 * The rules of one kind of incident, written anew as sentences and without a table: who began before, who
 * after, what is one more of the same, what is a step.
 */
export class Row {
  readonly kind: Kind;
  level = 0;
  /** Incidents so far. */
  count = 0;
  heldUntil = 0;
  #beganAt = Number.NEGATIVE_INFINITY;
  /** The end of what was held without a gap since the last incident began. */
  #freeFrom = Number.NEGATIVE_INFINITY;

  constructor(kind: Kind) {
    this.kind = kind;
  }

  /** How many incidents a call made elsewhere has seen the end of, as far as that matters: all of them, or not the last. */
  seenAt(startedAt: number): number {
    return startedAt > this.#beganAt && startedAt >= this.#freeFrom ? this.count : this.count - 1;
  }

  /** `seen`: how many incidents of this kind there had been when the call started; undefined where nobody knows. */
  refused(seen: number | undefined, hintMs: number | undefined, now: number): void {
    const isSame = seen === undefined ? now < this.heldUntil : seen < this.count;
    const said = hintMs === undefined ? undefined : Math.min(hintMs, MOST_HOLD_MS);
    let holdMs = said ?? 0;
    if (!isSame) {
      this.count++;
      this.level++;
      this.#beganAt = now;
      this.#freeFrom = Math.max(now, this.heldUntil);
      const steps = Math.min(BASE_MS * 2 ** (this.level - 1), MAX_MS);
      if (said === undefined) holdMs = this.kind === 'exhausted' ? MAX_MS : steps;
      else if (this.level > 1) holdMs = Math.max(said, this.kind === 'exhausted' ? BASE_MS : steps);
    }
    if (now <= this.#freeFrom) this.#freeFrom = Math.max(this.#freeFrom, now + holdMs);
    this.heldUntil = Math.max(this.heldUntil, now + holdMs);
  }

  succeeded(seen: number | undefined): void {
    if (seen !== undefined && seen >= this.count) this.level = 0;
  }

  resumed(now: number): void {
    this.heldUntil = Math.min(this.heldUntil, now);
    this.#freeFrom = Math.min(this.#freeFrom, now);
  }
}
