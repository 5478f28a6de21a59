import { DUE_MS } from '../base/clock.ts';
import type { Costs } from '../model/bucket.ts';
import type { Gate } from '../model/gate.ts';
import type { LaneCore } from './core.ts';
import { type Expectation, expect } from './expectation.ts';
import { costTooLarge, deadlineMissed, paused, type Refusal, waitTooLong } from './refusals.ts';
import { limitOf, type Request } from './request.ts';

/**
 * Whether a call that cannot start at once may wait: not in a paused lane unless it can afford to, and
 * not if it cannot start in time. The expectation is worked out only where somebody asks for it.
 */
export function refusalAtEntry(
  core: LaneCore,
  request: Request,
  now: number,
): { refusal?: Refusal; expected?: Expectation } {
  const limit = limitOf(request);
  const mayNotWait = core.gate.isPaused(now) && core.gate.plan.whilePaused === 'refuse';
  if (limit === Number.POSITIVE_INFINITY) return mayNotWait ? { refusal: paused } : {};
  const expected = expect(core, request, now);
  if (expected.at <= limit + DUE_MS) return { expected };
  if (mayNotWait) return { refusal: paused, expected };
  return {
    refusal: request.deadlineAt <= request.maxWaitAt ? deadlineMissed('admission') : waitTooLong,
    expected,
  };
}

/** The refusal of a call that costs more than a whole window of some quota, if it does. */
export function neverFits({ buckets, plan }: Gate, costs: Costs): Refusal | undefined {
  for (let i = 0; i < costs.length; i++) {
    const bucket = buckets[i]!;
    if (costs[i]! > bucket.largest) return costTooLarge(costs[i]!, bucket.largest, bucket.plan.text, plan.workers);
  }
  return undefined;
}
