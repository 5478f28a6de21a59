import type { Alert } from '../base/alert.ts';
import { isError } from '../base/text.ts';

/** What an attempt that failed tells of itself. */
export interface Failure {
  /** For people: status or kind of error, never a message, which may hold the address of a webhook (a secret). */
  readonly kind: string;
  /** Whether trying again may help. */
  readonly isRetryable: boolean;
  /** When the receiver wants to be asked again, in milliseconds from now. */
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;
  /** Those of a batch that the receiver refused, where the sink knows; the others it took. */
  readonly refused: readonly Alert[] | undefined;
}

/** No receiver is waited for longer than this, whatever it asks for. */
const LONGEST_WAIT_MS = 86_400_000;
/** Too early, too slow, too many: the answers below 500 that another attempt may change. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
/** Names and codes of errors as platforms and libraries make them; anything else may be text of somebody's. */
const NAME = /^[A-Za-z][\w.]{0,39}$/;

type Fields = Readonly<Record<string, unknown>>;

/**
 * What was thrown, read by its structure: a `DeliveryFailed`, an error of an HTTP client that carries a
 * status, or anything else, which counts as a network failure. Never throws.
 */
export function failureOf(error: unknown, wallMs: number): Failure {
  try {
    return isObject(error) ? readError(error, wallMs) : UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

/**
 * What a delivery that did not reject came to. A sink that hands on the answer of `fetch` as it is has not
 * delivered anything where that answer is a refusal. Never throws.
 */
export function refusalIn(answer: unknown, wallMs: number): Failure | undefined {
  try {
    if (!isObject(answer)) return undefined;
    const status = statusOf(answer.status);
    return status === undefined || status < 400 ? undefined : ofStatus(status, retryAfterOf(answer, wallMs));
  } catch {
    return undefined;
  }
}

/** Whether another attempt may be answered otherwise. */
export function isPassing(status: number): boolean {
  return status >= 500 || PASSING.has(status);
}

const UNKNOWN: Failure = {
  kind: 'failed',
  isRetryable: true,
  retryAfterMs: undefined,
  status: undefined,
  refused: undefined,
};

function readError(error: Fields, wallMs: number): Failure {
  const response = isObject(error.response) ? error.response : undefined;
  const status = statusOf(error.status) ?? statusOf(error.statusCode) ?? statusOf(response?.status);
  const retryAfterMs = wait(error.retryAfterMs) ?? retryAfterOf(response ?? error, wallMs);
  const known =
    status === undefined ? { ...UNKNOWN, kind: kindOf(error), retryAfterMs } : ofStatus(status, retryAfterMs);
  const isRetryable = typeof error.isRetryable === 'boolean' ? error.isRetryable : known.isRetryable;
  const refused = Array.isArray(error.refused) ? (error.refused as readonly Alert[]) : undefined;
  return { ...known, isRetryable, refused };
}

function ofStatus(status: number, retryAfterMs: number | undefined): Failure {
  return { kind: `status ${status}`, isRetryable: isPassing(status), retryAfterMs, status, refused: undefined };
}

/** `TypeError ECONNREFUSED`: `fetch` keeps the code of the socket's error in its cause. */
function kindOf(error: Fields): string {
  if (!isError(error)) return 'failed';
  const cause = isObject(error.cause) ? error.cause : undefined;
  const words = [error.name, error.code ?? cause?.code].filter((word) => typeof word === 'string' && NAME.test(word));
  return words.length === 0 ? 'failed' : words.join(' ');
}

function statusOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 599 ? value : undefined;
}

/** `Retry-After` among the headers of an answer: seconds, or a date. */
function retryAfterOf({ headers }: Fields, wallMs: number): number | undefined {
  if (!isObject(headers)) return undefined;
  const { get } = headers;
  const value: unknown = typeof get === 'function' ? get.call(headers, 'retry-after') : headers['retry-after'];
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  const seconds = Number(value);
  return wait(Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - wallMs);
}

function wait(ms: unknown): number | undefined {
  return typeof ms === 'number' && ms >= 0 ? Math.min(ms, LONGEST_WAIT_MS) : undefined;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}
