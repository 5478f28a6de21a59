import { type AdmissionError, isAdmissionError } from '../../base/errors.ts';
import { explain } from '../../explain.ts';

/** What a tool returns to the model in place of an answer: a value that survives every runtime. */
export interface Refusal {
  readonly error: {
    /** A code of `AdmissionError`; `RATE_LIMITED` where the downstream itself said no. */
    readonly code: string;
    readonly downstream: string;
    /** The same call may succeed later, and repeating it is safe. */
    readonly retryable: boolean;
    /** Whole milliseconds from now; absent where no time is known. */
    readonly retry_after_ms?: number;
    /** What happened and what to do about it, for the model. */
    readonly message: string;
  };
}

/** Whether a refusal becomes a value that the model can reason with (default), or is thrown. */
export type OnRefused = 'return' | 'throw';

/**
 * The refusal that an error is: Penstock's own, or the downstream's throttling; undefined for whatever else a
 * call can reject with (an abort, a failure), which is the runtime's to handle.
 */
export function refusalOf(error: unknown, downstream: string): Refusal | undefined {
  const { code, retryable, retryAfterMs, message } = explain(error);
  const isOurs = isAdmissionError(error);
  if (!isOurs && code !== 'RATE_LIMITED') return undefined;
  const name = (isOurs && (error as AdmissionError).downstream) || downstream;
  const wait = retryAfterMs === undefined ? {} : { retry_after_ms: Math.ceil(retryAfterMs) };
  return { error: { code, downstream: name, retryable, ...wait, message } };
}
