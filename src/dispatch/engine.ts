import type { DownstreamPlan } from '../base/plan.ts';
import type { Priority } from '../base/words.ts';

/** A turn that an engine has handed out: what it counts as running until `end`, which may come more than once. */
export interface Turn {
  readonly end: () => void;
}

/** What a call takes. */
export interface TurnNeed {
  /** Of each quota of the plan, in their order; whole numbers, 0 or more. */
  readonly costs: readonly number[];
  /** Where one number is to stand for all: of the first quota, else of requests. */
  readonly permits: number;
  /** It runs in a place that is held already. */
  readonly isNested: boolean;
}

/** A lane asks its engine for one turn, on behalf of a waiter. */
export interface TurnAsk {
  /** By the engine's own reckoning: what the call weighs, or what is missing of that. */
  readonly weight: number;
  /** The class of the waiter; `nested` comes before all of them and runs in a place that is held already. */
  readonly priority: Priority | 'nested';
  /** The turn is here. At most once, never in the turn of the event loop that asked. */
  readonly granted: (turn: Turn) => void;
  /** There will be none, and why. At most once, and not after `granted`. */
  readonly dropped: (why: unknown) => void;
}

/**
 * Decides, in place of a lane's own buckets, when the next call may start. The lane keeps everything else: the
 * line and its order, deadlines, signals, holds, places, the declared quota of every window.
 */
export interface Engine {
  /** Turns that a lane may have asked for at a time; Infinity where others ask the same limiter: one for each waiter. */
  readonly mostAsked: number;
  /** The least time between two of its turns, as far as it knows, in milliseconds. */
  readonly leastGapMs: number;
  /** What a call weighs. It starts on as many turns as that takes, on one at least. */
  readonly weightOf: (need: TurnNeed) => number;
  /** The most that one turn can weigh. */
  readonly mostPerTurn: () => number;
  /** Turns that are held keep others from coming: those that are not enough for the next call are given back. */
  readonly countsPlaces: () => boolean;
  readonly ask: (ask: TurnAsk) => void;
  /** Whether it goes on under another plan; else another one is made. */
  readonly suits: (plan: DownstreamPlan) => boolean;
  /** Lets go of what it holds: its lane asks no more. What was asked already may still come. */
  readonly close: () => void;
}

/** What an engine is made for. */
export interface EngineSeat {
  readonly plan: DownstreamPlan;
  readonly account: string | undefined;
  /** It takes the place of another one: what that had saved up is not to be had twice. */
  readonly isSuccessor: boolean;
}

/** Makes the engine of one lane. */
export interface EngineMaker {
  readonly kind: 'bottleneck';
  readonly make: (seat: EngineSeat) => Engine;
}

/**
 * The plan that a lane's gate obeys where an engine hands out turns: quotas whole, since the pace below them is the
 * engine's. Without an engine: the policy's own plan.
 */
export function gatePlan(plan: DownstreamPlan, hasEngine: boolean): DownstreamPlan {
  if (!hasEngine) return plan.engine === 'bottleneck' ? { ...plan, engine: 'penstock' } : plan;
  const quotas = plan.quotas.map((quota) => {
    const burst = Math.max(quota.share, quota.burst);
    return { ...quota, sized: quota.providerBurst === undefined ? quota.share : quota.sized, burst };
  });
  return { ...plan, quotas, engine: 'bottleneck' };
}
