import type { AlertDesk } from './alerts/desk.ts';
import { createAlertDesk } from './alerts/desk.ts';
import { checkArguments, plainName } from './arguments.ts';
import type { AlertFacts } from './base/alert.ts';
import { EventBus } from './base/bus.ts';
import { type Clock, createSystemClock } from './base/clock.ts';
import { type AdmissionError, DispatcherClosed, PolicyError, UnknownDownstream } from './base/errors.ts';
import { nearest } from './base/nearest.ts';
import type { DownstreamPlan } from './base/plan.ts';
import type { Snapshot } from './base/snapshot.ts';
import { show } from './base/text.ts';
import type { Mode } from './base/words.ts';
import type { ClosingReport, DispatcherOptions } from './contract.ts';
import { Downstream } from './dispatch/downstream.ts';
import type { Lane } from './dispatch/lane.ts';
import type { LanePorts } from './dispatch/ports.ts';
import { readDownstream } from './dispatch/reading.ts';
import { closed } from './dispatch/refusals.ts';
import { SignalHub } from './dispatch/signals.ts';
import { Slices } from './dispatch/slices.ts';
import { diagnose } from './feedback/diagnosis.ts';
import { judgeReport } from './feedback/report.ts';
import { Judges } from './judges.ts';
import { Spoken } from './model/spoken.ts';
import { Modes } from './modes.ts';
import { type Environment, originOf, processEnvironment } from './origin.ts';
import { diffDownstream } from './policy/diff.ts';
import { modeOfAll } from './policy/environment.ts';
import { policyHash } from './policy/hash.ts';
import type { DownstreamPolicyInput } from './policy/input.ts';
import { defaultsOf, resolveDownstream, resolvePolicy } from './policy/resolve.ts';
import { Suggestions } from './policy/suggestions.ts';
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
  readonly downstreams = new Map<string, Downstream>();
  /** Unregistered, with calls that still run. */
  readonly retired = new Set<Downstream>();
  isClosed = false;
  /** Set once it is being closed. */
  closing: Promise<ClosingReport> | undefined;
  /** Told when a lane that was shut comes to rest. */
  onRest: () => void = () => undefined;
  readonly #options: DispatcherOptions;
  readonly #env: Environment;
  readonly #defaults: DownstreamPolicyInput;
  readonly #suggestions: Suggestions;
  readonly #judges: Judges;
  readonly #shared: Omit<LanePorts, 'judge' | 'judgeSeen' | 'spoken'>;
  readonly #modes: Modes;
  #hash: string | undefined;
  #callId = 0;
  #incidentId = 0;

  constructor(policy: unknown, options: DispatcherOptions) {
    checkArguments(policy, options);
    this.#options = options;
    this.#env = options.env ?? processEnvironment();
    const plan = resolvePolicy(policy, { env: this.#env });
    this.clock = options.clock ?? createSystemClock();
    const { clock } = this;
    const random = options.random ?? Math.random;
    this.bus = new EventBus(() => clock.wallNow());
    this.#judges = new Judges(options.classify ?? {}, this.bus, () => clock.wallNow());
    this.#judges.check(plan);
    this.#modes = new Modes(modeOfAll(this.#env));
    this.#defaults = defaultsOf(policy, this.#env);
    this.#suggestions = new Suggestions(policy, this.#defaults, this.#env);
    const instance = random().toString(36).slice(2, 10).padEnd(8, '0');
    this.desk = createAlertDesk({
      clock,
      sinks: options.alertSinks,
      onAlert: options.onAlert,
      emit: (event) => this.bus.emit(event),
      origin: originOf(instance, options.name, this.#env, () => this.hash),
    });
    this.#shared = {
      clock,
      bus: this.bus,
      signals: new SignalHub(),
      slices: new Slices(clock),
      raise: (facts) => void this.desk.raise(this.#diagnosed(facts)),
      random,
      nextCallId: () => ++this.#callId,
      nextIncidentId: () => `${instance}-i${++this.#incidentId}`,
      rested: () => this.#rested(),
      bornAt: clock.now(),
    };
    for (const one of plan.downstreams.values()) this.downstreams.set(one.name, this.#make(one));
    this.#hash = plan.hash;
    const host = { wallNow: () => clock.wallNow(), snapshot: () => this.snapshot(), version: VERSION };
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
    if (typeof name !== 'string') {
      throw new PolicyError([{ path: 'downstreams', message: `expected a name, found ${show(name)}` }], 'register');
    }
    if (this.isClosed)
      throw new DispatcherClosed(`${name}: not registered, the dispatcher is closed.`, { downstream: name });
    const plan = this.#modes.planned(resolveDownstream(name, policy, this.#defaults));
    const known = this.downstreams.get(name);
    this.#suggestions.write(name, policy);
    const changes = diffDownstream(name, known?.plan, plan);
    if (known === undefined) this.downstreams.set(name, this.#make(plan));
    else {
      known.ports.judge = this.#judges.for(plan);
      known.replan(plan);
    }
    this.#hash = undefined;
    if (changes.length > 0) this.#tellChanges(name, changes);
  }

  unregister(name: string): void {
    const downstream = this.find(name);
    const changes = diffDownstream(name, downstream.plan, undefined);
    this.downstreams.delete(name);
    this.#suggestions.erase(name);
    this.retired.add(downstream);
    downstream.shut(closed('lane'), true);
    this.#rested();
    this.#hash = undefined;
    this.#tellChanges(name, changes);
  }

  /** Another mode at run time: of one downstream, or of all. */
  setMode(mode: Mode | 'policy', only: string | undefined): void {
    if (this.isClosed) throw new DispatcherClosed('setMode: the dispatcher is closed.', { downstream: only ?? '' });
    const chosen = only === undefined ? [...this.downstreams.values()] : [this.find(only)];
    this.#modes.say(mode, only);
    for (const downstream of chosen) {
      const { mode: from, plan } = downstream;
      downstream.say(this.#modes.saidOf(plan.name));
      const { mode: to } = downstream;
      if (from !== to) this.#tellChanges(plan.name, [{ downstream: plan.name, path: 'mode', from, to }]);
    }
  }

  snapshot(): Snapshot {
    const { name } = this.#options;
    const { pending, dropped } = this.desk;
    return {
      schema: 1,
      at: this.clock.wallNow(),
      ...(name === undefined ? {} : { name }),
      policyHash: this.hash,
      isClosed: this.isClosed,
      alerts: { pending, dropped: { ...dropped } },
      downstreams: [...this.downstreams.values()].map(readDownstream),
    };
  }

  /** Of the policy as it is now: worked out when somebody asks. */
  get hash(): string {
    this.#hash ??= policyHash([...this.downstreams.values()].map((downstream) => downstream.plan));
    return this.#hash;
  }

  /** All lanes, those of unregistered downstreams too as long as a call runs in them. */
  *lanes(): IterableIterator<Lane> {
    for (const downstream of this.downstreams.values()) yield* downstream.lanes();
    for (const downstream of this.retired) yield* downstream.lanes();
  }

  #rested(): void {
    for (const downstream of this.retired) if (downstream.isAtRest) this.retired.delete(downstream);
    this.onRest();
  }

  #tellChanges(downstream: string, changes: ReturnType<typeof diffDownstream>): void {
    if (!this.bus.wantsCalls) return;
    this.bus.emit({ at: this.clock.wallNow(), downstream, type: 'policy-changed', changes, hash: this.hash });
  }

  #make(plan: DownstreamPlan): Downstream {
    const ports: LanePorts = {
      ...this.#shared,
      judge: this.#judges.for(plan),
      judgeSeen: (outcome) => judgeReport(ports.judge, outcome, { wallNow: () => this.clock.wallNow() }),
      spoken: new Spoken(),
    };
    return new Downstream(plan, ports, this.#modes.saidOf(plan.name));
  }

  #diagnosed(facts: AlertFacts): AlertFacts {
    const { findings, wish } = diagnose(facts);
    const { mode = 'enforce' } = this.downstreams.get(facts.downstream) ?? {};
    // What our own limits would have prevented is no reason to tighten them: they were not in force.
    const isOurs = mode !== 'enforce' && findings[0]?.hypothesis === 'policy-too-wide';
    const suggestion = wish === undefined || isOurs ? undefined : this.#suggestions.for(facts.downstream, wish);
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
