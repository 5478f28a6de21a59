import type { Costs } from '../model/bucket.ts';
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
  // Declared, not initialized: every field is written once, in the constructor.
  declare readonly request: Request;
  declare costs: Costs;
  /** Order of arrival; also the call's id. */
  declare readonly seq: number;
  /** Monotonic milliseconds. */
  declare readonly since: number;
  declare leaf: Leaf;
  declare isInLine: boolean;
  /** Set once it is certain that the call will not start; it may still be in line for some milliseconds. */
  declare ending: Ending | undefined;
  /** Hands the waiter its turn, or its ending. */
  declare wake: ((waiter: Waiter) => void) | undefined;
  declare readonly fn: unknown;

  constructor(request: Request, seq: number, since: number, leaf: Leaf, fn: unknown) {
    this.request = request;
    this.costs = request.costs;
    this.seq = seq;
    this.since = since;
    this.leaf = leaf;
    this.isInLine = true;
    this.ending = undefined;
    this.wake = undefined;
    this.fn = fn;
  }
}

/** Why waiters never started: one object for all that end for the same reason at the same time. */
export interface Ending {
  /**
   * What the caller is rejected with. Made only when it is handed out: ten thousand errors in one turn
   * would hold up the event loop.
   */
  readonly reasonOf: (waiter: Waiter) => unknown;
  /** What becomes of the call in place of a rejection: it was let go. */
  readonly instead?: (waiter: Waiter) => Promise<unknown>;
  /** Counts it and tells whoever listens, when it leaves the line. */
  readonly tell: (waiter: Waiter) => void;
}
