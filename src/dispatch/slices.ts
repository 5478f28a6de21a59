import type { Clock } from '../base/clock.ts';
import type { Waiter } from './waiter.ts';

const SLICE_MS = 10;
/** Between two looks at the clock; those woken run their own code in between. */
const BATCH = 128;
const CROWD = 1_000;

/**
 * Hands the endings of many waiters out in slices of at most 10 ms, so that a mass ending never holds up
 * the event loop. By the time they get here they have left their lines.
 */
export class Slices {
  #pending: Waiter[] = [];
  #next = 0;
  #isRunning = false;
  readonly #clock: Clock;
  readonly #idle: () => void;

  /** `idle` is called whenever all that were pending have been handed out. */
  constructor(clock: Clock, idle: () => void) {
    this.#clock = clock;
    this.#idle = idle;
  }

  /** Nobody that has ended is still to be told. */
  get isIdle(): boolean {
    return !this.#isRunning;
  }

  /** Those among them that were let go, and would start. */
  get letGo(): number {
    let count = 0;
    for (let i = this.#next; i < this.#pending.length; i++) {
      if (this.#pending[i]!.ending?.instead !== undefined) count++;
    }
    return count;
  }

  /** What a waiter that has ended is rejected with. In a crowd without a stack: ten thousand equal ones help nobody. */
  reasonOf(waiter: Waiter): unknown {
    if (this.#pending.length < CROWD) return waiter.ending?.reasonOf(waiter);
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      return waiter.ending?.reasonOf(waiter);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  }

  push(waiter: Waiter): void {
    this.#pending.push(waiter);
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#slice();
    }
  }

  async #slice(): Promise<void> {
    // The first batch goes out in this very turn: a single ending is not delayed.
    const until = this.#clock.now() + SLICE_MS;
    for (;;) {
      await undefined;
      const end = Math.min(this.#next + BATCH, this.#pending.length);
      // Whoever is let go runs its call in this very turn: the clock shows what that costs only when it is over.
      const isLetGo = this.#pending[this.#next]?.ending?.instead !== undefined;
      for (; this.#next < end; this.#next++) {
        const waiter = this.#pending[this.#next]!;
        waiter.wake?.(waiter);
      }
      if (this.#next === this.#pending.length) break;
      if (!isLetGo && this.#clock.now() < until) continue;
      this.#clock.setTimer(1, () => void this.#slice());
      return;
    }
    this.#pending = [];
    this.#next = 0;
    this.#isRunning = false;
    this.#idle();
  }
}
