import { isAdmissionError } from '../base/errors.ts';
import type { Verdict } from '../base/verdict.ts';
import type { Outcome } from '../base/words.ts';
import { isHeaderContainer } from './headers.ts';
import { findHint, property } from './hint.ts';

/** What recognition needs to know of a downstream. */
export interface Recognition {
  /** Statuses that mean "our quota is used up". */
  readonly throttleStatuses: readonly number[];
  readonly wallNow: () => number;
}

export const SUCCESS: Verdict = Object.freeze({ outcome: 'success' });
export const FAILED: Verdict = Object.freeze({ outcome: 'failed' });
export const CANCELLED: Verdict = Object.freeze({ outcome: 'cancelled' });

/** 529 is what some model providers answer when they are overloaded. */
const OVERLOADED_ALWAYS = 529;
const OVERLOADED_WITH_HINT = 503;

/**
 * What an object that was thrown means, read from its structure alone: never from its class, its
 * message or a body.
 */
export function recogniseThrown(thrown: object, how: Recognition): Verdict {
  if (isAdmissionError(thrown)) return CANCELLED;
  const response = property(thrown, 'response');
  const statuses = [
    property(thrown, 'status'),
    property(thrown, 'statusCode'),
    property(response, 'status'),
    property(response, 'statusCode'),
  ].map(asStatus);
  // A client may wrap the answer in an error with a status of its own; the downstream's "no" wins.
  const refusal = statuses.find((status) => status !== undefined && how.throttleStatuses.includes(status));
  const status = refusal ?? statuses.find((found) => found !== undefined);
  if (status !== undefined) {
    const verdict = recogniseStatus(thrown, status, how);
    if (verdict !== undefined) return verdict;
  }
  if (isAbort(thrown)) return CANCELLED;
  return status === undefined ? FAILED : { outcome: 'failed', server: { status } };
}

/**
 * What a returned object means. Only what has a status and headers (or the `retryAfterMs` of a report)
 * is an answer of a downstream; everything else is data, whatever it says.
 */
export function recogniseReturned(value: object, how: Recognition): Verdict {
  const fields = value as { readonly status?: unknown; readonly statusCode?: unknown };
  let status = asStatus(fields.status);
  if (status === undefined) status = asStatus(fields.statusCode);
  // Nearly every value ends here: keep it to two property reads.
  if (status === undefined || !isAnswer(value)) return SUCCESS;
  const verdict = recogniseStatus(value, status, how);
  if (verdict !== undefined) return verdict;
  return status >= 500 ? { outcome: 'failed', server: { status } } : SUCCESS;
}

function recogniseStatus(outcome: object, status: number, how: Recognition): Verdict | undefined {
  const isThrottled = how.throttleStatuses.includes(status);
  if (!isThrottled && status !== OVERLOADED_ALWAYS && status !== OVERLOADED_WITH_HINT) return undefined;
  const hint = findHint(outcome, how.wallNow);
  if (isThrottled) return verdictOf('throttled', status, hint);
  if (status === OVERLOADED_WITH_HINT && hint === undefined) return undefined;
  return verdictOf('overloaded', status, hint);
}

function verdictOf(outcome: Outcome, status: number, hint: ReturnType<typeof findHint>): Verdict {
  return { outcome, server: { status, ...hint } };
}

function isAnswer(value: object): boolean {
  return (
    isHeaderContainer(property(value, 'headers')) ||
    isHeaderContainer(property(value, 'responseHeaders')) ||
    isHeaderContainer(property(property(value, 'response'), 'headers')) ||
    typeof property(value, 'retryAfterMs') === 'number'
  );
}

/** An HTTP status, as a number or as the three digits that some clients keep. */
export function asStatus(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 100 && value <= 599 ? value : undefined;
  if (typeof value !== 'string' || value.length !== 3) return undefined;
  return /^[1-5]\d\d$/.test(value) ? Number(value) : undefined;
}

/** The shapes in which runtimes and clients say that somebody aborted the call. */
export function isAbort(thrown: object): boolean {
  const name = property(thrown, 'name');
  if (name === 'AbortError' || name === 'CanceledError') return true;
  const code = property(thrown, 'code');
  return code === 'ABORT_ERR' || code === 'ERR_CANCELED';
}
