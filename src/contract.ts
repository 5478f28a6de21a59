/// <reference lib="esnext.disposable" preserve="true" />
import type { Alert, AlertSink } from './base/alert.ts';
import type { Listener } from './base/bus.ts';
import type { Clock } from './base/clock.ts';
import type { PolicyChange } from './base/plan.ts';
import type { Snapshot } from './base/snapshot.ts';
import type { Classifier } from './base/verdict.ts';
import type { Duration, Mode } from './base/words.ts';
import type { Call, CallContext, Lease } from './dispatch/context.ts';
import type { EngineMaker } from './dispatch/engine.ts';
import type { Forecast, ForecastAsk } from './dispatch/forecast.ts';
import type { DownstreamPolicyInput, PolicyInput } from './policy/input.ts';
import type { TelemetryOptions } from './telemetry/telemetry.ts';

/** What became of everything when a dispatcher was closed. */
export interface ClosingReport {
  /** Calls that ran when it was closed, or were drained, and have settled. */
  readonly settled: number;
  /** Waiters that were refused. */
  readonly refused: number;
  /** Calls that still ran at the end; their outcome no longer matters to anybody. */
  readonly abandoned: number;
  /** Alerts that never went out, by sink. */
  readonly alertsDropped: Readonly<Record<string, number>>;
  readonly tookMs: number;
}

/** What `cancel` is to refuse: at least a run or a tool; with both, what is of both. */
export interface CancelAsk {
  readonly runId?: string | undefined;
  readonly tool?: string | undefined;
  /** Default: all of them. */
  readonly downstream?: string | undefined;
}

/** Everything a program does with its downstreams. All members may be destructured. */
export interface Dispatcher<Name extends string = string> {
  /**
   * Runs `fn` as soon as the downstream's quota allows, or rejects with an `AdmissionError` at once if
   * that would be too late. Never throws synchronously; `fn` never runs before this has returned; what
   * `fn` returns or throws reaches the caller unchanged. Nothing is retried.
   */
  readonly callDownstream: {
    <T>(downstream: Name, fn: (call: Call) => PromiseLike<T>, ctx?: CallContext): Promise<T>;
    <T>(downstream: Name, fn: (call: Call) => T, ctx?: CallContext): Promise<Awaited<T>>;
  };
  /** The right to run now, where a callback does not fit; released by `release()` or `using`. */
  readonly acquire: (downstream: Name, ctx?: CallContext) => Promise<Lease>;
  /**
   * What was seen elsewhere on the same quota: anything that `fn` could have thrown or returned, a verdict, or
   * `{ status, retryAfterMs }`. Headers alone tell what is left; they raise no alert, and `Retry-After` among
   * them holds back what starts as a spent quota does. `startedAt`: epoch milliseconds.
   */
  readonly report: (downstream: Name, outcome: unknown, when?: { readonly startedAt?: number | undefined }) => void;
  /** What calls could expect if they were made now; takes nothing. */
  readonly forecast: (downstream: Name, ask?: ForecastAsk) => Forecast;
  /** The same dispatcher with a context for all its calls: earliest deadline, any signal, later names win. */
  readonly with: (ctx: CallContext) => Dispatcher<Name>;
  /** A function that passes the gate at every call. */
  readonly wrap: <A extends unknown[], T>(
    downstream: Name,
    fn: (...args: A) => T,
    ctxOf?: (...args: A) => CallContext,
  ) => (...args: A) => Promise<Awaited<T>>;
  readonly names: () => Name[];
  /** Throws one `UnknownDownstream` that lists all names that are missing. */
  readonly require: (names: Iterable<string>) => void;
  /** Adds a downstream at run time; one that is known goes on under the new policy, its level kept. Throws `PolicyError`. */
  readonly register: <N extends string>(name: N, policy: DownstreamPolicyInput) => Dispatcher<Name | N>;
  /** Forgets a downstream: waiters are refused, running calls finish. */
  readonly unregister: (name: Name) => void;
  /**
   * Puts a whole policy in the place of the one in force, all or nothing: levels, holds, incidents and calls in
   * flight are kept, and what waits is planned anew. Downstreams that it does not name, those that were registered
   * at run time included, take no new calls; what waits and runs in them comes to its end. Overrides of the
   * environment apply as they did to the first policy. Returns what has changed.
   *
   * @throws {PolicyError} with every problem at once, before anything has changed.
   */
  readonly apply: (policy: PolicyInput) => PolicyChange[];
  /**
   * Refuses what waits of a run (and of every run below it: `job7` means `job7/sub12` too) or of a tool, in one
   * downstream or in all, with `CallCancelled`; returns how many calls that were. Calls that run are not
   * touched, nor are those that come later.
   */
  readonly cancel: (which: CancelAsk, reason: string) => number;
  /** Holds every start of a downstream; a longer pause replaces a shorter one. */
  readonly pause: (downstream: Name, options: { readonly for: Duration; readonly reason?: string | undefined }) => void;
  /** Ends the operator's pause; with `all`, what the server asked for too. */
  readonly resume: (downstream: Name, options?: { readonly all?: boolean | undefined }) => void;
  /**
   * Enforces, observes or switches off, from now on and whatever the policy says: one downstream, or all, those that
   * are registered later too. It lasts until the next word: `policy` gives back to the policy. What waits where a mode
   * no longer holds anything back starts at once. Throws `InvalidCall`, `UnknownDownstream`, `DispatcherClosed`.
   */
  readonly setMode: (mode: Mode | 'policy', options?: { readonly downstream?: Name | undefined }) => void;
  /** Plain JSON of every downstream, without side effects. */
  readonly snapshot: () => Snapshot;
  /** Hears every event from now on; returns what ends that. A listener that throws harms nobody. */
  readonly subscribe: (listener: Listener) => () => void;
  /** Resolves when every alert that waits has been tried once. */
  readonly flush: () => Promise<void>;
  /**
   * Refuses new calls and, unless `drain`, those that wait; gives running calls up to `within`
   * (default 10s) to settle, then reports. Callers of calls that still run and have an end (a deadline,
   * `maxRun`) are then rejected with `DispatcherClosed`. Twice is once.
   */
  readonly close: (options?: {
    readonly drain?: boolean | undefined;
    readonly within?: Duration | undefined;
  }) => Promise<ClosingReport>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

export interface DispatcherOptions {
  /** Who this is, in alerts and snapshots. Default: `OTEL_SERVICE_NAME`, where it is set. */
  readonly name?: string | undefined;
  /** For tests: `ManualClock`. */
  readonly clock?: Clock | undefined;
  /** Gets every alert, synchronously; what it throws is reported once. */
  readonly onAlert?: ((alert: Alert) => void) | undefined;
  /** Where incidents are delivered, instead of what the policy says in `alerts`. Default: that, else stderr; an empty list is silence. */
  readonly alertSinks?: readonly AlertSink[] | undefined;
  /** Classifiers by the name that a policy's `classify` gives, or by the name of the downstream. Ready-made ones that a policy names need not be passed. */
  readonly classify?: Readonly<Record<string, Classifier>> | undefined;
  /**
   * What hands out the turns of a downstream, by its name: `bottleneckEngine(limiter)` of `penstock/bottleneck`. Used
   * unless the policy says `engine: penstock`.
   */
  readonly engines?: Readonly<Record<string, EngineMaker>> | undefined;
  /** Overrides such as `PENSTOCK__CARRIER__MAX_WAIT`. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** [0, 1); for tests. */
  readonly random?: (() => number) | undefined;
  readonly telemetry?: TelemetryOptions | undefined;
}
