/** What of a request's options says how long its caller is willing to wait. Milliseconds. */
export interface RequestTimes {
  readonly timeout?: number | undefined;
  readonly resetTimeoutOnProgress?: boolean | undefined;
  readonly maxTotalTimeout?: number | undefined;
  readonly onprogress?: unknown;
}

/** What the SDK takes where no `timeout` is given. */
const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * The whole time that the caller of a request is willing to wait, in milliseconds. Where progress resets the
 * timeout, the reports of the wait are progress: only `maxTotalTimeout` bounds it then.
 */
export function patienceOf(times: RequestTimes): number {
  const { timeout = DEFAULT_TIMEOUT_MS, maxTotalTimeout } = times;
  const total = maxTotalTimeout || Number.POSITIVE_INFINITY;
  return isKeptAlive(times) ? total : Math.min(timeout, total);
}

/** The timeouts that are left to a request whose call has waited. */
export function timesLeft(times: RequestTimes, waitedMs: number): { timeout?: number; maxTotalTimeout?: number } {
  const leftMs = patienceOf(times) - waitedMs;
  if (Number.isNaN(leftMs)) return {};
  if (leftMs === Number.POSITIVE_INFINITY) return {};
  // Rounded down: at the end of the time it is the request that ends, with the SDK's own error, and not the lane.
  const left = Math.max(1, Math.floor(leftMs));
  if (!isKeptAlive(times)) return { timeout: left };
  return { timeout: Math.min(times.timeout ?? DEFAULT_TIMEOUT_MS, left), maxTotalTimeout: left };
}

/** The SDK asks for progress, and so hears of any, only where somebody listens to it. */
function isKeptAlive({ resetTimeoutOnProgress, onprogress }: RequestTimes): boolean {
  return resetTimeoutOnProgress === true && typeof onprogress === 'function';
}
