import Bottleneck from 'bottleneck';
import { LONGEST_TIMER_MS } from '../../base/clock.ts';
import type { DownstreamPlan } from '../../base/plan.ts';
import type { Engine, EngineMaker } from '../../dispatch/engine.ts';
import { engineOf } from './limiter.ts';

/** Turns asked for at a time: enough to keep Bottleneck busy, few enough that little is lost when callers leave. */
const MOST_ASKED = 4;
/** Turns for one call: beyond that the window rule of the lane alone counts what it costs. */
const MOST_TURNS = 32;
/** A reservoir that is filled more often costs a timer each time. */
const LEAST_TICK_MS = 50;
/** `setInterval` may be early by the fraction of a millisecond that `Date.now()` drops: then a whole tick would be lost. */
const EARLY_MS = 2;

/** What a limiter is made of, and which quota of the plan it counts. */
export interface DerivedSettings {
  /** Index into the plan's quotas; undefined where it has none. */
  readonly counts: number | undefined;
  readonly minTime: number;
  readonly reservoir?: {
    readonly amount: number;
    readonly intervalMs: number;
    readonly maximum: number;
  };
}

/**
 * The pace of a plan, as Bottleneck can keep it: the quota that is slowest for a usual call, filled drop by drop, or
 * `minTime` where nothing may be saved up. Other quotas are kept by the lane, and so are places: nested calls run in
 * a place that is held already, which Bottleneck does not know.
 */
export function derive(plan: DownstreamPlan): DerivedSettings {
  const own = plan.minIntervalMs ?? 0;
  const slowest = plan.quotas
    .map((quota, index) => ({ quota, index, ms: (quota.windowMs / quota.sized) * usual(plan, quota.unit) }))
    .sort((a, b) => b.ms - a.ms)[0];
  if (slowest === undefined) return { counts: undefined, minTime: own };
  const { quota, index, ms } = slowest;
  const msPerPermit = quota.windowMs / quota.sized;
  const burst = quota.providerBurst ?? quota.burst;
  if (burst <= 1) {
    return { counts: index, minTime: Math.min(Math.max(own, Math.ceil(ms || msPerPermit)), LONGEST_TIMER_MS) };
  }
  const amount = Math.max(1, Math.ceil(LEAST_TICK_MS / msPerPermit));
  const intervalMs = Math.min(Math.ceil(amount * msPerPermit), LONGEST_TIMER_MS);
  return { counts: index, minTime: own, reservoir: { amount, intervalMs, maximum: Math.max(burst, amount) } };
}

/** What a call costs that does not say. */
function usual(plan: DownstreamPlan, unit: string): number {
  return plan.defaultCost[unit] ?? 1;
}

/** What a limiter depends on, as one text. */
function knownBy(plan: DownstreamPlan): string {
  return JSON.stringify([derive(plan), plan.defaultCost]);
}

/** A limiter for each lane, made from the lane's own plan. */
export const derivedEngine: EngineMaker = {
  kind: 'bottleneck',
  make: ({ plan, isSuccessor }): Engine => {
    const settings = derive(plan);
    const { counts, minTime, reservoir } = settings;
    const limiter = new Bottleneck({ minTime, ...optionsOf(reservoir, isSuccessor) });
    const unit = plan.quotas[counts ?? -1]?.unit;
    // Without a reservoir a turn stands for a usual call: what costs as much as three of them takes three.
    const perTurn = reservoir !== undefined || unit === undefined ? 1 : usual(plan, unit) || 1;
    const most = reservoir?.maximum ?? 1;
    const known = knownBy(plan);
    return engineOf(() => limiter, {
      mostAsked: MOST_ASKED,
      leastGapMs: minTime,
      suits: (next) => knownBy(next) === known,
      close: () => {
        void limiter.stop({ dropWaitingJobs: true }).catch(() => undefined);
        void limiter.disconnect(false);
      },
      weightOf: ({ costs, permits }) => {
        const own = costs[counts ?? -1];
        if (own === undefined) return Math.min(permits, 1);
        return Math.min(Math.ceil(own / perTurn), MOST_TURNS * most);
      },
      // More than it can ever hold would wait for ever.
      mostPerTurn: () => most,
      countsPlaces: () => false,
    });
  },
};

function optionsOf(reservoir: DerivedSettings['reservoir'], isSuccessor: boolean): Record<string, number> {
  if (reservoir === undefined) return {};
  const { amount, intervalMs, maximum } = reservoir;
  return {
    reservoir: isSuccessor ? 0 : maximum,
    reservoirIncreaseAmount: amount,
    reservoirIncreaseInterval: intervalMs - EARLY_MS,
    reservoirIncreaseMaximum: maximum,
    heartbeatInterval: intervalMs,
  };
}
