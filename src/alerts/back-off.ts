const FIRST_MS = 1_000;
/** An alert must not be late by much more than the outage was long; once a minute harms no receiver. */
const LONGEST_MS = 60_000;
/** Up to half as long again, so that forty processes that failed in the same second do not come back in one. */
const JITTER = 0.5;
const MOST_JITTER_MS = 10_000;

/** Milliseconds until the next attempt after the `nth` failure in a row (from 1); `random` gives [0, 1). */
export function backOffMs(nth: number, random: () => number): number {
  const ms = Math.min(FIRST_MS * 2 ** (nth - 1), LONGEST_MS);
  return ms * (1 + JITTER * random());
}

/** What a receiver asked for and somewhat more, never less. */
export function askedWaitMs(retryAfterMs: number, random: () => number): number {
  return retryAfterMs + Math.min(JITTER * retryAfterMs, MOST_JITTER_MS) * random();
}
