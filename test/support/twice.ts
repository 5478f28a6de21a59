import type { DispatcherEvent } from '../../src/base/events.ts';
import type { Mode } from '../../src/base/words.ts';
import type { Call, CallContext } from '../../src/dispatch/context.ts';
import { createDispatcher, type Dispatcher } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../src/policy/input.ts';
import { ManualClock } from '../../src/testing.ts';

/** One call of a schedule. Instants and durations in milliseconds; `abortAt` and `deadlineAt` since the beginning. */
export interface Planned extends Omit<CallContext, 'deadline' | 'signal'> {
  readonly at: number;
  readonly runMs: number;
  readonly deadlineAt?: number;
  readonly abortAt?: number;
  /** Tokens that it turns out to have used, `settleAfterMs` after its start. */
  readonly settle?: Readonly<Record<string, number>>;
  readonly isLease?: boolean | undefined;
  /** Calls nested in it, one after another, before it goes on for `runMs`. */
  readonly nested?: readonly number[] | undefined;
}

/** What became of every call, as the events say: as it was, or as it would have been. */
export interface Fate {
  readonly started: ReadonlyMap<string, number>;
  readonly refused: ReadonlyMap<string, string>;
  /** Milliseconds that callers really waited. */
  readonly reallyWaitedMs: number;
  readonly reallyRefused: number;
  readonly dispatcher: Dispatcher;
  readonly clock: ManualClock;
  readonly events: readonly DispatcherEvent[];
}

/** Plays a schedule on a manual clock; calls are told apart by their `tool`, which it sets. */
export async function play(
  mode: Mode,
  policy: DownstreamPolicyInput,
  schedule: readonly Planned[],
  forMs: number,
): Promise<Fate> {
  const clock = new ManualClock();
  const dispatcher = createDispatcher({ downstreams: { api: { ...policy, mode } } } as PolicyInput, {
    clock,
    alertSinks: [],
    env: {},
    random: () => 0.5,
  });
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  let reallyWaitedMs = 0;
  let reallyRefused = 0;
  const zero = clock.now();
  const sleep = (ms: number): Promise<void> =>
    ms <= 0 ? Promise.resolve() : new Promise((resolve) => clock.setTimer(ms, resolve));
  for (const [n, one] of schedule.entries()) {
    clock.setTimer(Math.max(one.at, 0.001), () => void make(n, one));
  }

  async function make(n: number, one: Planned): Promise<void> {
    const { at, runMs, deadlineAt, abortAt, settle, isLease, nested = [], ...rest } = one;
    const controller = new AbortController();
    if (abortAt !== undefined) {
      clock.setTimer(Math.max(0.001, abortAt - (clock.now() - zero)), () => controller.abort('left'));
    }
    const ctx: CallContext = {
      ...rest,
      tool: `call ${n}`,
      ...(deadlineAt === undefined ? {} : { deadline: clock.wallNow() + (deadlineAt - (clock.now() - zero)) }),
      ...(abortAt === undefined ? {} : { signal: controller.signal }),
    };
    const made = clock.now();
    const run = async (call: Call): Promise<void> => {
      reallyWaitedMs += clock.now() - made;
      for (const ms of nested) await call.run(() => sleep(ms));
      await sleep(runMs);
      if (settle !== undefined) call.settle(settle);
    };
    try {
      if (isLease === true) {
        const lease = await dispatcher.acquire('api', ctx);
        await run(lease);
        lease.release();
      } else await dispatcher.callDownstream('api', run, ctx);
    } catch {
      reallyRefused++;
    }
  }

  await clock.advance(forMs);
  const started = new Map<string, number>();
  const refused = new Map<string, string>();
  const prefix = mode === 'enforce' ? ['started', 'refused'] : ['would-start', 'would-refuse'];
  const seen = new Map<string, number>();
  for (const event of events) {
    if (!('callId' in event) || !prefix.includes(event.type)) continue;
    // A nested call has the tool of the call around it.
    const count = seen.get(event.tool ?? '') ?? 0;
    seen.set(event.tool ?? '', count + 1);
    const key = `${event.tool} ${count}`;
    if (event.type === prefix[0]) started.set(key, round(event.waitedMs));
    else refused.set(key, `${event.code} after ${round(event.waitedMs)}`);
  }
  return { started, refused, reallyWaitedMs, reallyRefused, dispatcher, clock, events };
}

function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** The same schedule under `enforce` and under `observe`. */
export async function twice(
  policy: DownstreamPolicyInput,
  schedule: readonly Planned[],
  forMs: number,
): Promise<{ readonly enforced: Fate; readonly observed: Fate }> {
  return {
    enforced: await play('enforce', policy, schedule, forMs),
    observed: await play('observe', policy, schedule, forMs),
  };
}

/** What became of all calls, in one order, to be compared. */
export function told(fate: Fate): string[] {
  const lines = [
    ...[...fate.started].map(([call, waitedMs]) => `${call}: started after ${waitedMs}`),
    ...[...fate.refused].map(([call, why]) => `${call}: ${why}`),
  ];
  return lines.sort();
}
