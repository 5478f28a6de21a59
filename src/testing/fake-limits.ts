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
  /** `bucket`: its size; default `limit`, and then it goes with it. */
  readonly size?: number;
  /** Enforced, and never told in headers; default false. */
  readonly isHidden?: boolean;
  /** What headers call it, where they name it; default `limit-1` for the first, and so on. */
  readonly name?: string;
}

/** Decides and counts. Less than 1 µs apart is the same instant. */
export interface LimitState {
  /** Permits per window, as it is now; may be changed. */
  limit: number;
  /** Milliseconds until `cost` fits: 0 for now, `Infinity` for never. */
  readonly waitMs: (cost: number, nowMs: number) => number;
  readonly take: (cost: number, nowMs: number) => void;
  /** Whole permits that are left, 0 or more. */
  readonly remaining: (nowMs: number) => number;
  /**
   * Milliseconds until more is left: `sliding` until the oldest call leaves the window, `fixed` until the
   * window ends, `bucket` until it is full. 0 where nothing is used.
   */
  readonly resetMs: (nowMs: number) => number;
  /** The most that can be left. */
  readonly room: () => number;
}

export function limitState(limit: FakeLimit): LimitState {
  checkAbove0('limit', limit.limit);
  checkAbove0('windowMs', limit.windowMs);
  checkAbove0('size', limit.size ?? 1);
  if (limit.kind === 'fixed') return fixedWindow(limit);
  return limit.kind === 'bucket' ? bucket(limit) : slidingWindow(limit);
}

/** Throws a `RangeError` for anything but a finite number above 0. */
export function checkAbove0(name: string, value: number): void {
  if (!(value > 0 && value < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`${name}: expected a number above 0, found ${value}`);
  }
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
  const state: LimitState = {
    limit,
    waitMs(cost, nowMs) {
      forget(nowMs);
      if (cost > state.limit) return Number.POSITIVE_INFINITY;
      let left = sum;
      for (let at = first; left + cost > state.limit; at += 1) {
        const old = taken[at]!;
        left -= old.cost;
        if (left + cost <= state.limit) return old.atMs + windowMs - nowMs;
      }
      return 0;
    },
    take(cost, nowMs) {
      taken.push({ atMs: nowMs, cost });
      sum += cost;
    },
    remaining(nowMs) {
      forget(nowMs);
      return wholeLeft(state.limit - sum);
    },
    resetMs(nowMs) {
      forget(nowMs);
      const oldest = taken[first];
      return oldest === undefined ? 0 : oldest.atMs + windowMs - nowMs;
    },
    room: () => state.limit,
  };
  return state;
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
  const endMs = (nowMs: number): number => (current + 1) * windowMs + phaseMs - nowMs;
  const state: LimitState = {
    limit,
    waitMs(cost, nowMs) {
      roll(nowMs);
      if (cost > state.limit) return Number.POSITIVE_INFINITY;
      return used + cost <= state.limit ? 0 : endMs(nowMs);
    },
    take(cost, nowMs) {
      roll(nowMs);
      used += cost;
    },
    remaining(nowMs) {
      roll(nowMs);
      return wholeLeft(state.limit - used);
    },
    resetMs(nowMs) {
      roll(nowMs);
      return endMs(nowMs);
    },
    room: () => state.limit,
  };
  return state;
}

function bucket({ limit, windowMs, size }: FakeLimit): LimitState {
  const room = (): number => size ?? state.limit;
  const perMs = (): number => state.limit / windowMs;
  let level = size ?? limit;
  let seenMs = Number.NEGATIVE_INFINITY;
  const refill = (nowMs: number): void => {
    level = Math.min(room(), level + Math.max(0, nowMs - seenMs) * perMs());
    seenMs = Math.max(seenMs, nowMs);
  };
  const state: LimitState = {
    limit,
    waitMs(cost, nowMs) {
      refill(nowMs);
      if (cost > room()) return Number.POSITIVE_INFINITY;
      const ms = (cost - level) / perMs();
      return ms < DUE_MS ? 0 : ms;
    },
    take(cost, nowMs) {
      refill(nowMs);
      level -= cost;
    },
    remaining(nowMs) {
      refill(nowMs);
      return wholeLeft(level);
    },
    resetMs(nowMs) {
      refill(nowMs);
      return (room() - level) / perMs();
    },
    room,
  };
  return state;
}

function wholeLeft(permits: number): number {
  return Math.max(0, Math.floor(permits + 1e-9));
}
