import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { DownstreamPolicyInput, PolicyInput } from '../../src/policy/input.ts';
import { FakeDownstream, type FakeDownstreamOptions } from '../../src/testing.ts';
import type { Config } from './configs.ts';
import { type Ask, Rig, type RigOptions } from './rig.ts';

export const MINUTE = 60_000;
/** 800 calls over 90 s: one every 112.5 ms. */
export const CALLS = 800;
const EVERY_MS = 90_000 / CALLS;
/** The nightly sync makes 400 calls an hour. */
export const SYNC_EVERY_MS = 9_000;
/** 16.8 minutes: 800 calls at 48 a minute, and a little. */
export const ALL_ANSWERED_MS = 16.8 * MINUTE;

/** The carrier as the policy file that ships describes it. */
export function shippedCarrier(more: DownstreamPolicyInput = {}): Config {
  const file = new URL('../../config/downstreams.yaml', import.meta.url);
  const policy = parse(readFileSync(file, 'utf8')) as PolicyInput;
  return {
    policy: { ...policy.downstreams.carrier, ...more },
    declares: [{ limit: 60, windowMs: MINUTE, unit: 'requests' }],
  };
}

export interface Telling {
  /** The server's own limit; default: a sliding window of 60 a minute. */
  readonly server?: Partial<FakeDownstreamOptions>;
  readonly syncPhaseMs?: number;
  readonly policy?: DownstreamPolicyInput;
  readonly options?: RigOptions;
  /** Context of the n-th call of the fan-out. */
  readonly ask?: (n: number, rig: Rig) => Ask;
  /** Called every so often, with the number of tickets answered so far, while the fan-out is made and worked off. */
  readonly meanwhile?: {
    readonly everyMs: number;
    readonly act: (rig: Rig, server: FakeDownstream, answered: number) => void;
  };
  /** Called once before the first call. */
  readonly before?: (rig: Rig, server: FakeDownstream) => void;
  /** How long the story is followed; default 20 minutes. */
  readonly untilMs?: number;
}

export interface Told {
  readonly rig: Rig;
  readonly server: FakeDownstream;
  /** When a ticket was answered with a 200, in order; milliseconds since the first call. */
  readonly answeredMs: readonly number[];
}

/**
 * 800 tickets, each asked for once and again after a 429 (through the gate, as a caller would), at a
 * server that somebody else uses too. Nothing is faked but the server and the clock.
 */
export async function tell(telling: Telling = {}): Promise<Told> {
  const rig = new Rig({ carrier: shippedCarrier(telling.policy) }, telling.options);
  const server = new FakeDownstream({ clock: rig.clock, limit: 60, windowMs: MINUTE, ...telling.server });
  server.addConsumer({ name: 'nightly sync', everyMs: SYNC_EVERY_MS, phaseMs: telling.syncPhaseMs ?? 0 });
  telling.before?.(rig, server);
  const answeredMs: number[] = [];

  const ticket = async (n: number): Promise<void> => {
    for (;;) {
      const made = rig.call({
        to: 'carrier',
        fn: () => server.call(),
        tool: 'get_delivery_status',
        ...telling.ask?.(n, rig),
      });
      await made.promise;
      if (made.state === 'rejected') return;
      if ((made.value as Response).status === 200) {
        answeredMs.push(rig.t);
        return;
      }
    }
  };

  const untilMs = telling.untilMs ?? 20 * MINUTE;
  const { everyMs, act } = telling.meanwhile ?? { everyMs: Number.POSITIVE_INFINITY, act: () => undefined };
  let nextMs = everyMs;
  const tickets: Promise<void>[] = [];
  for (let n = 0; n < CALLS; n += 1) {
    await rig.to(n * EVERY_MS);
    tickets.push(ticket(n));
    for (; nextMs <= rig.t; nextMs += everyMs) act(rig, server, answeredMs.length);
  }
  for (; nextMs < untilMs; nextMs += everyMs) {
    await rig.to(nextMs);
    act(rig, server, answeredMs.length);
  }
  await rig.to(untilMs);
  await Promise.all(tickets);
  return { rig, server, answeredMs };
}
