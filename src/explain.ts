import { admissionWithin, causesOf } from './base/causes.ts';
import { systemClock } from './base/clock.ts';
import { formatDuration } from './base/duration.ts';
import type { AdmissionError, ErrorCode } from './base/errors.ts';
import type { Verdict } from './base/verdict.ts';
import { property } from './feedback/fields.ts';
import { createJudge } from './feedback/judge.ts';
import { recall } from './feedback/remembered.ts';

/** What a rejection means for whoever made the call. */
export interface Explanation {
  readonly code: ErrorCode | 'CANCELLED' | 'TIMEOUT' | 'FAILED';
  /** The same call may succeed later, and repeating it is safe as far as the error tells. */
  readonly retryable: boolean;
  /** Whether the call may have had an effect. False only where that is certain. */
  readonly started: boolean;
  /** Milliseconds after which it is worth another try. */
  readonly retryAfterMs?: number;
  /** For a person or a model: what happened and what to do about it. */
  readonly message: string;
}

/** A message is shown to people and models: an error that quotes a whole page is cut. */
const LONGEST_QUOTE = 300;

/** For errors that no lane has read. Statuses other than 429 that mean throttled are a policy's to say. */
const judge = createJudge({
  downstream: '',
  throttleStatuses: [429],
  wallNow: () => systemClock.wallNow(),
  onClassifierFailure: () => undefined,
});

/**
 * Explains whatever a call can reject with: Penstock's own refusals (of any copy of the package),
 * the downstream's own 429, an abort, a timeout, anything else; also where `fetch` or a client has
 * wrapped it in an error of its own (`cause`). The very error that a call was rejected with is explained as its lane
 * has read it, by its `throttleStatuses` and its classifier; a copy of it, or one that came from elsewhere, by its
 * shape alone. `retryAfterMs` counts from the rejection. Never throws.
 *
 * @example
 * try { return await callDownstream('carrier', fn) } catch (error) {
 *   return { isError: true, content: [{ type: 'text', text: explain(error).message }] }
 * }
 */
export function explain(error: unknown): Explanation {
  const ours = admissionWithin(error);
  if (ours !== undefined) return refusal(ours);
  const verdict = recall(error) ?? judge(error, true);
  if (verdict.outcome === 'throttled') return throttled(verdict);
  if (verdict.outcome === 'exhausted') return exhausted(verdict);
  if (verdict.outcome === 'overloaded') return overloaded(verdict);
  if (verdict.outcome === 'cancelled') {
    const message = `The call was cancelled by its caller${quoted(error)}. Do not repeat it unless it is still wanted.`;
    return { code: 'CANCELLED', retryable: false, started: true, message };
  }
  if (isTimeout(error)) {
    const message = `The call took too long${quoted(error)}. Whether it had an effect is not known: check before repeating it.`;
    return { code: 'TIMEOUT', retryable: false, started: true, message };
  }
  const status = verdict.server?.status;
  const kind = status === undefined ? 'The call failed' : `The call failed with status ${status}`;
  const message = `${kind}${quoted(error)}. Penstock did not refuse it: the cause is in the call or its downstream.`;
  return { code: 'FAILED', retryable: false, started: true, message };
}

function refusal(error: AdmissionError): Explanation {
  const { code, retryable, started, retryAfterMs, message } = error;
  return { code, retryable, started, ...(retryAfterMs !== undefined && { retryAfterMs }), message };
}

function throttled(verdict: Verdict): Explanation {
  const message = `The downstream throttled the call${named(verdict)}: its quota is used up, and the call did no work. ${comeBack(verdict)}`;
  return { code: 'RATE_LIMITED', retryable: true, started: true, ...hintOf(verdict), message };
}

function exhausted(verdict: Verdict): Explanation {
  const message = `The downstream refused the call${named(verdict)}: a quota is used up that waiting some seconds does not refill, and the call did no work. ${refill(verdict)}`;
  // A bill that is not paid is no matter of time.
  return { code: 'RATE_LIMITED', retryable: waitOf(verdict) !== undefined, started: true, ...hintOf(verdict), message };
}

function refill(verdict: Verdict): string {
  return waitOf(verdict) === undefined
    ? 'When that will be is not known: do not repeat the call before somebody has seen to it.'
    : comeBack(verdict);
}

function overloaded(verdict: Verdict): Explanation {
  const message = `The downstream is overloaded${named(verdict)}. Whether the call had an effect is not known. ${comeBack(verdict)}`;
  return { code: 'FAILED', retryable: false, started: true, ...hintOf(verdict), message };
}

/** What the downstream itself called it, in brackets. */
function named({ server }: Verdict): string {
  const status = server?.status === undefined ? [] : [`status ${server.status}`];
  const code = server?.code === undefined ? [] : [server.code];
  const words = [...status, ...code].join(', ');
  return words === '' ? '' : ` (${words})`;
}

function hintOf(verdict: Verdict): { retryAfterMs?: number } {
  const ms = waitOf(verdict);
  return ms === undefined ? {} : { retryAfterMs: ms };
}

/** For a quota of a day, the reset if one is known: the seconds that a server names beside it are no cure. */
function waitOf({ outcome, server }: Verdict): number | undefined {
  if (outcome !== 'exhausted' || server?.resetMs === undefined) return server?.retryAfterMs;
  return Math.max(server.retryAfterMs ?? 0, server.resetMs);
}

function comeBack(verdict: Verdict): string {
  const ms = waitOf(verdict);
  return ms === undefined
    ? 'Try again later; the downstream named no time.'
    : `Try again in ${formatDuration(ms)} at the earliest.`;
}

/** Of the system, and of undici below `fetch`. */
const TIMEOUTS = /^(?:ETIMEDOUT|UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT)$/;

function isTimeout(error: unknown): boolean {
  return causesOf(error).some((each) => {
    const code = property(each, 'code');
    return property(each, 'name') === 'TimeoutError' || (typeof code === 'string' && TIMEOUTS.test(code));
  });
}

/** The error's own words, in brackets and on one line; nothing where it has none. */
function quoted(error: unknown): string {
  const own = typeof error === 'string' ? error : property(error, 'message');
  if (typeof own !== 'string' || own.trim() === '') return '';
  const line = own.trim().replace(/\s+/g, ' ');
  return ` (${line.length > LONGEST_QUOTE ? `${line.slice(0, LONGEST_QUOTE)}...` : line})`;
}
