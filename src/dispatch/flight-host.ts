import type { Verdict } from '../base/verdict.ts';
import type { ActiveCall } from './active.ts';
import type { LaneCore } from './core.ts';

/** What is told of the calls in flight where a lane only observes, or an engine hands out its turns. */
export interface FlightShadow {
  readonly learn: (verdict: Verdict, call: ActiveCall) => void;
  /** The call has settled, or its place was given back. `hadPlace`: until now. */
  readonly ended: (call: ActiveCall, hadPlace: boolean, now: number) => void;
}

/** What the calls in flight need of their lane. */
export interface FlightHost extends LaneCore {
  readonly account: string | undefined;
  /** What keeps the books of a lane that only observes, or hands out the turns of one that enforces. */
  readonly follower: FlightShadow | undefined;
  readonly isShut: boolean;
  /** A place or permits have come back, or an end has moved: whose turn is it? */
  readonly pump: (at?: number) => void;
  /** Waiters will start this much later than was thought. */
  readonly worsened: (byMs: number) => void;
  readonly nest: (outer: ActiveCall, fn: () => unknown) => Promise<unknown>;
}
