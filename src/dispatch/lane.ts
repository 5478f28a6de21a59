import type { DownstreamPlan } from '../base/plan.ts';
import type { Verdict } from '../base/verdict.ts';
import { type Mode, PRIORITIES } from '../base/words.ts';
import { Gate } from '../model/gate.ts';
import { forgiveDebts } from '../model/inherit.ts';
import type { ActiveCall } from './active.ts';
import { Admission, type Fn } from './admission.ts';
import type { CallContext } from './context.ts';
import { Endings } from './endings.ts';
import { gatePlan } from './engine.ts';
import { Entering } from './entering.ts';
import { Flight } from './flight.ts';
import type { FlightHost, FlightShadow } from './flight-host.ts';
import { Heard, type HeardHost } from './heard.ts';
import { HoldNews } from './hold-news.ts';
import { type IncidentHost, Incidents } from './incidents.ts';
import { Line, NESTED_RANK } from './line.ts';
import { Looks } from './looks.ts';
import { openPlan, Passage, type PassageHost } from './passage.ts';
import type { LanePorts } from './ports.ts';
import type { Refusal } from './refusals.ts';
import type { Request } from './request.ts';
import { Running } from './running.ts';
import { Service } from './service.ts';
import { type Kept, Shadow } from './shadow.ts';
import { Tally } from './tally.ts';
import { Turns } from './turns.ts';
import type { Waiter } from './waiter.ts';
import { Watch } from './watch.ts';

/** One downstream's line (per account, where accounts are named): its pieces, and what an operator does to it. */
export class Lane implements FlightHost, IncidentHost, HeardHost, PassageHost {
  readonly name: string;
  readonly account: string | undefined;
  readonly ports: LanePorts;
  readonly gate: Gate;
  readonly line: Line;
  readonly entering: Entering;
  readonly running = new Running();
  readonly tally = new Tally();
  readonly incidents: Incidents;
  readonly heard: Heard;
  readonly news: HoldNews;
  /** What the policy says; the gate obeys it where the lane enforces. */
  policy: DownstreamPlan;
  mode: Mode = 'enforce';
  /** What keeps the books while the lane only observes. */
  shadow: Shadow<Lane> | undefined;
  /** Who is told of the calls in flight: the books, or whoever hands out turns. */
  follower: FlightShadow | undefined;
  isGivenUp = false;
  lastNow: number;
  readonly pump = (at?: number): void => this.#pump(at);
  readonly #admission: Admission;
  readonly #service: Service;
  readonly #flight: Flight;
  readonly #endings: Endings;
  readonly #looks: Looks;
  readonly #watch: Watch;
  readonly #passage: Passage;
  readonly #turns: Turns;
  /** Those that waited when it was shut have been refused. */
  #isCleared = false;

  constructor(plan: DownstreamPlan, ports: LanePorts, account?: string) {
    this.name = plan.name;
    this.account = account;
    this.policy = plan;
    this.ports = ports;
    this.lastNow = ports.clock.now();
    const engine = ports.engineFor(plan);
    this.gate = new Gate(gatePlan(plan, engine !== undefined), this.lastNow);
    this.line = new Line(this.gate, ports.top);
    this.entering = new Entering(this.gate);
    this.news = new HoldNews(this);
    this.incidents = new Incidents(this);
    this.heard = new Heard(this);
    this.#flight = new Flight(this);
    this.#endings = new Endings(this, { gone: (waiter) => this.#gone(waiter), pump: this.pump });
    this.#looks = new Looks(this, this.#endings, this.pump);
    this.#watch = new Watch(this);
    this.#turns = new Turns(this, this.#endings, account);
    this.follower = this.#turns.use(engine, plan);
    const parts = {
      flight: this.#flight,
      endings: this.#endings,
      looks: this.#looks,
      watch: this.#watch,
      turns: this.#turns,
    };
    this.#service = new Service(this, parts);
    this.#admission = new Admission(this, parts, this.#service);
    this.#passage = new Passage(this, this.#flight);
  }

