import type { DownstreamPlan } from '../base/plan.ts';
import type { Cost } from '../base/words.ts';
import type { Costs } from '../model/gate.ts';
import type { Call, Lease } from './context.ts';
import type { Request } from './request.ts';
import type { Abortable } from './signals.ts';

/** What a running call asks of its lane. */
export interface CallHost {
  readonly name: string;
  readonly nested: <T>(outer: ActiveCall, fn: () => T) => Promise<Awaited<T>>;
  readonly correct: (call: ActiveCall, actual: Cost) => void;
  readonly abortRunning: (call: ActiveCall, reason: unknown) => (() => void) | undefined;
  readonly release: (call: ActiveCall, outcome: unknown, hasOutcome: boolean) => void;
}

/**
 * `running`: the caller waits for it. `overdue`: the caller has its answer (a deadline, an abort), the
 * call still holds its place. `orphaned`: the place was given back. `settled`: over.
 */
export type ActiveState = 'running' | 'overdue' | 'orphaned' | 'settled';

/** A call that has its permit: what `fn` is given, and what the lane knows of it until it settles. */
export class ActiveCall implements Call, Abortable {
  readonly host: CallHost;
  readonly request: Request;
  /** What it has taken; corrected by `settle`. */
  costs: Costs;
  /** The policy under which it took that. */
  readonly plan: DownstreamPlan;
  readonly id: number;
  readonly waitedMs: number;
  /** Monotonic milliseconds. */
  readonly startedAt: number;
  /** The lane's count of incidents when it started. */
  readonly epoch: number;
  state: ActiveState = 'running';
  /** When the lane has to act on it next: its end, then the end of its grace. Infinity: never. */
  dueAt = Number.POSITIVE_INFINITY;
  /** Rejects the caller while `fn` still runs. */
  reject: ((reason: unknown) => void) | undefined = undefined;
  /** `settle` counts once more after the end of the lease. */
  hasSettledLate = false;
  #controller: AbortController | undefined = undefined;
  #ended: { reason: unknown } | undefined = undefined;

  constructor(
    host: CallHost,
    request: Request,
    costs: Costs,
    plan: DownstreamPlan,
    id: number,
    waitedMs: number,
    startedAt: number,
    epoch: number,
  ) {
    this.host = host;
    this.request = request;
    this.costs = costs;
    this.plan = plan;
    this.id = id;
    this.waitedMs = waitedMs;
    this.startedAt = startedAt;
    this.epoch = epoch;
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
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#ended !== undefined) this.#controller.abort(this.#ended.reason);
    }
    return this.#controller.signal;
  }

  get settle(): Call['settle'] {
    return (actual) => this.host.correct(this, actual);
  }

  get run(): Call['run'] {
    return (fn) => this.host.nested(this, fn);
  }

  abortedBy(reason: unknown): (() => void) | undefined {
    return this.host.abortRunning(this, reason);
  }

  /** The caller gets its answer now, whatever `fn` does. */
  end(reason: unknown): void {
    this.#ended = { reason };
    this.#controller?.abort(reason);
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
