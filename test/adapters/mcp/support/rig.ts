import {
  createDispatcher,
  type DispatcherEvent,
  type DownstreamPolicyInput,
  type PolicyInput,
} from '../../../../src/index.ts';
import { ManualClock } from '../../../../src/testing.ts';

/** Two at once, then one every 30 seconds. */
export const TWO_A_MINUTE: DownstreamPolicyInput = {
  quota: { limit: 2, per: '1m', providerBurst: 2 },
  utilization: 1,
  burst: 2,
};

/** A dispatcher on a manual clock, and what it has told. */
export function rig(downstreams: PolicyInput['downstreams'] = { notes: TWO_A_MINUTE }) {
  const clock = new ManualClock();
  const events: DispatcherEvent[] = [];
  const dispatcher = createDispatcher<PolicyInput>({ downstreams }, { clock, alertSinks: [], env: {} });
  dispatcher.subscribe((event) => events.push(event));
  const heldMs = (name: string): number => {
    const lane = dispatcher.snapshot().downstreams.find(({ downstream }) => downstream === name);
    return Math.max(0, ...(lane?.holds ?? []).map(({ until }) => until - clock.wallNow()));
  };
  return { clock, dispatcher, events, heldMs };
}

/** The JSON that a model reads in a result. */
export function said(result: unknown): unknown {
  const [first] = (result as { content: { text: string }[] }).content;
  return JSON.parse(first?.text ?? '');
}