  /** Admits a call: runs `fn` now or later, or rejects. Never throws. */
  call(fn: Fn, context: CallContext | undefined, signals: readonly AbortSignal[]): Promise<unknown> {
    return this.#admission.call(fn, context, signals);
  }

  /** Admits a request that was read already. */
  admit(fn: Fn, request: Request): Promise<unknown> {
    return this.#admission.admit(fn, request);
  }

  /** Starts a call at once, in a lane that does not enforce; `problem`: what is wrong with it already. */
  pass(fn: Fn, context: CallContext | undefined, signals: readonly AbortSignal[], problem: unknown): Promise<unknown> {
    return this.#passage.call(fn, context, signals, problem);
  }

  nest(outer: ActiveCall, fn: () => unknown): Promise<unknown> {
    if (this.mode !== 'enforce') return this.#passage.nest(outer, fn);
    return this.#admission.nest(outer, fn);
  }

  /** Holds every start until a monotonic instant, for a reason of the operator's. */
  pause(until: number, reason: string | undefined): void {
    if (this.mode !== 'enforce') {
      this.shadow?.books.pause(until, reason);
      return;
    }
    const now = this.readNow();
    if (!this.gate.hold('operator', until, now)) return;
    this.news.held('operator', until, now, { reason });
    this.held();
  }

  resume(all: boolean): void {
    this.gate.resume(this.readNow(), all);
    if (all) this.incidents.resumed();
    this.news.check();
    this.shadow?.books.resume(all);
    this.#pump();
  }

  /** Learns from an outcome that was seen elsewhere; `startedAt` in epoch milliseconds. */
  report(verdict: Verdict, startedAt: number | undefined): void {
    const { clock } = this.ports;
    const now = this.readNow();
    // Nothing has started yet that will: the clock it was read from is ahead.
    const start = startedAt === undefined ? undefined : { at: Math.min(now, now - (clock.wallNow() - startedAt)) };
    if (verdict.quotas !== undefined) this.heard.hear(verdict.quotas, undefined, verdict.outcome);
    if (this.shadow === undefined) this.incidents.learn(verdict, start);
    else this.shadow.report(verdict, start);
    this.#pump();
  }

  /** The outcome of a call is known better than was reserved for it. */
  correct(call: ActiveCall, actual: Parameters<ActiveCall['settle']>[0]): void {
    this.#flight.correct(call, actual);
  }

  /** Where one looks for who waits and what holds: the books, while the lane only observes. */
  get books(): Lane {
    return this.shadow?.books ?? this;
  }

  /**
   * Goes on in another mode under the same policy. Whoever waits is let go where nobody is held back any more;
   * where the lane enforces again, what has really started counts.
   */
  setMode(mode: Mode, kept: Kept): void {
    if (mode === this.mode) return;
    const now = this.readNow();
    const from = this.mode;
    if (from === 'observe') this.#closeBooks(now);
    if (from === 'off') forgiveDebts(this.gate, now);
    if (mode === 'observe' && !this.isShut) this.#openBooks(kept);
    this.mode = mode;
    this.gate.holds.end(['operator']);
    this.#plan(now);
    if (from === 'enforce') this.#endings.letGo((waiter) => this.#passage.release(waiter));
    if (mode === 'enforce' && this.gate.isHeld(now)) {
      this.news.held(this.gate.holds.cause, this.gate.heldUntil, now, { incidentId: this.incidents.id });
    }
    this.news.check();
    this.#pump();
  }

  /** Goes on under another policy: levels, holds, incidents and calls in flight are kept. */
  replan(plan: DownstreamPlan): void {
    this.policy = plan;
    this.shadow?.books.replan(plan);
    this.#plan(this.readNow());
    this.#looks.lookSoon();
    this.#pump();
  }

