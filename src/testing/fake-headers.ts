import type { FakeLimit, LimitState } from './fake-limits.ts';

/** What a fake downstream knows of one of its limits when it answers, hidden ones excluded. */
export interface FakeQuota {
  readonly name: string;
  /** Permits per window. */
  readonly limit: number;
  readonly windowMs: number;
  /** The most that can be left: the limit, or the size of a bucket. */
  readonly room: number;
  /** Whole permits that are left. */
  readonly remaining: number;
  /** Milliseconds until more is left. */
  readonly resetMs: number;
}

/**
 * What every answer says of the limits: `ietf`: `RateLimit-Policy` and `RateLimit`, with all of them;
 * `x-ratelimit`: `X-RateLimit-Limit`, `-Remaining` and `-Reset` (whole seconds from now, rounded up) of
 * the one with the smallest share left; nothing (`none`, the default); or headers of your own.
 */
export type FakeHeaders = 'ietf' | 'x-ratelimit' | 'none' | ((quotas: readonly FakeQuota[]) => Record<string, string>);

/** The limits that are told, as they are now. */
export function quotasNow(limits: readonly FakeLimit[], states: readonly LimitState[], nowMs: number): FakeQuota[] {
  return limits.flatMap(({ windowMs, name, isHidden = false }, i) => {
    const state = states[i]!;
    if (isHidden) return [];
    return {
      name: name ?? `limit-${i + 1}`,
      limit: state.limit,
      windowMs,
      room: state.room(),
      remaining: state.remaining(nowMs),
      resetMs: state.resetMs(nowMs),
    };
  });
}

/** The headers of one answer. */
export function quotaHeaders(headers: FakeHeaders, quotas: readonly FakeQuota[]): Record<string, string> {
  if (typeof headers === 'function') return headers(quotas);
  if (headers === 'none' || quotas.length === 0) return {};
  if (headers === 'ietf') {
    return {
      'ratelimit-policy': quotas
        .map(({ name, limit, windowMs }) => `"${name}";q=${limit};w=${windowMs / 1_000}`)
        .join(', '),
      ratelimit: quotas
        .map(({ name, remaining, resetMs }) => `"${name}";r=${remaining};t=${seconds(resetMs)}`)
        .join(', '),
    };
  }
  const [tightest] = quotas.toSorted((a, b) => a.remaining / a.room - b.remaining / b.room);
  return {
    'x-ratelimit-limit': String(tightest!.room),
    'x-ratelimit-remaining': String(tightest!.remaining),
    'x-ratelimit-reset': String(seconds(tightest!.resetMs)),
  };
}

/** Rounded to the microsecond first: 1.0000000002 s is one second. */
function seconds(ms: number): number {
  return Math.ceil(Math.round(ms * 1_000) / 1e6);
}
