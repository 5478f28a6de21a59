/// <reference lib="esnext.disposable" preserve="true" />
import type { Cost, LimitedBy, Priority } from '../base/words.ts';

/** What `onWait` is told. */
export interface WaitReport {
  /** 1 for the call that is next. */
  readonly position: number;
  readonly expectedMs: number;
  readonly limitedBy: LimitedBy;
}

/** What a caller can say about a call. Every field is optional and may be undefined. */
export interface CallContext {
  /** Wall clock, epoch milliseconds: after it the answer is useless. Bounds the wait and the run. */
  readonly deadline?: number | Date | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly priority?: Priority | undefined;
  /** Requests, or permits per unit: `{ tokens: 1200 }` still takes one request, `{ requests: 0 }` none. */
  readonly cost?: Cost | undefined;
  /** Whose credential is used: quotas are counted per account, each with a lane of its own. */
  readonly account?: string | undefined;
  /** For traces and alerts. */
  readonly tool?: string | undefined;
  /** Runs take turns; a path (`job7/sub12`) takes turns between its first segments, then within. */
  readonly runId?: string | undefined;
  /** Repeating this call, should it have run, is safe. */
  readonly idempotent?: boolean | undefined;
  /** Told when the wait begins, then when it changes by a quarter or a second, at most once a second. */
  readonly onWait?: ((wait: WaitReport) => void) | undefined;
}

/** What `fn` is given. */
export interface Call {
  /**
   * Runs a nested call of the same downstream in this call's place; it still takes its permit. Several at
   * a time share that one place: make them one after another where `maxConcurrent` must hold for them too.
   */
  readonly run: <T>(fn: () => T) => Promise<Awaited<T>>;
  readonly downstream: string;
  /** Milliseconds that the call has waited in the lane. */
  readonly waitedMs: number;
  /** Milliseconds left before the deadline when `fn` started; undefined without one. */
  readonly remainingMs: number | undefined;
  /** Fires when the caller's signal does, or when the deadline or `maxRun` has passed. Made when it is first read. */
  readonly signal: AbortSignal;
  /** Corrects what the call has taken, both ways: counts until the lease ends, and once after. */
  readonly settle: (actual: Cost) => void;
}

/** The right to run now, where a callback does not fit. */
export interface Lease extends Call {
  /** Gives the place back; with an outcome (a response, an error), the lane learns from it. Once: later calls change nothing. */
  readonly release: (outcome?: unknown) => void;
  [Symbol.dispose](): void;
}
