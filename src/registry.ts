import type { EventBus } from './base/bus.ts';
import { PolicyError } from './base/errors.ts';
import type { DownstreamPlan, PolicyChange, PolicyPlan } from './base/plan.ts';
import { show } from './base/text.ts';
import { Downstream } from './dispatch/downstream.ts';
import type { Lane } from './dispatch/lane.ts';
import type { LanePorts } from './dispatch/ports.ts';
import { Recent } from './dispatch/recent.ts';
import { closed } from './dispatch/refusals.ts';
import { Top } from './dispatch/top.ts';
import { judgeReport } from './feedback/report.ts';
import type { Judges } from './judges.ts';
import { Spoken } from './model/spoken.ts';
import type { Modes } from './modes.ts';
import type { Environment } from './origin.ts';
import { diffDownstream, diffSinks } from './policy/diff.ts';
import { policyHash } from './policy/hash.ts';
import type { DownstreamPolicyInput } from './policy/input.ts';
import { defaultsOf, resolveDownstream, resolvePolicy } from './policy/resolve.ts';
import { Suggestions } from './policy/suggestions.ts';

/** Downstreams that are gone and know something still (a debt, a hold) are remembered, at most so many. */
const MOST_GONE = 10_000;
/** Of those, so many are looked at whenever one more is gone: what knows nothing any more is let go. */
const SWEPT = 8;

/** What all lanes of a dispatcher share. */
export type SharedPorts = Omit<LanePorts, 'judge' | 'judgeSeen' | 'spoken' | 'recent' | 'top'>;

export interface RegistryOptions {
  readonly env: Environment;
  readonly bus: EventBus;
  readonly wallNow: () => number;
  readonly judges: Judges;
  readonly modes: Modes;
}

/** A whole policy that was checked and is ready to be put in force. */
interface Checked {
  readonly plan: PolicyPlan;
  readonly defaults: DownstreamPolicyInput;
  readonly suggestions: Suggestions;
}

/** Which downstreams there are, under which policy; and how one policy takes the place of another. */
export class Registry {
  readonly downstreams = new Map<string, Downstream>();
  /** Gone from the policy: with calls that wait or run still, or with levels and holds for the day they come back. */
  readonly gone = new Map<string, Downstream>();
  /** Unregistered, with calls that still run. Whoever is registered under the name again begins anew. */
  readonly #retired = new Set<Downstream>();
  suggestions: Suggestions;
  /** Of the whole policy that was put in force last: what was registered one by one is not in it. */
  #appliedHash: string;
  readonly #options: RegistryOptions;
  readonly #shared: SharedPorts;
  /** The plan that each downstream is to have: while one policy takes the place of another, some have it yet to come. */
  readonly #wanted = new Map<string, DownstreamPlan>();
  #defaults: DownstreamPolicyInput;
  #alerts: PolicyPlan['alerts'];
  #hash: string | undefined;
  #plans: ReadonlyMap<string, DownstreamPlan> | undefined;

