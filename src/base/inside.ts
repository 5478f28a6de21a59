import type { AlertName } from './alert.ts';
import type { Clock } from './clock.ts';
import type { NoticeEvent } from './events.ts';
import type { DownstreamPlan } from './plan.ts';
import type { InventorySnapshot } from './snapshot.ts';

/** Where a dispatcher keeps what adapters of this package may ask beyond its public face; works across two copies of it. */
export const INSIDE: unique symbol = Symbol.for('penstock.inside') as never;

/** Where a dispatcher that was made by `with` keeps the run that its calls belong to unless they name another; works across two copies of this package. */
export const OWN_RUN: unique symbol = Symbol.for('penstock.own-run') as never;

/** What adapters see of a dispatcher. */
export interface Inside {
  /** The plans in force by name: the same map until something has changed, then another one. */
  readonly plans: () => ReadonlyMap<string, DownstreamPlan>;
  readonly clock: Clock;
  /** Tells whoever listens to the dispatcher. */
  readonly emit: (event: NoticeEvent) => void;
  /** Tells a person of something that no call of the downstream ended with. */
  readonly alert: (alert: SeenAlert) => void;
  /** The one place for somebody who stands around every call; shared by all lanes, which look at it whenever they run one. */
  readonly watching: Watching;
  /** Calls of a downstream that have started and not settled. */
  readonly inFlight: (downstream: string) => number;
  /** Whether somebody holds a lease of a downstream that was acquired, so that no function runs within it. */
  readonly isLeased: (downstream: string) => boolean;
}

/** What `alert` is told. */
export interface SeenAlert {
  readonly name: Extract<AlertName, 'UngatedRequest'>;
  readonly downstream: string;
  /** In one or two sentences, without URL, argument or body. */
  readonly detail: string;
}

/** A call that runs, as far as whoever watches may see it. */
export interface WatchedCall {
  /** What it has taken, one number for each quota of the plan. */
  readonly costs: readonly number[];
  readonly plan: DownstreamPlan;
  readonly state: 'running' | 'overdue' | 'orphaned' | 'settled';
  readonly host: { readonly account: string | undefined };
}

/** Stands around every call of a dispatcher. */
export interface Around {
  /** Calls `fn` with the call, once and at once; what it returns or throws comes back. */
  readonly run: <C extends WatchedCall>(call: C, fn: (call: C) => unknown) => unknown;
}

/** Watches the calls. */
export interface Watcher extends Around {
  /**
   * Runs `fn`, which sends a request that somebody has given a downstream of his choice, whatever its host: that of
   * the call around it, or (`false`) none.
   */
  readonly routed: <T>(hasGate: boolean, fn: () => T) => T;
  readonly inventory: () => InventorySnapshot;
  readonly stop: () => void;
}

export interface Watching {
  /** Whoever stands around calls, put together; undefined where nobody does. */
  by: Around | undefined;
  watcher: Watcher | undefined;
  /** Lends the permit of a call to the requests that are made within it. */
  cover: Around | undefined;
}

/** Where a running call can be told early of an answer whose body is still to come; works across two copies of this package. */
export const HEAR: unique symbol = Symbol.for('penstock.hear') as never;

/** What `fn` returns in the end where the lane has heard its answer through `HEAR`: a success of which all is known. */
export const HEARD: unique symbol = Symbol.for('penstock.heard') as never;

/** Where the lane can be told how a running call has ended before what `fn` returned settles; works across two copies of this package. */
export const END: unique symbol = Symbol.for('penstock.end') as never;

/** Where a running call can be told that what it will end with is what a call nested in it has ended with; works across two copies of this package. */
export const KNOWN: unique symbol = Symbol.for('penstock.known') as never;

/** A call as adapters see it that hand on streams. */
export interface HearingCall {
  /** The lane hears what a success says of quotas. False: the answer is none, nothing was heard of it, and `fn` is to return it. */
  readonly [HEAR]?: (answer: unknown) => boolean;
  /** The lane learns the outcome now and gives the place back: before whoever waits for the answer can ask again. */
  readonly [END]?: (outcome: unknown) => void;
  /** The lane has learned of this answer already: it is an outcome of this call, and no news. */
  readonly [KNOWN]?: (answer: unknown) => void;
}
