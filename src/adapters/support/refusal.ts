import { admissionWithin } from '../../base/causes.ts';
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
 * call can reject with (an abort, a failure), which is the runtime's to handle. A refusal that a client has
 * wrapped in an error of its own (`cause`) is still one.
 */
export function refusalOf(error: unknown, downstream: string): Refusal | undefined {
  const ours = admissionWithin(error);
  const { code, retryable, retryAfterMs, message } = explain(ours ?? error);
  if (ours === undefined && code !== 'RATE_LIMITED') return undefined;
  const wait = retryAfterMs === undefined ? {} : { retry_after_ms: Math.ceil(retryAfterMs) };
  return { error: { code, downstream: ours?.downstream || downstream, retryable, ...wait, message } };
}

/** Whether a tool's answer is a refusal, also one that was stored as JSON and read again. */
export function isRefusal(value: unknown): value is Refusal {
  if (typeof value !== 'object' || value === null || Object.keys(value).join() !== 'error') return false;
  const { error } = value as { readonly error: unknown };
  if (typeof error !== 'object' || error === null) return false;
  const { code, downstream, retryable, message } = error as Record<string, unknown>;
  const texts = [code, downstream, message];
  return typeof retryable === 'boolean' && texts.every((text) => typeof text === 'string');
}
