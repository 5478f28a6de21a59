import type { AlertFacts } from './base/alert.ts';
import type { Composition } from './composition.ts';
import type { PolicyDoor } from './policy/door.ts';

/** What alerts and events about a policy name in the place of a downstream. */
const POLICY = 'policy';

/** How a watcher of policy files reaches a dispatcher. */
export function openDoor(composition: Composition): PolicyDoor {
  const { env, registry, clock, bus, desk } = composition;
  return {
    env,
    isInForce: (plan) => registry.isInForce(plan),
    apply: (policy) => composition.apply(policy),
    rejected: (detail) => {
      bus.emit({ at: clock.wallNow(), downstream: POLICY, type: 'policy-rejected', detail });
      desk.raise(rejection(detail, composition));
    },
    accepted: () => (desk as { end?: (name: string, downstream: string) => void }).end?.('PolicyRejected', POLICY),
  };
}

/** No call was throttled, nothing is held, nobody waits longer. */
function rejection(detail: string, { clock, nextIncidentId, bornAt }: Composition): AlertFacts {
  const at = clock.wallNow();
  return {
    name: 'PolicyRejected',
    downstream: POLICY,
    at,
    incident: { id: nextIncidentId(), startedAt: at, throttles: 0, inARow: 0 },
    action: { kind: 'none' },
    impact: { waiting: 0, refused: 0, inFlight: 0, oldestWaitMs: 0, tools: [] },
    observed: { windows: [], processUpMs: clock.now() - bornAt },
    server: {},
    declared: [],
    longestWindowMs: 0,
    detail,
  };
}
