import type { ErrorCode } from './errors.ts';
import type { PolicyChange } from './plan.ts';
import type { HoldCause, LimitedBy, Outcome, Priority } from './words.ts';

/**
 * One fact about one call. Exactly one of `settled`, `refused`, `aborted` ends each call.
 * `settled` ends every call whose `fn` ran, a deadline that passed while it ran included
 * (then with `code`), except where the caller aborted. Beside these, a call of a downstream that is only
 * observed is told once as `would-start` or `would-refuse`, when that is known: `waitedMs` is then what it would
 * have waited, `code` what it would have been refused with.
 */
export interface CallEvent {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly downstream: string;
  readonly type: 'queued' | 'started' | 'refused' | 'aborted' | 'settled' | 'would-start' | 'would-refuse';
  readonly callId: number;
  readonly priority: Priority;
  readonly tool?: string;
  readonly runId?: string;
  readonly traceId?: string;
  readonly spanId?: string;
  /** Milliseconds in the lane so far. */
  readonly waitedMs: number;
  /** Milliseconds the call is expected to wait (`queued`) or would have had to (`refused`). */
  readonly expectedMs?: number;
  /** What stood in the way; absent where nothing did. */
  readonly limitedBy?: LimitedBy;
  /** The same for a person: `quota:60/minute`, `hold:retry-after`, `concurrency`. */
  readonly limit?: string;
  /** Waiters ahead when the wait began, this one included (`queued`). */
  readonly position?: number;
  readonly code?: ErrorCode;
  readonly outcome?: Outcome;
  /** How long `fn` ran (`settled`, and `aborted` once it ran). */
  readonly callMs?: number;
  readonly retryAfterMs?: number;
  /** `aborted`: whether `fn` had started. */
  readonly started?: boolean;
}

export interface HoldEvent {
  readonly at: number;
  readonly downstream: string;
  readonly type: 'held' | 'resumed';
  readonly cause: HoldCause;
  /** Epoch milliseconds. */
  readonly until: number;
  readonly incidentId?: string;
  /** What the operator gave as the reason of a pause. */
  readonly reason?: string;
}

/** One downstream was changed, added or is gone; `alerts` where that is what has changed of the policy. */
export interface PolicyEvent {
  readonly at: number;
  readonly downstream: string;
  readonly type: 'policy-changed';
  readonly changes: readonly PolicyChange[];
  readonly hash: string;
}

export interface NoticeEvent {
  readonly at: number;
  readonly downstream: string;
  /**
   * `policy-rejected`: a policy was not applied, nothing has changed; `downstream` is then `policy`.
   * `body-unread`: a place was given back although nobody had read an answer's body to its end.
   * `ungated-request`: a request to one of the downstream's hosts passed no gate. `hidden-retries`: one call sent several.
   */
  readonly type:
    | 'overdue'
    | 'orphaned'
    | 'alert'
    | 'listener-failed'
    | 'sink-failed'
    | 'classifier-failed'
    | 'policy-rejected'
    | 'body-unread'
    | 'ungated-request'
    | 'hidden-retries';
  readonly detail: string;
}

/** What `subscribe` delivers, in the order in which it happened. */
export type DispatcherEvent = CallEvent | HoldEvent | PolicyEvent | NoticeEvent;
