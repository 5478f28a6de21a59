import type { AlertDesk } from './alerts/desk.ts';
import { createAlertDesk } from './alerts/desk.ts';
import { sinksOf } from './alerts/sinks/make.ts';
import { checkArguments, checkPolicy, plainName } from './arguments.ts';
import type { AlertFacts } from './base/alert.ts';
import { EventBus } from './base/bus.ts';
import { type Clock, createSystemClock } from './base/clock.ts';
import { type AdmissionError, DispatcherClosed, UnknownDownstream } from './base/errors.ts';
import type { Inside, SeenAlert, Watching } from './base/inside.ts';
import { nearest } from './base/nearest.ts';
import type { DownstreamPlan, PolicyChange } from './base/plan.ts';
import type { Snapshot } from './base/snapshot.ts';
import { show } from './base/text.ts';
import type { Mode } from './base/words.ts';
import { readCancel } from './cancel.ts';
import type { CancelAsk, ClosingReport, DispatcherOptions } from './contract.ts';
import type { Downstream } from './dispatch/downstream.ts';
import { defined } from './dispatch/hold-news.ts';
import type { Lane } from './dispatch/lane.ts';
import { readDownstream } from './dispatch/reading.ts';
import { cancelled } from './dispatch/refusals.ts';
import { SignalHub } from './dispatch/signals.ts';
import { Slices } from './dispatch/slices.ts';
import { Engines } from './engines.ts';
import { diagnose } from './feedback/diagnosis.ts';
import { Judges } from './judges.ts';
import { Modes } from './modes.ts';
import { type Environment, originOf, processEnvironment } from './origin.ts';
import { modeOfAll } from './policy/environment.ts';
import type { DownstreamPolicyInput } from './policy/input.ts';
import { resolvePolicy } from './policy/resolve.ts';
import { Registry } from './registry.ts';
import { createTelemetry, type Telemetry } from './telemetry/telemetry.ts';
import { VERSION } from './version.ts';

/** Names that an error lists before it says "and so many more". */
const MOST_LISTED = 12;

/** Policy + clock + lanes + telemetry + alerts, put together: the state that every face of one dispatcher shares. */
export class Composition {
  readonly clock: Clock;
  readonly bus: EventBus;
  readonly desk: AlertDesk;
  readonly telemetry: Telemetry;
  readonly registry: Registry;
  readonly env: Environment;
  readonly inside: Inside;
  readonly watching: Watching = { by: undefined, watcher: undefined, cover: undefined };
  isClosed = false;
  /** Set once it is being closed. */
  closing: Promise<ClosingReport> | undefined;
  /** Told when a lane that was shut comes to rest. */
  onRest: () => void = () => undefined;
  readonly slices: Slices;
  readonly #options: DispatcherOptions;
  readonly #modes: Modes;
  #callId = 0;
  #incidentId = 0;

