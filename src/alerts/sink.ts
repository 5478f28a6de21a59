import type { Alert, AlertSink } from '../base/alert.ts';

/**
 * A sink that says how it wants to be written to.
 *
 * One delivery is made at a time, 10 s are given to it. What rejects or throws is tried again after 1 s, 2 s, 4 s
 * up to a minute (and up to half as long again), except where it says that this is of no use (`DeliveryFailed`,
 * or an error with a `status` from 400 to 499 other than 408, 425 and 429). What resolves to an answer of `fetch`
 * is judged by its status.
 */
export interface PacedSink extends AlertSink {
  /** Least milliseconds between two deliveries; default 100. */
  readonly spacingMs?: number;
  /** Delivers several alerts in one go, at most `mostAtOnce`; where it is there, `deliver` is not used. */
  readonly deliverAll?: (alerts: readonly Alert[], signal: AbortSignal) => PromiseLike<void>;
  /** Most alerts that `deliverAll` takes; default 100. */
  readonly mostAtOnce?: number;
  /** An incident that lasts is told again this often, for receivers that forget what they do not hear of (milliseconds). */
  readonly repeatMs?: number;
  /**
   * Which incidents it gets; default: all. Asked for each alert of an incident it has not been told of, so that
   * one which becomes critical reaches it then; who was told of an incident hears of it to its end.
   */
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
  /**
   * Those of a batch that the receiver refused, where it said so: they are given up, the others count as
   * delivered. Without it, each alert of a batch that was refused (400, 413, 422, no status) is sent once more by itself.
   */
  readonly refused: readonly Alert[] | undefined;

  constructor(
    message: string,
    facts: {
      readonly isRetryable: boolean;
      readonly retryAfterMs?: number | undefined;
      readonly status?: number | undefined;
      readonly refused?: readonly Alert[] | undefined;
    },
  ) {
    super(message);
    this.name = 'DeliveryFailed';
    this.isRetryable = facts.isRetryable;
    this.retryAfterMs = facts.retryAfterMs;
    this.status = facts.status;
    this.refused = facts.refused;
  }
}
