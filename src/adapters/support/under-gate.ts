import { AsyncLocalStorage } from 'node:async_hooks';
import type { Inside } from '../../base/inside.ts';

/** The permit under which a request is being sent. */
export interface Passed {
  readonly inside: Inside;
  readonly downstream: string;
}

const passed = new AsyncLocalStorage<Passed>();

/** Sends a request that has its permit: a gate further down lets it pass. */
export function underGate<T>(permit: Passed, send: () => T): T {
  return passed.run(permit, send);
}

/** Whether what is sent here has a permit of this downstream already. */
export function isUnderGate(inside: Inside, downstream: string): boolean {
  const permit = passed.getStore();
  return permit !== undefined && permit.inside === inside && permit.downstream === downstream;
}
