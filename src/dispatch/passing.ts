import type { Fn } from './admission.ts';
import type { CallContext } from './context.ts';
import type { Downstream } from './downstream.ts';
import type { Lane } from './lane.ts';
import { mergeContexts, type Scope } from './scope.ts';

/**
 * Makes a call of a downstream that does not enforce. What would have been refused there for what is wrong with
 * it (`problem`, its account, its context) is reported, and the call runs.
 */
export function pass(
  downstream: Downstream,
  fn: Fn,
  own: CallContext | undefined,
  scope: Scope,
  problem: unknown,
): Promise<unknown> {
  const context = scope.context === undefined ? own : mergeContexts(scope.context, own);
  let { lane }: { lane: Lane } = downstream;
  let wrong = problem;
  try {
    const account = context?.account;
    if (account !== undefined) lane = downstream.laneOf(account);
  } catch (error) {
    wrong ??= error;
  }
  return lane.pass(fn, context, scope.signals, wrong);
}