  /** `shared` may use the registry only once it is made. */
  constructor(policy: unknown, plan: PolicyPlan, options: RegistryOptions, shared: SharedPorts) {
    const { env } = options;
    this.#options = options;
    this.#shared = shared;
    this.#defaults = defaultsOf(policy, env);
    this.suggestions = new Suggestions(policy, this.#defaults, env);
    for (const one of plan.downstreams.values()) this.#add(one);
    this.#alerts = plan.alerts;
    this.#hash = this.#appliedHash = plan.hash;
  }

  /** Of the policy as it is now: worked out when somebody asks. */
  get hash(): string {
    this.#hash ??= policyHash(this.#wanted.values());
    return this.#hash;
  }

  /** The plan of each downstream: another map whenever one has changed. */
  get plans(): ReadonlyMap<string, DownstreamPlan> {
    this.#plans ??= new Map(this.#wanted);
    return this.#plans;
  }

  register(name: string, policy: DownstreamPolicyInput): void {
    if (typeof name !== 'string') {
      throw new PolicyError([{ path: 'downstreams', message: `expected a name, found ${show(name)}` }], 'register');
    }
    const { modes, wallNow } = this.#options;
    const plan = modes.planned(resolveDownstream(name, policy, this.#defaults, wallNow()));
    const changes = diffDownstream(name, this.#wanted.get(name), plan);
    this.suggestions.write(name, policy);
    this.#want(plan);
    this.#hash = undefined;
    this.#settle(name);
    this.#tell(name, changes);
  }

  /** Forgets a downstream that there is: waiters are refused, running calls finish. */
  unregister(name: string): void {
    const changes = diffDownstream(name, this.#wanted.get(name), undefined);
    const downstream = this.downstreams.get(name);
    this.#forget(name);
    this.downstreams.delete(name);
    this.suggestions.erase(name);
    this.#hash = undefined;
    if (downstream !== undefined) {
      this.#retired.add(downstream);
      downstream.shut(closed('lane'), true);
      this.rested();
    }
    this.#tell(name, changes);
  }

  /**
   * Puts a whole policy in the place of the one in force, all or nothing. Those that are gone take no new calls;
   * what waits in them still runs, under their last plan.
   *
   * @throws {PolicyError} before anything has changed.
   */
  apply(policy: unknown): PolicyChange[] {
    const { plan, defaults, suggestions } = this.#check(policy);
    const names = new Set([...this.#wanted.keys(), ...plan.downstreams.keys()]);
    const byName = new Map<string, PolicyChange[]>();
    for (const name of names) {
      const changes = diffDownstream(name, this.#wanted.get(name), plan.downstreams.get(name));
      if (changes.length > 0) byName.set(name, changes);
    }
    const ofAlerts = diffSinks(this.#alerts, plan.alerts);
    if (ofAlerts.length > 0) byName.set('', ofAlerts);
    // First what is to be, in one step; then lane by lane. Whoever hears of a refusal on the way may change it again.
    this.#defaults = defaults;
    this.suggestions = suggestions;
    this.#alerts = plan.alerts;
    this.#hash = this.#appliedHash = plan.hash;
    for (const name of byName.keys()) {
      const wanted = plan.downstreams.get(name);
      if (wanted !== undefined) this.#want(wanted);
      else if (name !== '') this.#retire(name);
    }
    for (const name of byName.keys()) {
      if (this.downstreams.has(name)) this.#settle(name);
      else this.#shut(name);
    }
    for (const [name, changes] of byName) this.#tell(name, changes);
    return [...byName.values()].flat();
  }

  /** The modes that were said at run time, of one downstream or of all, take effect. */
  changeModes(only: string | undefined): void {
    for (const [name, downstream] of [...this.downstreams]) {
      if (only !== undefined && name !== only) continue;
      const { mode: from } = downstream;
      downstream.say(this.#options.modes.saidOf(name));
      const { mode: to } = downstream;
      if (from !== to) this.#tell(name, [{ downstream: name, path: 'mode', from, to }]);
    }
  }

  /** Whether it is this policy that was put in force last, as a whole. */
  isInForce(plan: PolicyPlan): boolean {
    return plan.hash === this.#appliedHash && diffSinks(this.#alerts, plan.alerts).length === 0;
  }

  /** A lane that was shut has come to rest: what need not be remembered is let go. */
  rested(): void {
    for (const downstream of this.#retired) if (downstream.isAtRest) this.#retired.delete(downstream);
    this.#sweep();
  }

  *everyDownstream(): IterableIterator<Downstream> {
    yield* this.downstreams.values();
    yield* this.gone.values();
    yield* this.#retired;
  }

  /** All lanes, those of downstreams that are gone too. */
  *lanes(): IterableIterator<Lane> {
    for (const downstream of this.everyDownstream()) yield* downstream.lanes();
  }

  #check(policy: unknown): Checked {
    const { env, judges, wallNow } = this.#options;
    const plan = resolvePolicy(policy, { env, now: wallNow() });
    judges.check(plan);
    const defaults = defaultsOf(policy, env);
    return { plan, defaults, suggestions: new Suggestions(policy, defaults, env) };
  }

  /** From now on calls find the downstream; its lanes get the plan when it settles. */
  #want(plan: DownstreamPlan): void {
    const { name } = plan;
    this.#plan(plan);
    if (this.downstreams.has(name)) return;
    // One that comes back has the level that it left with: gone for a moment must not be worth a second quota.
    const back = this.gone.get(name);
    if (back === undefined) {
      this.#add(plan);
      return;
    }
    this.gone.delete(name);
    this.downstreams.set(name, back);
  }

  #plan(plan: DownstreamPlan): void {
    this.#wanted.set(plan.name, plan);
    this.#plans = undefined;
  }

  #forget(name: string): void {
    this.#wanted.delete(name);
    this.#plans = undefined;
  }

  #add(plan: DownstreamPlan): void {
    this.#plan(plan);
    this.downstreams.set(plan.name, this.#make(plan));
  }

  #retire(name: string): void {
    const downstream = this.downstreams.get(name);
    if (downstream === undefined) return;
    this.#forget(name);
    this.downstreams.delete(name);
    this.gone.set(name, downstream);
  }

  #settle(name: string): void {
    const downstream = this.downstreams.get(name);
    const plan = this.#wanted.get(name);
    if (downstream === undefined || plan === undefined) return;
    if (downstream.isShut) downstream.reopen();
    // What was said of modes while it was gone counts too.
    downstream.say(this.#options.modes.saidOf(name));
    if (downstream.plan === plan) return;
    downstream.ports.judge = this.#options.judges.for(plan);
    downstream.replan(plan);
  }

  #shut(name: string): void {
    const downstream = this.gone.get(name);
    if (downstream?.isShut === false) downstream.shut(closed('lane'), false);
    this.#sweep();
  }

  /** The oldest of those that are gone: one that is kept moves to the end, so that each has its turn. */
  #sweep(): void {
    let left = SWEPT;
    for (const [name, downstream] of this.gone) {
      if (left-- === 0) return;
      this.gone.delete(name);
      const isKept = !downstream.isAtRest || (!downstream.isForgettable && this.gone.size < MOST_GONE);
      if (isKept) this.gone.set(name, downstream);
    }
  }

  #tell(downstream: string, changes: readonly PolicyChange[]): void {
    const { bus, wallNow } = this.#options;
    if (changes.length === 0 || !bus.wantsCalls) return;
    bus.emit({ at: wallNow(), downstream, type: 'policy-changed', changes, hash: this.hash });
  }

  #make(plan: DownstreamPlan): Downstream {
    const { judges, modes, wallNow } = this.#options;
    const ports: LanePorts = {
      ...this.#shared,
      judge: judges.for(plan),
      judgeSeen: (outcome) => judgeReport(ports.judge, outcome, { wallNow }),
      spoken: new Spoken(),
      recent: new Recent(this.#shared.clock.now()),
      top: new Top(plan),
    };
    return new Downstream(plan, ports, modes.saidOf(plan.name));
  }
}
