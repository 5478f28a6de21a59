import { DUE_MS } from '../base/clock.ts';

/** One start: when, monotonic milliseconds, and what it cost (default 1). */
export interface Start {
  readonly atMs: number;
  readonly cost?: number;
}

/**
 * The most that any window of `windowMs` holds, wherever it begins: the largest sum of costs in
 * (s − windowMs, s] over all starts s. Starts may come in any order; 0 where there are none. What
 * lies less than 1 µs inside the far end is taken to be outside: rounding, not a start too many.
 *
 * @example
 * expect(windowMax(server.starts(), 60_000)).toBeLessThanOrEqual(60)
 */
export function windowMax(starts: readonly (number | Start)[], windowMs: number): number {
  const sorted = starts
    .map((start) => (typeof start === 'number' ? { atMs: start, cost: 1 } : { cost: 1, ...start }))
    .sort((a, b) => a.atMs - b.atMs);
  let first = 0;
  let sum = 0;
  let most = 0;
  for (const [index, start] of sorted.entries()) {
    sum += start.cost;
    while (first < index && sorted[first]!.atMs <= start.atMs - windowMs + DUE_MS) {
      sum -= sorted[first]!.cost;
      first += 1;
    }
    most = Math.max(most, sum);
  }
  return most;
}
