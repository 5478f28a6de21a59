import { type Clock, LONGEST_TIMER_MS } from '../base/clock.ts';

/** One timer for the earliest of several instants (monotonic). It lets the process exit. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #at = Number.POSITIVE_INFINITY;
  #cancelTimer: (() => void) | undefined;

  /** `ring` may come early (a timer is at most 24.8 days long): it looks at the clock and sets the alarm anew. */
  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings at `at`, or earlier where it is set for earlier already. `Infinity` sets nothing. */
  set(at: number): void {
    if (at >= this.#at) return;
    this.#cancelTimer?.();
    this.#at = at;
    const delayMs = Math.min(Math.max(at - this.#clock.now(), 1), LONGEST_TIMER_MS);
    const ring = (): void => {
      this.#forget();
      this.#ring();
    };
    this.#cancelTimer = this.#clock.setTimer(delayMs, ring, { keepAlive: false });
  }

  cancel(): void {
    this.#cancelTimer?.();
    this.#forget();
  }

  #forget(): void {
    this.#cancelTimer = undefined;
    this.#at = Number.POSITIVE_INFINITY;
  }
}
