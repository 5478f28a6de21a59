/// <reference lib="esnext.disposable" preserve="true" />
import { END, HEAR, type HearingCall, KNOWN } from '../base/inside.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import type { Cost } from '../base/words.ts';
import type { Costs } from '../model/bucket.ts';
import type { Call, Lease } from './context.ts';
import type { Request } from './request.ts';

/** What a running call asks of its lane. */
export interface CallHost {
  readonly name: string;
  /** Of its lane, where that is an account's. */
  readonly account: string | undefined;
  /** What stands for the call in the books of a lane that only observes. */
  readonly ghost?: object;
  readonly nested: <T>(outer: ActiveCall, fn: () => T) => Promise<Awaited<T>>;
  readonly correct: (call: ActiveCall, actual: Cost) => void;
  readonly release: (call: ActiveCall, outcome: unknown, hasOutcome: boolean) => void;
  readonly hear: (call: ActiveCall, answer: unknown) => boolean;
  readonly known: (call: ActiveCall, answer: unknown) => void;
}

/**
 * `running`: the caller waits for it. `overdue`: the caller has its answer (a deadline, an abort), the
 * call still holds its place. `orphaned`: the place was given back. `settled`: over.
 */
export type ActiveState = 'running' | 'overdue' | 'orphaned' | 'settled';

/** A call that has its permit: what `fn` is given, and what the lane knows of it until it settles. */
export class ActiveCall implements Call, HearingCall {
  // Declared, not initialized: every field is written once, in the constructor, on the path of every call.
  declare host: CallHost;
  declare readonly request: Request;
  /** What it has taken; corrected by `settle`. */
  declare costs: Costs;
  /** The policy under which it took that. */
  declare readonly plan: DownstreamPlan;
  declare readonly id: number;
  declare readonly waitedMs: number;
  /** Monotonic milliseconds. */
  declare readonly startedAt: number;
  /** The lane's count of incidents when it started. */
  declare readonly epoch: number;
  /** The lane's count of starts, this one included. */
  declare readonly startNumber: number;
  declare state: ActiveState;
  /** When the lane has to act on it next: its end, then the end of its grace. Infinity: never. */
  declare dueAt: number;
  /** Rejects the caller while `fn` still runs. */
  declare reject: ((reason: unknown) => void) | undefined;
  /** Its start was told: its end will be. */
  declare isTold: boolean;
  /** `settle` counts once more after the end of the lease. */
  declare hasSettledLate: boolean;
  declare private controller: AbortController | undefined;
  declare private ended: { readonly reason: unknown } | undefined;

  constructor(
    host: CallHost,
    request: Request,
    costs: Costs,
    plan: DownstreamPlan,
    id: number,
    waitedMs: number,
    startedAt: number,
    epoch: number,
    startNumber: number,
  ) {
    this.host = host;
    this.request = request;
    this.costs = costs;
    this.plan = plan;
    this.id = id;
    this.waitedMs = waitedMs;
    this.startedAt = startedAt;
    this.epoch = epoch;
    this.startNumber = startNumber;
    this.state = 'running';
    this.dueAt = Number.POSITIVE_INFINITY;
    this.reject = undefined;
    this.isTold = false;
    this.hasSettledLate = false;
    this.controller = undefined;
    this.ended = undefined;
  }

  get downstream(): string {
    return this.host.name;
  }

  get remainingMs(): number | undefined {
    const { deadlineAt } = this.request;
    return deadlineAt === Number.POSITIVE_INFINITY ? undefined : Math.max(0, deadlineAt - this.startedAt);
  }

  get signal(): AbortSignal {
    const { signals } = this.request;
    if (this.dueAt === Number.POSITIVE_INFINITY && signals.length === 1 && this.state === 'running') return signals[0]!;
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.ended !== undefined) this.controller.abort(this.ended.reason);
    }
    return this.controller.signal;
  }

  get settle(): Call['settle'] {
    return (actual) => this.host.correct(this, actual);
  }

  get run(): Call['run'] {
    return (fn) => this.host.nested(this, fn);
  }

  [HEAR](answer: unknown): boolean {
    return this.host.hear(this, answer);
  }

  [END](outcome: unknown): void {
    this.host.release(this, outcome, true);
  }

  [KNOWN](answer: unknown): void {
    this.host.known(this, answer);
  }

  /** Why it was ended before it settled. */
  get reason(): unknown {
    return this.ended?.reason;
  }

  /** The caller gets its answer now, whatever `fn` does. */
  end(reason: unknown): void {
    this.ended = { reason };
    this.controller?.abort(reason);
    this.reject?.(reason);
  }
}

/** A running call without a callback. */
export class ActiveLease extends ActiveCall implements Lease {
  get release(): Lease['release'] {
    return (...outcome: [unknown?]) => this.host.release(this, outcome[0], outcome.length > 0);
  }

  [Symbol.dispose](): void {
    this.host.release(this, undefined, false);
  }
}