  /** Refuses what comes from now on, and with `waiters` what waits already: nested calls only with `all`. */
  shut(refusal: Refusal, waiters: boolean, all = false): void {
    this.#admission.closed = refusal;
    this.#admission.isDraining = !waiters;
    const ranks = [...(all ? [NESTED_RANK] : []), ...(waiters && !this.#isCleared ? PRIORITIES.keys() : [])];
    this.#isCleared ||= waiters;
    const ending = this.#endings.refusing(refusal, this.readNow());
    for (const rank of ranks) this.#endings.end(this.line.members(rank), ending);
    if (this.shadow !== undefined) this.#closeBooks(this.readNow());
    this.#pump();
  }

  /** Takes calls again: its downstream has come back before the last of it was over. */
  reopen(kept: Kept): void {
    this.#admission.closed = undefined;
    this.#admission.isDraining = false;
    this.#isCleared = false;
    if (this.mode === 'observe' && this.shadow === undefined) this.#openBooks(kept);
  }

  /** Refuses those that wait and match; how many. */
  cancel(matches: (request: Request) => boolean, refusal: Refusal): number {
    const count = this.#endings.cancel(matches, this.#endings.refusing(refusal, this.readNow()));
    if (count > 0) this.#pump();
    this.shadow?.books.cancel(matches, refusal);
    return count;
  }

  get isShut(): boolean {
    return this.closed !== undefined;
  }

  get closed(): Refusal | undefined {
    return this.#admission.closed;
  }

  get isDraining(): boolean {
    return this.#admission.isDraining;
  }

  /** Nothing waits, enters or runs. */
  get isAtRest(): boolean {
    return this.line.length === 0 && this.entering.count === 0 && this.running.inFlight === 0;
  }

  /** Gives up what still runs and lets go of every timer. */
  dispose(): void {
    this.isGivenUp = true;
    this.#flight.abandon(this.readNow());
    this.#service.stop();
    this.#turns.stop();
    this.news.stop();
  }

  readNow(): number {
    this.lastNow = this.ports.clock.now();
    return this.lastNow;
  }

  impact(): { waiting: number; inFlight: number; oldestWaitMs: number } {
    const oldest = this.line.oldest();
    const oldestWaitMs = oldest === undefined ? 0 : this.ports.clock.now() - oldest.since;
    return { waiting: this.line.length, inFlight: this.running.inFlight, oldestWaitMs };
  }

  held(): void {
    this.readNow();
    if (this.line.length > 0) this.#looks.lookSoon();
    this.#pump();
  }

  worsened(byMs: number): void {
    if (this.#endings.limited > 0) this.#looks.worsen(byMs);
  }

  /** The gate under the plan that the mode asks for. */
  #plan(now: number): void {
    const isOpen = this.mode !== 'enforce';
    const engine = isOpen ? undefined : this.ports.engineFor(this.policy);
    const turns = this.#turns.use(engine, this.policy);
    this.follower = this.shadow ?? turns;
    this.gate.replan(isOpen ? openPlan(this.policy, this.mode) : gatePlan(this.policy, engine !== undefined), now);
    this.#admission.replanned(now, isOpen);
    this.#turns.recount();
  }

  #openBooks(kept: Kept): void {
    this.shadow = new Shadow(this, this.policy, kept, (plan, ports) => new Lane(plan, ports, this.account));
    this.follower = this.shadow;
  }

  #closeBooks(now: number): void {
    this.shadow?.close(now);
    this.shadow = undefined;
    this.follower = this.#turns.isOn ? this.#turns : undefined;
  }

  #pump(at?: number): void {
    this.#service.pump(at);
    if (!this.isShut || !this.isAtRest) return;
    this.#turns.rest();
    this.ports.rested();
  }

  #gone(waiter: Waiter): boolean {
    if (waiter.request.onWait !== undefined) this.#watch.end(waiter);
    this.#turns.gone(waiter);
    return this.#service.gone(waiter);
  }
}
