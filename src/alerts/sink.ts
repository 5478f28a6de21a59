import type { Alert, AlertSink } from '../base/alert.ts';

/** A sink that says how it wants to be written to. */
export interface PacedSink extends AlertSink {
  /** Least milliseconds between two deliveries; default 100. */
  readonly spacingMs?: number;
  /** Delivers several alerts in one go, at most `mostAtOnce`; where it is there, `deliver` is not used. */
  readonly deliverAll?: (alerts: readonly Alert[], signal: AbortSignal) => PromiseLike<void>;
  /** Most alerts that `deliverAll` takes; default 100. */
  readonly mostAtOnce?: number;
  /** An incident that lasts is told again this often, for receivers that forget what they do not hear of (milliseconds). */
  readonly repeatMs?: number;
  /** Which alerts it gets; default: all. */
  readonly accepts?: (alert: Alert) => boolean;
}

/** What a sink rejects with where it knows more than that it failed. The message holds no address and no secret. */
export class DeliveryFailed extends Error {
  /** Whether trying again may help: false for an answer such as 400 or 404. */
  readonly isRetryable: boolean;
  /** When the receiver wants to be asked again (milliseconds from now). */
  readonly retryAfterMs: number | undefined;
  /** The receiver's status, where it answered. */
  readonly status: number | undefined;

  constructor(
    message: string,
    facts: { readonly isRetryable: boolean; readonly retryAfterMs?: number; readonly status?: number },
  ) {
    super(message);
    this.name = 'DeliveryFailed';
    this.isRetryable = facts.isRetryable;
    this.retryAfterMs = facts.retryAfterMs;
    this.status = facts.status;
  }
}
