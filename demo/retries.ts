import { setTimeout as sleep } from 'node:timers/promises';

export interface RetryRule {
  readonly retries: number;
  /** First wait; each next one is twice as long, `maxMs` at most. */
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * What the SDKs of large APIs ship: half a second, doubling, up to a quarter of it taken off at
 * random, and Retry-After instead where the server sent one. Kept at full length although the demo
 * runs sixty times faster, which favours the retries.
 */
export const THREE_RETRIES: RetryRule = { retries: 3, baseMs: 500, maxMs: 8_000 };

/** Milliseconds before retry `n` (0 is the first), after an answer that may carry Retry-After in seconds. */
export function backoffMs(rule: RetryRule, n: number, retryAfter: string | null, random = Math.random): number {
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter);
  // The jitter on top keeps callers that were told the same second from coming back in the same millisecond.
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1_000 + rule.baseMs * 0.25 * random();
  return Math.min(rule.baseMs * 2 ** n, rule.maxMs) * (1 - 0.25 * random());
}

/** Whether a retry is worth it: the server was busy, not wrong. */
export function isBusy(status: number): boolean {
  return status === 429 || status === 503;
}

/** How long to wait before retry `n`, in milliseconds. */
export type WaitBefore = (response: Response, n: number) => number;

/** The wait of `THREE_RETRIES`. */
export const backOff: WaitBefore = (response, n) => backoffMs(THREE_RETRIES, n, response.headers.get('retry-after'));

/**
 * Runs `attempt` until it answers something other than 429 or 503, three retries are used up or the
 * signal fires; returns the last answer. The bodies of answers that are retried are drained.
 */
export async function withRetries(
  attempt: () => Promise<Response>,
  signal: AbortSignal | undefined,
  waitBefore: WaitBefore = backOff,
): Promise<Response> {
  for (let n = 0; ; n += 1) {
    const response = await attempt();
    if (!isBusy(response.status) || n === THREE_RETRIES.retries) return response;
    await response.arrayBuffer();
    const waitMs = waitBefore(response, n);
    if (waitMs > 0) await sleep(waitMs, undefined, signal === undefined ? {} : { signal });
  }
}
