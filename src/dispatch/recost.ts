import type { Cost } from '../base/words.ts';
import type { Costs } from '../model/bucket.ts';
import type { Gate } from '../model/gate.ts';
import type { LaneCore } from './core.ts';
import { type Endings, mark } from './endings.ts';
import { costTooLarge, type Refusal } from './refusals.ts';
import { costsOf } from './request.ts';
import type { Waiter } from './waiter.ts';

/** Why a call of this cost can never start, if it cannot. */
export function neverFits({ buckets, plan }: Gate, costs: Costs): Refusal | undefined {
  if (plan.unlimited) return undefined;
  for (let i = 0; i < costs.length; i++) {
    const bucket = buckets[i]!;
    if (costs[i]! > bucket.largest) return costTooLarge(costs[i]!, bucket.largest, bucket.plan.text, plan.workers);
  }
  return undefined;
}

/** Under another plan what waits costs otherwise; those that can never fit any more are refused. `plain`: what a call costs that does not say. */
export function recost({ gate, line }: LaneCore, plain: Costs, endings: Endings, now: number): void {
  const misfits: Waiter[] = [];
  let last: { readonly cost: Cost; readonly costs: Costs } | undefined;
  for (const waiter of line) {
    const { cost } = waiter.request;
    // Of very many waiters most cost the same: a list of numbers for each would be half of the work.
    if (cost !== undefined && cost !== last?.cost) last = { cost, costs: costsOf(gate.plan, cost) };
    waiter.costs = cost === undefined ? plain : last!.costs;
    const refusal = neverFits(gate, waiter.costs);
    if (refusal !== undefined && mark(waiter, endings.refusing(refusal, now))) misfits.push(waiter);
  }
  line.recount();
  endings.leave(misfits);
}
