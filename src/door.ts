import { POLICY } from './alerts/notice.ts';
import type { Composition } from './composition.ts';
import type { PolicyDoor } from './policy/door.ts';

/** How a watcher of policy files reaches a dispatcher. */
export function openDoor(composition: Composition): PolicyDoor {
  const { env, registry, clock, bus, desk } = composition;
  return {
    env,
    isInForce: (plan) => registry.isInForce(plan),
    apply: (policy) => composition.apply(policy),
    rejected: (detail) => {
      bus.emit({ at: clock.wallNow(), downstream: POLICY, type: 'policy-rejected', detail });
      desk.notify({ name: 'PolicyRejected', downstream: POLICY, detail });
    },
    accepted: () => desk.end('PolicyRejected', POLICY),
  };
}
