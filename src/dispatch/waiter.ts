import type { Costs } from '../model/gate.ts';
import type { Request } from './request.ts';

/** Where a waiter stands among the runs of its class. */
export interface Leaf {
  readonly push: (waiter: Waiter) => void;
  /** The waiter starts: its run has had its turn. */
  readonly tookTurn: () => void;
  /** The waiter has gone, served or not. */
  readonly left: () => void;
}

/**
 * A call that waits. Kept as small as it can be: of a million waiters each is this object, one promise
 * with one `then`, and two places in lists. Its promise is only ever resolved, with the waiter itself;
 * what `ending` holds decides whether that means "your turn" or "refused".
 */
export class Waiter {
  readonly request: Request;
  costs: Costs;
  /** Order of arrival; also the call's id. */
  readonly seq: number;
  /** Monotonic milliseconds. */
  readonly since: number;
  leaf: Leaf;
  isInLine = true;
  /** Set once the call is over without having started. */
  ending: Ending | undefined = undefined;
  /** Hands the waiter its turn, or its ending. */
  wake: ((waiter: Waiter) => void) | undefined = undefined;
  readonly fn: unknown;

  constructor(request: Request, costs: Costs, seq: number, since: number, leaf: Leaf, fn: unknown) {
    this.request = request;
    this.costs = costs;
    this.seq = seq;
    this.since = since;
    this.leaf = leaf;
    this.fn = fn;
  }
}

/**
 * Why a waiter never started. The error is made only when it is handed out: ten thousand stack traces in
 * one turn would hold up the event loop.
 */
export type Ending = (waiter: Waiter) => unknown;
