import type { Alert } from '../../../src/base/alert.ts';
import type { CallEvent, DispatcherEvent } from '../../../src/base/events.ts';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../../../src/dispatcher.ts';
import type { PolicyInput } from '../../../src/policy/input.ts';
import { ManualClock } from '../../../src/testing.ts';

/** A dispatcher on a manual clock, with all that it tells. */
export interface Bench {
  readonly clock: ManualClock;
  readonly dispatcher: Dispatcher;
  readonly events: DispatcherEvent[];
  readonly alerts: Alert[];
  readonly of: (type: string) => CallEvent[];
}

export function bench(policy: PolicyInput, options: DispatcherOptions = {}): Bench {
  const clock = new ManualClock();
  const alerts: Alert[] = [];
  const dispatcher = createDispatcher(policy, {
    clock,
    alertSinks: [],
    env: {},
    onAlert: (alert) => alerts.push(alert),
    ...options,
  });
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  return { clock, dispatcher, events, alerts, of: (type) => events.filter((one) => one.type === type) as CallEvent[] };
}

/** A policy of one downstream. */
export const api = (more: PolicyInput['downstreams'][string]): PolicyInput => ({ downstreams: { api: more } });
export const THROTTLED = { status: 429, headers: { 'retry-after': '30' } };
