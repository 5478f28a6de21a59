/**
 * The only file that touches `Date`, `performance` or timers.
 * Rates use `now()` alone; deadlines are judged by both clocks.
 */
export interface Clock {
  /** Monotonic milliseconds, fractional, from an arbitrary origin. */
  now(): number;
  /** Wall clock, epoch milliseconds. */
  wallNow(): number;
  /**
   * Runs `fire` once, `delayMs` from now at the earliest; returns what cancels it.
   * `keepAlive: false` lets the process exit while it is pending.
   */
  setTimer(delayMs: number, fire: () => void, options?: { keepAlive?: boolean }): () => void;
}

/** Longest delay a timer of the platform can take; a longer wait is made of several. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** What is less than this away counts as due: 1 µs, in milliseconds. */
export const DUE_MS = 1e-3;

/** The machine's clocks. Delays are rounded up to whole milliseconds, at least 1, at most 2^31-1. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimer(delayMs, fire, options) {
    const whole = Math.min(Math.max(Math.ceil(delayMs), 1), LONGEST_TIMER_MS);
    const timer: unknown = setTimeout(fire, whole);
    if (options?.keepAlive === false) unref(timer);
    return () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]);
  },
};

/** Some runtimes return a number, or a handle without `unref`. */
function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
    timer.unref();
  }
}