  constructor(policy: unknown, options: DispatcherOptions) {
    checkArguments(policy, options);
    this.#options = options;
    this.env = options.env ?? processEnvironment();
    this.clock = options.clock ?? createSystemClock();
    const { clock } = this;
    const plan = resolvePolicy(policy, { env: this.env, now: clock.wallNow() });
    const random = options.random ?? Math.random;
    this.bus = new EventBus(() => clock.wallNow());
    const judges = new Judges(options.classify ?? {}, this.bus, () => clock.wallNow());
    judges.check(plan);
    const engines = new Engines(options.engines ?? {});
    engines.check(plan);
    this.#modes = new Modes(modeOfAll(this.env));
    const instance = random().toString(36).slice(2, 10).padEnd(8, '0');
    this.desk = createAlertDesk({
      clock,
      sinks: options.alertSinks ?? (plan.alerts && sinksOf(plan.alerts, { env: this.env, clock })),
      onAlert: options.onAlert,
      emit: (event) => this.bus.emit(event),
      origin: originOf(instance, options.name, this.env, () => this.hash),
      random,
      mutedUntil: (downstream) => this.downstreams.get(downstream)?.plan.mute?.until,
    });
    this.slices = new Slices(clock, () => this.onRest());
    const shared = {
      clock,
      bus: this.bus,
      signals: new SignalHub(),
      watching: this.watching,
      slices: this.slices,
      raise: (facts: AlertFacts) => void this.desk.raise(this.#diagnosed(facts)),
      engineFor: (wanted: DownstreamPlan) => engines.for(wanted),
      random,
      nextCallId: () => ++this.#callId,
      nextIncidentId: () => `${instance}-i${++this.#incidentId}`,
      rested: () => {
        this.registry.rested();
        this.onRest();
      },
      bornAt: clock.now(),
    };
    const parts = { env: this.env, bus: this.bus, wallNow: () => clock.wallNow(), judges, modes: this.#modes };
    this.registry = new Registry(policy, plan, parts, shared);
    const host = {
      wallNow: () => clock.wallNow(),
      setTimer: (delayMs: number, fire: () => void) => clock.setTimer(delayMs, fire),
      snapshot: () => this.snapshot(),
      version: VERSION,
    };
    this.inside = this.#inside();
    this.telemetry = createTelemetry(host, options.telemetry);
    this.bus.setTap(this.telemetry);
  }

  /** A downstream by name; throws `DispatcherClosed` or `UnknownDownstream`, which names the nearest. */
  find(name: string): Downstream {
    const downstream = this.downstreams.get(name);
    if (downstream !== undefined && !this.isClosed) return downstream;
    if (!this.isClosed) throw this.#unknown([name]);
    throw new DispatcherClosed(`${show(name)}: refused, the dispatcher is closed.`, { downstream: plainName(name) });
  }

  /** Tells of a call that never came as far as a lane. */
  turnedAway({ downstream, code, tool, runId }: AdmissionError): void {
    if (!this.bus.wantsWaits) return;
    this.bus.emit({
      at: this.clock.wallNow(),
      downstream,
      type: 'refused',
      callId: ++this.#callId,
      priority: 'normal',
      waitedMs: 0,
      code,
      ...(tool === undefined ? {} : { tool }),
      ...(runId === undefined ? {} : { runId }),
    });
  }

  require(names: Iterable<string>): void {
    const missing = [...names].filter((name) => !this.downstreams.has(name));
    if (missing.length > 0) throw this.#unknown(missing);
  }

  register(name: string, policy: DownstreamPolicyInput): void {
    this.#mayChange(plainName(name), 'registered');
    this.registry.register(name, policy);
    this.desk.replanned();
  }

  unregister(name: string): void {
    this.find(name);
    this.registry.unregister(name);
  }

  /** Puts a whole policy in the place of the one in force. */
  apply(policy: unknown): PolicyChange[] {
    this.#mayChange('policy', 'applied');
    checkPolicy(policy, 'apply');
    const changes = this.registry.apply(policy);
    this.desk.replanned();
    return changes;
  }

  /** Refuses what waits of a run or a tool, in one downstream or in all, those that are gone included; how many. */
  cancel(ask: CancelAsk, reason: string): number {
    const matches = readCancel(ask, reason);
    const { downstreams, gone } = this.registry;
    const name = ask.downstream;
    const meant = name === undefined ? undefined : (downstreams.get(name) ?? gone.get(name) ?? this.find(name));
    const refusal = cancelled(reason);
    let count = 0;
    for (const one of meant === undefined ? [...this.registry.everyDownstream()] : [meant]) {
      count += one.cancel(matches, refusal);
    }
    return count;
  }

  /** Another mode at run time: of one downstream, or of all. */
  setMode(mode: Mode | 'policy', only: string | undefined): void {
    if (this.isClosed) throw new DispatcherClosed('setMode: the dispatcher is closed.', { downstream: only ?? '' });
    if (only !== undefined) this.find(only);
    this.#modes.say(mode, only);
    this.registry.changeModes(only);
  }

  snapshot(): Snapshot {
    const { name } = this.#options;
    const { pending, dropped, sinks } = this.desk;
    const { watcher } = this.watching;
    return {
      schema: 1,
      at: this.clock.wallNow(),
      ...(name === undefined ? {} : { name }),
      policyHash: this.hash,
      isClosed: this.isClosed,
      alerts: { pending, dropped, sinks },
      downstreams: [...this.downstreams.values()].map(readDownstream),
      ...(watcher === undefined ? {} : { inventory: watcher.inventory() }),
    };
  }

  get downstreams(): ReadonlyMap<string, Downstream> {
    return this.registry.downstreams;
  }

  get hash(): string {
    return this.registry.hash;
  }

  /** All lanes, those of downstreams that are gone too as long as a call runs in them. */
  lanes(): IterableIterator<Lane> {
    return this.registry.lanes();
  }

  #mayChange(what: string, done: string): void {
    if (this.isClosed)
      throw new DispatcherClosed(`${what}: not ${done}, the dispatcher is closed.`, { downstream: what });
  }

  #inside(): Inside {
    return {
      plans: () => this.registry.plans,
      clock: this.clock,
      emit: (event) => this.bus.emit(event),
      alert: (alert) => this.#alert(alert),
      watching: this.watching,
      inFlight: (name) => this.downstreams.get(name)?.inFlight ?? 0,
      isLeased: (name) => this.downstreams.get(name)?.isLeased ?? false,
    };
  }

  #alert({ name, downstream, detail }: SeenAlert): void {
    const { owner, source, runbook } = this.registry.plans.get(downstream) ?? {};
    const labels = { ...defined({ owner, source, runbook }), ...this.bus.trace() };
    this.desk.notify({ name, downstream, detail, labels });
  }

  #diagnosed(facts: AlertFacts): AlertFacts {
    const { findings, wish } = diagnose(facts);
    const { mode = 'enforce' } = this.downstreams.get(facts.downstream) ?? {};
    // What our own limits would have prevented is no reason to tighten them: they were not in force.
    const isOurs = mode !== 'enforce' && findings[0]?.hypothesis === 'policy-too-wide';
    const suggestion = wish === undefined || isOurs ? undefined : this.registry.suggestions.for(facts.downstream, wish);
    const told = mode === 'enforce' ? facts : { ...facts, mode };
    return { ...told, findings, ...(suggestion === undefined ? {} : { suggestion }) };
  }

  #unknown(missing: readonly string[]): UnknownDownstream {
    const known = [...this.downstreams.keys()];
    const listed = known.slice(0, MOST_LISTED).join(', ');
    const more = known.length > MOST_LISTED ? ` and ${known.length - MOST_LISTED} more` : '';
    const told = missing.map((name) => {
      const near = nearest(plainName(name), known);
      return near === undefined ? show(name) : `${show(name)} (did you mean ${show(near)}?)`;
    });
    const declared = known.length === 0 ? 'None is declared.' : `Declared are: ${listed}${more}.`;
    const what = missing.length === 1 ? 'unknown downstream' : 'unknown downstreams';
    return new UnknownDownstream(`${what} ${told.join(', ')}. ${declared}`, {
      downstream: plainName(missing[0]),
    });
  }
}
