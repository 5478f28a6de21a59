import type { Cost } from '../base/words.ts';
import type { Costs } from '../model/bucket.ts';
import type { LaneCore } from './core.ts';
import { type Ending, type Endings, mark } from './endings.ts';
import { neverFits } from './entry.ts';
import { costsOf } from './request.ts';
import type { Waiter } from './waiter.ts';

/** What calls of one cost come to under a plan. */
interface Priced {
  readonly cost: Cost | undefined;
  readonly costs: Costs;
  readonly ending: Ending | undefined;
}

/** Under another plan what waits costs otherwise; those that can never fit any more are refused. `plain`: what a call costs that does not say. */
export function recost({ gate, line }: LaneCore, plain: Costs, endings: Endings, now: number): void {
  const misfits: Waiter[] = [];
  let last: Priced | undefined;
  line.each((waiter) => {
    const { cost } = waiter.request;
    // Of very many waiters most cost the same: what that comes to is worked out once.
    if (last === undefined || last.cost !== cost) {
      const costs = cost === undefined ? plain : costsOf(gate.plan, cost);
      const refusal = neverFits(gate, costs);
      last = { cost, costs, ending: refusal === undefined ? undefined : endings.refusing(refusal, now) };
    }
    waiter.costs = last.costs;
    if (last.ending !== undefined && mark(waiter, last.ending)) misfits.push(waiter);
  });
  line.recount();
  endings.leave(misfits);
}
