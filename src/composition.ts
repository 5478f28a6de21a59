import type { AlertDesk } from './alerts/desk.ts';
import { createAlertDesk } from './alerts/desk.ts';
import { checkArguments, plainName } from './arguments.ts';
import type { AlertFacts } from './base/alert.ts';
import { EventBus } from './base/bus.ts';
import { type Clock, createSystemClock } from './base/clock.ts';
import { type AdmissionError, DispatcherClosed, PolicyError, UnknownDownstream } from './base/errors.ts';
import { fold, nearest } from './base/nearest.ts';
import type { DownstreamPlan, PolicyPlan } from './base/plan.ts';
import type { Snapshot } from './base/snapshot.ts';
import { messageOf, show } from './base/text.ts';
import type { Classifier, Judge } from './base/verdict.ts';
import type { ClosingReport, DispatcherOptions } from './contract.ts';
import { Downstream } from './dispatch/downstream.ts';
import type { Lane } from './dispatch/lane.ts';
import type { LanePorts } from './dispatch/ports.ts';
import { readDownstream } from './dispatch/reading.ts';
import { closed } from './dispatch/refusals.ts';
import { SignalHub } from './dispatch/signals.ts';
import { Slices } from './dispatch/slices.ts';
import { READY_MADE } from './feedback/classifiers.ts';
import { diagnose } from './feedback/diagnosis.ts';
import { createJudge } from './feedback/judge.ts';
import { remembering } from './feedback/remembered.ts';
import { judgeReport } from './feedback/report.ts';
import { Spoken } from './model/spoken.ts';
import { diffDownstream } from './policy/diff.ts';
import { policyHash } from './policy/hash.ts';
import type { DownstreamPolicyInput } from './policy/input.ts';
import { defaultsOf, resolveDownstream, resolvePolicy } from './policy/resolve.ts';
import { Suggestions } from './policy/suggestions.ts';
import { createTelemetry, type Telemetry } from './telemetry/telemetry.ts';
import { VERSION } from './version.ts';

/** Names that an error lists before it says "and so many more". */
const MOST_LISTED = 12;

type Environment = Readonly<Record<string, string | undefined>>;

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
  readonly #shared: Omit<LanePorts, 'judge' | 'judgeSeen' | 'spoken'>;
  #hash: string | undefined;
  #callId = 0;
  #incidentId = 0;

  constructor(policy: unknown, options: DispatcherOptions) {
    checkArguments(policy, options);
    this.#options = options;
    this.#env = options.env ?? processEnvironment();
    const plan = resolvePolicy(policy, { env: this.#env });
    this.#checkClassifiers(plan);
    this.#defaults = defaultsOf(policy, this.#env);
    this.#suggestions = new Suggestions(policy, this.#defaults, this.#env);
    this.clock = options.clock ?? createSystemClock();
    const { clock } = this;
    const random = options.random ?? Math.random;
    this.bus = new EventBus(() => clock.wallNow());
    const instance = random().toString(36).slice(2, 10).padEnd(8, '0');
    this.desk = createAlertDesk({
      clock,
      sinks: options.alertSinks,
      onAlert: options.onAlert,
      emit: (event) => this.bus.emit(event),
      origin: this.#origin(instance),
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
    const plan = resolveDownstream(name, policy, this.#defaults);
    const known = this.downstreams.get(name);
    this.#suggestions.write(name, policy);
    const changes = diffDownstream(name, known?.plan, plan);
    if (known === undefined) this.downstreams.set(name, this.#make(plan));
    else {
      known.ports.judge = this.#judge(plan);
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
      judge: this.#judge(plan),
      judgeSeen: (outcome) => judgeReport(ports.judge, outcome, { wallNow: () => this.clock.wallNow() }),
      spoken: new Spoken(),
    };
    return new Downstream(plan, ports);
  }

  #diagnosed(facts: AlertFacts): AlertFacts {
    const { findings, wish } = diagnose(facts);
    const suggestion = wish === undefined ? undefined : this.#suggestions.for(facts.downstream, wish);
    return { ...facts, findings, ...(suggestion === undefined ? {} : { suggestion }) };
  }

  #judge(plan: DownstreamPlan): Judge {
    const judge = createJudge({
      downstream: plan.name,
      throttleStatuses: plan.throttleStatuses,
      classify: this.#classifier(plan),
      wallNow: () => this.clock.wallNow(),
      onClassifierFailure: (error) => {
        const detail = messageOf(error);
        this.bus.emit({ at: this.clock.wallNow(), downstream: plan.name, type: 'classifier-failed', detail });
      },
    });
    return remembering(judge);
  }

  /** One that was passed, by the name in the policy or else that of the downstream; a ready-made one only where it is named. */
  #classifier(plan: DownstreamPlan): Classifier | undefined {
    const { classify } = this.#options;
    const key = plan.classify ?? plan.name;
    if (classify !== undefined && Object.hasOwn(classify, key)) return classify[key];
    const isNamed = plan.classify !== undefined && Object.hasOwn(READY_MADE, key);
    return isNamed ? READY_MADE[key]?.() : undefined;
  }

  #checkClassifiers(plan: PolicyPlan): void {
    const known = [...Object.keys(this.#options.classify ?? {}), ...Object.keys(READY_MADE)];
    const problems = [...plan.downstreams.values()]
      .filter((one) => one.classify !== undefined && this.#classifier(one) === undefined)
      .map((one) => {
        const expected = `known: ${known.join(', ')}`;
        const near = nearest(one.classify ?? '', known);
        const hint = near === undefined ? '' : `did you mean ${show(near)}? `;
        const message = `unknown classifier ${show(one.classify)} (${hint}${expected})`;
        return { path: `downstreams.${one.name}.classify`, message, found: one.classify, expected };
      });
    const names = [...plan.downstreams.values()].flatMap(({ name, classify = name }) => [name, classify]);
    for (const key of Object.keys(this.#options.classify ?? {})) {
      // Another name may be one that is registered later; one that only its spelling tells apart is not.
      const near = names.find((name) => name !== key && fold(name) === fold(key));
      if (names.includes(key) || near === undefined) continue;
      const message = `no downstream asks for it (did you mean ${show(near)}?)`;
      problems.push({ path: `classify.${key}`, message, found: key, expected: near });
    }
    if (problems.length > 0) throw new PolicyError(problems);
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

  #origin(instance: string): {
    instance: string;
    version: string;
    policyHash: string;
    service?: string;
    environment?: string;
  } {
    const hash = (): string => this.hash;
    const service = this.#options.name ?? this.#env.OTEL_SERVICE_NAME;
    const environment = this.#env.NODE_ENV;
    return {
      instance,
      version: VERSION,
      get policyHash() {
        return hash();
      },
      ...(service === undefined ? {} : { service }),
      ...(environment === undefined ? {} : { environment }),
    };
  }
}

/** Runs where there is no process. */
function processEnvironment(): Environment {
  const { process } = globalThis as { process?: { env?: Environment } };
  return process?.env ?? {};
}
