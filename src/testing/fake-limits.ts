import { DUE_MS } from '../base/clock.ts';

/** One limit that a fake downstream enforces. */
export interface FakeLimit {
  /** Permits per window, above 0. */
  readonly limit: number;
  /** Length of the window in milliseconds, above 0. */
  readonly windowMs: number;
  /**
   * `sliding` (default): counts what it let through in the last `windowMs`. `fixed`: a counter that
   * starts anew at every multiple of `windowMs`. `bucket`: full at the start, refilled evenly.
   */
  readonly kind?: 'sliding' | 'fixed' | 'bucket';
  /** `fixed`: where in monotonic time a window begins, milliseconds; default 0. */
  readonly phaseMs?: number;
  /** `bucket`: its size; default `limit`. */
  readonly size?: number;
}

/** Decides and counts. Less than 1 µs apart is the same instant. */
export interface LimitState {
  /** Milliseconds until `cost` fits: 0 for now, `Infinity` for never. */
  readonly waitMs: (cost: number, nowMs: number) => number;
  readonly take: (cost: number, nowMs: number) => void;
}

export function limitState(limit: FakeLimit): LimitState {
  for (const [name, value] of [
    ['limit', limit.limit],
    ['windowMs', limit.windowMs],
    ['size', limit.size ?? 1],
  ] as const) {
    if (!(value > 0 && value < Number.POSITIVE_INFINITY)) {
      throw new RangeError(`${name}: expected a number above 0, found ${value}`);
    }
  }
  if (limit.kind === 'fixed') return fixedWindow(limit);
  return limit.kind === 'bucket' ? bucket(limit) : slidingWindow(limit);
}

function slidingWindow({ limit, windowMs }: FakeLimit): LimitState {
  let taken: { readonly atMs: number; readonly cost: number }[] = [];
  let first = 0;
  let sum = 0;
  const forget = (nowMs: number): void => {
    for (let old = taken[first]; old !== undefined && old.atMs <= nowMs - windowMs + DUE_MS; old = taken[first]) {
      sum -= old.cost;
      first += 1;
    }
    if (first > 1_000 && first * 2 > taken.length) {
      taken = taken.slice(first);
      first = 0;
    }
  };
  return {
    waitMs(cost, nowMs) {
      forget(nowMs);
      if (cost > limit) return Number.POSITIVE_INFINITY;
      let left = sum;
      for (let at = first; left + cost > limit; at += 1) {
        const old = taken[at]!;
        left -= old.cost;
        if (left + cost <= limit) return old.atMs + windowMs - nowMs;
      }
      return 0;
    },
    take(cost, nowMs) {
      taken.push({ atMs: nowMs, cost });
      sum += cost;
    },
  };
}

function fixedWindow({ limit, windowMs, phaseMs = 0 }: FakeLimit): LimitState {
  let current = Number.NaN;
  let used = 0;
  const windowOf = (nowMs: number): number => Math.floor((nowMs - phaseMs + DUE_MS) / windowMs);
  const roll = (nowMs: number): void => {
    if (windowOf(nowMs) === current) return;
    current = windowOf(nowMs);
    used = 0;
  };
  return {
    waitMs(cost, nowMs) {
      roll(nowMs);
      if (cost > limit) return Number.POSITIVE_INFINITY;
      return used + cost <= limit ? 0 : (current + 1) * windowMs + phaseMs - nowMs;
    },
    take(cost, nowMs) {
      roll(nowMs);
      used += cost;
    },
  };
}

function bucket({ limit, windowMs, size = limit }: FakeLimit): LimitState {
  const perMs = limit / windowMs;
  let level = size;
  let seenMs = Number.NEGATIVE_INFINITY;
  const refill = (nowMs: number): void => {
    level = Math.min(size, level + Math.max(0, nowMs - seenMs) * perMs);
    seenMs = Math.max(seenMs, nowMs);
  };
  return {
    waitMs(cost, nowMs) {
      refill(nowMs);
      if (cost > size) return Number.POSITIVE_INFINITY;
      const ms = (cost - level) / perMs;
      return ms < DUE_MS ? 0 : ms;
    },
    take(cost, nowMs) {
      refill(nowMs);
      level -= cost;
    },
  };
}
