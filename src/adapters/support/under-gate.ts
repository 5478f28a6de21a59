import { AsyncLocalStorage } from 'node:async_hooks';
import type { Inside } from '../../base/inside.ts';
import type { Call } from '../../dispatch/context.ts';

/** The permit under which a request is being sent. */
export interface Passed {
  readonly inside: Inside;
  readonly downstream: string;
  readonly call: Call;
  /** One permit is good for one request: what follows under it, a redirect or a retry, takes its own. */
  isSpent: boolean;
  /** Its request has been answered: what still runs in its context is somebody else's. */
  isOver: boolean;
  /** What the request under it was answered, as far as a gate further down has seen it. */
  answer: unknown;
}

const passed = new AsyncLocalStorage<Passed>();

/** Sends a request that has its permit: a gate further down lets it pass. */
export function underGate<T>(inside: Inside, downstream: string, call: Call, send: () => Promise<T>): Promise<T> {
  const permit: Passed = { inside, downstream, call, isSpent: false, isOver: false, answer: undefined };
  return passed.run(permit, send).finally(() => {
    permit.isOver = true;
  });
}

/** The permit of this downstream that what is sent here goes under; undefined where it has none. */
export function permitFor(inside: Inside, downstream: string): Passed | undefined {
  const permit = passed.getStore();
  return permit?.inside === inside && permit.downstream === downstream && !permit.isOver ? permit : undefined;
}
