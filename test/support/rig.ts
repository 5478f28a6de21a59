import { getEventListeners } from 'node:events';
import { expect } from 'vitest';
import type { Alert } from '../../src/base/alert.ts';
import type { DownstreamSnapshot } from '../../src/base/snapshot.ts';
import type { Cost } from '../../src/base/words.ts';
import type { Call, CallContext } from '../../src/dispatch/context.ts';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../../src/dispatcher.ts';
import { type EventRecord, ManualClock, recordEvents } from '../../src/testing.ts';
import type { Config } from './configs.ts';
import { Made, startsOf } from './made.ts';
import { Watch } from './watch.ts';

/** How a rig's call is made. Instants are relative: milliseconds from now. */
export interface Ask extends CallContext {
  /** Which downstream; default `api`. */
  readonly to?: string;
  readonly deadlineIn?: number;
  /** How long `fn` takes; default: it resolves at once. */
  readonly runMs?: number;
  readonly fn?: (call: Call) => unknown;
}

/** Of the dispatcher; the clock and the list of alerts are the rig's own. */
export type RigOptions = Omit<DispatcherOptions, 'clock' | 'onAlert'>;

/**
 * A dispatcher on a manual clock with every invariant watched. Times are milliseconds since `zero()`.
 * A test ends with `await rig.rest()`.
 */
export class Rig {
  readonly clock = new ManualClock();
  readonly alerts: Alert[] = [];
  readonly calls: Made[] = [];
  readonly dispatcher: Dispatcher;
  readonly record: EventRecord;
  readonly watch: Watch;
  readonly #configs: Readonly<Record<string, Config>>;
  readonly #signals = new Set<AbortSignal>();
  readonly #trouble: string[] = [];
  #zeroMs = 0;

  constructor(configs: Config | Record<string, Config>, options: RigOptions = {}) {
    const named = isConfig(configs) ? { api: configs } : configs;
    this.#configs = named;
    const downstreams = Object.fromEntries(Object.entries(named).map(([name, { policy }]) => [name, policy]));
    this.dispatcher = createDispatcher(
      { downstreams },
      { alertSinks: [], env: {}, ...options, clock: this.clock, onAlert: (alert) => this.alerts.push(alert) },
    );
    this.record = recordEvents(this.dispatcher);
    this.watch = new Watch({
      clock: this.clock,
      configs: named,
      calls: this.calls,
      snapshot: this.dispatcher.snapshot,
    });
    this.dispatcher.subscribe((event) => this.watch.hear(event));
    process.on('warning', this.#warned);
    process.on('unhandledRejection', this.#unhandled);
  }

  /** Milliseconds since the zero. */
  get t(): number {
    return this.clock.now() - this.#zeroMs;
  }

  zero(): void {
    this.#zeroMs = this.clock.now();
  }

  call(ask: Ask = {}): Made {
    return this.#make(ask, false);
  }

  /** Several calls alike. */
  callMany(count: number, ask: Ask = {}): Made[] {
    return Array.from({ length: count }, () => this.call(ask));
  }

  /** Resolves that much later on the manual clock. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.clock.setTimer(ms, resolve, { keepAlive: false });
    });
  }

  /** Moves to that many milliseconds after the zero, and looks after every timer on the way. */
  async to(ms: number): Promise<void> {
    const untilMs = this.#zeroMs + ms;
    await this.clock.advance(0);
    this.watch.look();
    while (this.clock.now() < untilMs) {
      const nextMs = this.clock.nextTimerInMs ?? Number.POSITIVE_INFINITY;
      await this.clock.advance(Math.min(nextMs, untilMs - this.clock.now()));
      this.watch.look();
    }
  }

  /** Moves on by so much. */
  async by(ms: number): Promise<void> {
    await this.to(this.t + ms);
  }

  /** Lets promises settle; no time passes. */
  async settle(): Promise<void> {
    await this.to(this.t);
  }

  /** Takes every permit there is, and makes this instant the zero. */
  async drain(to = 'api'): Promise<void> {
    const cost: Record<string, number> = { requests: 0 };
    for (const { unit, permits } of this.snap(to).quotas) {
      const whole = Math.floor(permits + 1e-9);
      cost[unit] = cost[unit] ? Math.min(cost[unit], whole) : whole;
    }
    this.#make({ to, cost }, true);
    await this.settle();
    this.zero();
  }

  snap(downstream = 'api'): DownstreamSnapshot {
    const found = this.dispatcher.snapshot().downstreams.find((one) => one.downstream === downstream);
    if (found === undefined) throw new Error(`no downstream ${downstream} in the snapshot`);
    return found;
  }

  /** When the calls of this test started, in order. */
  starts(): number[] {
    return startsOf(this.calls.filter((call) => !call.isSetup));
  }

  /** Everything is over: expects all eight invariants to have held. */
  async rest(more: { readonly otherCalls?: number } = {}): Promise<void> {
    await this.settle();
    this.watch.atRest();
    this.watch.windows();
    const listening = [...this.#signals].filter((signal) => getEventListeners(signal, 'abort').length > 0);
    process.off('warning', this.#warned);
    process.off('unhandledRejection', this.#unhandled);
    expect([...this.watch.faults, ...this.record.faults, ...this.#trouble].slice(0, 5)).toEqual([]);
    expect(listening).toHaveLength(0);
    expect(this.record.ends).toHaveLength(this.calls.length + (more.otherCalls ?? 0));
  }

  #make({ to = 'api', deadlineIn, runMs, fn, ...ctx }: Ask, isSetup: boolean): Made {
    const deadline = deadlineIn === undefined ? ctx.deadline : this.clock.wallNow() + deadlineIn;
    const cost = costOf(ctx.cost, Object.hasOwn(this.#configs, to) ? this.#configs[to]!.policy.defaultCost : undefined);
    const made = new Made(to, cost, { isSetup, zeroMs: () => this.#zeroMs, account: ctx.account });
    made.madeAtMs = this.clock.now();
    if (ctx.signal !== undefined) this.#signals.add(ctx.signal);
    this.calls.push(made);
    const run = (call: Call): unknown => {
      made.runs += 1;
      made.startedAtMs = this.clock.now();
      this.watch.started(made);
      made.state = 'running';
      if (fn !== undefined) return fn(call);
      return runMs === undefined ? undefined : this.sleep(runMs);
    };
    made.promise = this.dispatcher.callDownstream(to, run, { ...ctx, deadline }).then(
      (value) => this.#end(made, 'fulfilled', value),
      (error: unknown) => this.#end(made, 'rejected', error),
    );
    return made;
  }

  #end(made: Made, state: 'fulfilled' | 'rejected', result: unknown): void {
    if (made.isSettled) this.#trouble.push('a promise settled twice');
    made.state = state;
    made.endedAtMs = this.clock.now();
    if (state === 'fulfilled') made.value = result;
    else made.error = result;
  }

  readonly #warned = (warning: Error): void => void this.#trouble.push(`warning: ${warning.message}`);
  readonly #unhandled = (reason: unknown): void => void this.#trouble.push(`unhandled rejection: ${reason}`);
}

function isConfig(value: Config | Record<string, Config>): value is Config {
  return Array.isArray(value.declares);
}

/** What a call costs, with the policy's default for every unit that it does not name. */
function costOf(cost: Cost | undefined, byDefault: Cost | undefined): Record<string, number> {
  const whole = { requests: 1, ...record(byDefault) };
  return { ...whole, ...record(cost) };
}

function record(cost: Cost | undefined): Record<string, number> {
  return typeof cost === 'number' ? { requests: cost } : { ...cost };
}
