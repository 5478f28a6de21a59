import type { Clock } from './clock.ts';
import type { NoticeEvent } from './events.ts';
import type { DownstreamPlan } from './plan.ts';

/** Where a dispatcher keeps what adapters of this package may ask beyond its public face; works across two copies of it. */
export const INSIDE: unique symbol = Symbol.for('penstock.inside') as never;

/** What adapters see of a dispatcher. */
export interface Inside {
  /** The plans in force by name: the same map until something has changed, then another one. */
  readonly plans: () => ReadonlyMap<string, DownstreamPlan>;
  readonly clock: Clock;
  /** Tells whoever listens to the dispatcher. */
  readonly emit: (event: NoticeEvent) => void;
}
