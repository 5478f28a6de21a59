import { type Clock, DUE_MS, LONGEST_TIMER_MS } from '../base/clock.ts';

/** A lane's one timer: set for the earliest instant at which something is due, believed only after the clock was read again. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #at = Number.POSITIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** When it rings; Infinity: not at all. */
  get at(): number {
    return this.#at;
  }

  /**
   * Sees to it that it rings at an instant or before; Infinity: not at all. One that is set for earlier
   * stays: it rings once for nothing, which costs less than setting it anew for every call.
   */
  set(at: number, now: number): void {
    if (this.#at <= at && this.#at > now && at !== Number.POSITIVE_INFINITY) return;
    this.clear();
    if (at === Number.POSITIVE_INFINITY) return;
    this.#at = at;
    const delay = Math.min(Math.max(at - now, DUE_MS), LONGEST_TIMER_MS);
    this.#cancel = this.#clock.setTimer(delay, () => {
      this.#at = Number.POSITIVE_INFINITY;
      this.#cancel = undefined;
      this.#ring();
    });
  }

  clear(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#at = Number.POSITIVE_INFINITY;
  }
}
