import type { PolicyChange, PolicyPlan } from '../base/plan.ts';
import type { Environment } from './environment.ts';

/** Where a dispatcher keeps its door: the same in two copies of the package. Not part of what it promises to users. */
export const POLICY_DOOR: unique symbol = Symbol.for('penstock.policy-door') as never;

/** How whoever watches a policy reaches the dispatcher that is to obey it. */
export interface PolicyDoor {
  readonly env: Environment;
  /** Whether it is this policy that was put in force last. */
  readonly isInForce: (plan: PolicyPlan) => boolean;
  /** @throws {PolicyError} before anything has changed; `DispatcherClosed` */
  readonly apply: (policy: unknown) => readonly PolicyChange[];
  /** A policy was not applied: told as an event and as an alert. */
  readonly rejected: (detail: string) => void;
  /** What is written is in force: a rejection that was told is over. */
  readonly accepted: () => void;
}

/** The door of a dispatcher; undefined where it is none. */
export function doorOf(dispatcher: unknown): PolicyDoor | undefined {
  if (typeof dispatcher !== 'object' || dispatcher === null) return undefined;
  const open = (dispatcher as { [POLICY_DOOR]?: () => PolicyDoor })[POLICY_DOOR];
  return typeof open === 'function' ? open() : undefined;
}
