import Bottleneck from 'bottleneck';
import { afterEach, beforeEach, vi } from 'vitest';
import { bottleneckEngine } from '../../src/adapters/bottleneck.ts';
import type { Alert } from '../../src/base/alert.ts';
import type { CallContext } from '../../src/dispatch/context.ts';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { type EventRecord, recordEvents } from '../../src/testing.ts';

/** What hands out turns in one run of the suite. */
export interface Kind {
  readonly name: 'penstock' | 'bottleneck, from the policy' | 'bottleneck, handed in';
  /** How much later than our own lane it may start a call that need not wait. */
  readonly slackMs: number;
  readonly predicts: boolean;
}

export const KINDS: readonly Kind[] = [
  { name: 'penstock', slackMs: 0, predicts: true },
  { name: 'bottleneck, from the policy', slackMs: 20, predicts: false },
  { name: 'bottleneck, handed in', slackMs: 20, predicts: false },
];

/**
 * Where an engine of Bottleneck's is not held to what our own lane does: all of it. Each is tested in the suite, or
 * in `test/adapters/bottleneck`; docs/from-bottleneck.md shows the same table.
 */
export const EXCEPTIONS: readonly { readonly what: string; readonly bottleneck: string }[] = [
  {
    what: 'a call that nothing holds back starts one microtask after it was made',
    bottleneck: 'some 5 ms later: four timers for each call; a few hundred calls a second',
  },
  {
    what: 'a call that cannot make it is refused at once',
    bottleneck:
      'nothing is foretold: it is refused when its deadline or `maxWait` comes; at once only where a hold is known to last longer',
  },
  {
    what: '`forecast`, `expectedWaitMs` and `onWait` say how long a wait will be',
    bottleneck: 'at least so long: what a hold and the counters of the server leave, else 0',
  },
  {
    what: 'a caller that leaves takes nothing',
    bottleneck:
      'its job stays in the queue of the limiter: whoever comes meanwhile takes its turn, else the permit is lost',
  },
  {
    what: 'no `queued` event, no wait span for a call that need not wait',
    bottleneck: 'each call is in line until the limiter answers',
  },
  {
    what: '`maxQueueDepth` refuses at once',
    bottleneck: 'once the limiter has been silent for 50 ms, where a call might still have started at once',
  },
  {
    what: 'every quota is paced, and a burst saved up in each',
    bottleneck: 'the slowest quota is paced; the others stop what would be too much in a window',
  },
  {
    what: 'a nested call takes a permit of its own',
    bottleneck:
      'where a limiter that was handed in counts places, it weighs nothing there: a reservoir of the same limiter does not count it',
  },
  {
    what: 'the clock of the dispatcher decides',
    bottleneck:
      'the timers and the wall clock of the machine do: a step back of that clock holds the limiter for as long',
  },
  {
    what: '`mode: observe` reports what this lane would do',
    bottleneck: 'it reports what our own lane would do; the limiter is not asked',
  },
];

/** A call as the suite watches it. Instants are milliseconds since the stage was set. */
export interface Seen {
  readonly promise: Promise<unknown>;
  startedAt: number | undefined;
  /** `done`, or what it was rejected with. */
  end: unknown;
  endedAt: number | undefined;
}

/** A dispatcher with one downstream, `api`, on timers that the test moves: Bottleneck has no clock of its own to set. */
export class Stage {
  readonly dispatcher: Dispatcher;
  readonly record: EventRecord;
  readonly alerts: Alert[] = [];
  readonly starts: number[] = [];
  readonly #zero = performance.now();

  constructor(kind: Kind, policy: DownstreamPolicyInput, options: DispatcherOptions = {}) {
    const isDerived = kind.name === 'bottleneck, from the policy';
    const own = isDerived ? { ...policy, engine: 'bottleneck' as const } : policy;
    const engines = kind.name === 'bottleneck, handed in' ? { api: bottleneckEngine(limiterOf(policy)) } : undefined;
    this.dispatcher = createDispatcher(
      { downstreams: { api: own } },
      { alertSinks: [], env: {}, onAlert: (alert) => this.alerts.push(alert), ...options, engines },
    ) as Dispatcher;
    this.record = recordEvents(this.dispatcher);
  }

  get t(): number {
    return performance.now() - this.#zero;
  }

  call(ctx?: CallContext & { readonly runMs?: number; readonly fn?: () => unknown }): Seen {
    const { runMs, fn, ...context } = ctx ?? {};
    const run = (): unknown => {
      seen.startedAt = this.t;
      this.starts.push(this.t);
      if (fn !== undefined) return fn();
      return runMs === undefined ? 'done' : new Promise((resolve) => setTimeout(() => resolve('done'), runMs));
    };
    const promise = this.dispatcher.callDownstream('api', run, ctx === undefined ? undefined : context);
    const seen: Seen = { promise, startedAt: undefined, end: undefined, endedAt: undefined };
    const ends = (end: unknown): void => {
      seen.end = end;
      seen.endedAt = this.t;
    };
    promise.then(ends, ends);
    return seen;
  }

  calls(count: number, ctx?: Parameters<Stage['call']>[0]): Seen[] {
    return Array.from({ length: count }, () => this.call(ctx));
  }

  /** A deadline so many milliseconds from now. */
  in(ms: number): number {
    return Date.now() + ms;
  }

  async pass(ms: number): Promise<void> {
    await vi.advanceTimersByTimeAsync(ms);
  }

  /** How often each event came, of one call or of all. */
  count(type: string): number {
    return this.record.events.filter((event) => event.type === type).length;
  }
}

/** What somebody would have written for the same limits: paced as the policy is, without a queue of its own. */
function limiterOf(policy: DownstreamPolicyInput): Bottleneck {
  const match = /^(\d+)\/(?:(\d+)s|(minute))$/.exec(typeof policy.quota === 'string' ? policy.quota : '');
  const windowMs = match?.[3] === undefined ? Number(match?.[2] ?? 0) * 1_000 : 60_000;
  const paceMs = match === null ? 0 : windowMs / (Number(match[1]) * (policy.utilization ?? 0.8));
  return new Bottleneck({ maxConcurrent: policy.maxConcurrent ?? null, minTime: paceMs });
}

/** Fake timers for every test of a file. */
export function fakeTimers(): void {
  beforeEach(() => {
    vi.useFakeTimers({
      now: Date.UTC(2030, 0, 1),
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}
