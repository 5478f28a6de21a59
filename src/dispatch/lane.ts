import type { DownstreamPlan } from '../base/plan.ts';
import type { Verdict } from '../base/verdict.ts';
import { PRIORITIES } from '../base/words.ts';
import { Gate } from '../model/gate.ts';
import type { ActiveCall } from './active.ts';
import { Admission, type Fn } from './admission.ts';
import type { CallContext } from './context.ts';
import { isPaused } from './core.ts';
import { Endings } from './endings.ts';
import { Entering } from './entering.ts';
import { Flight, type FlightHost } from './flight.ts';
import { Heard, type HeardHost } from './heard.ts';
import { HoldNews } from './hold-news.ts';
import { type IncidentHost, Incidents } from './incidents.ts';
import { Line, NESTED_RANK } from './line.ts';
import { Looks } from './looks.ts';
import type { LanePorts } from './ports.ts';
import type { Refusal } from './refusals.ts';
import type { Request } from './request.ts';
import { Running } from './running.ts';
import { Service } from './service.ts';
import { Tally } from './tally.ts';
import type { Waiter } from './waiter.ts';
import { Watch } from './watch.ts';

/** One downstream's line (per account, where accounts are named): its pieces, and what an operator does to it. */
export class Lane implements FlightHost, IncidentHost, HeardHost {
  readonly name: string;
  readonly ports: LanePorts;
  readonly gate: Gate;
  readonly line: Line;
  readonly entering: Entering;
  readonly running = new Running();
  readonly tally = new Tally();
  readonly incidents: Incidents;
  readonly heard: Heard;
  readonly news: HoldNews;
  lastNow: number;
  readonly pump = (at?: number): void => this.#pump(at);
  readonly #admission: Admission;
  readonly #service: Service;
  readonly #flight: Flight;
  readonly #endings: Endings;
  readonly #looks: Looks;
  readonly #watch: Watch;
  /** Those that waited when it was shut have been refused. */
  #isCleared = false;

  constructor(plan: DownstreamPlan, ports: LanePorts) {
    this.name = plan.name;
    this.ports = ports;
    this.lastNow = ports.clock.now();
    this.gate = new Gate(plan, this.lastNow);
    this.line = new Line(this.gate, ports.top);
    this.entering = new Entering(this.gate);
    this.news = new HoldNews(this);
    this.incidents = new Incidents(this);
    this.heard = new Heard(this);
    this.#flight = new Flight(this);
    this.#endings = new Endings(this, { gone: (waiter) => this.#gone(waiter), pump: this.pump });
    this.#looks = new Looks(this, this.#endings, this.pump);
    this.#watch = new Watch(this);
    const parts = { flight: this.#flight, endings: this.#endings, looks: this.#looks, watch: this.#watch };
    this.#service = new Service(this, parts);
    this.#admission = new Admission(this, parts, this.#service);
  }

  /** Admits a call: runs `fn` now or later, or rejects. Never throws. */
  call(fn: Fn, context: CallContext | undefined, signals: readonly AbortSignal[]): Promise<unknown> {
    return this.#admission.call(fn, context, signals);
  }

  nest(outer: ActiveCall, fn: () => unknown): Promise<unknown> {
    return this.#admission.nest(outer, fn);
  }

  /** Holds every start until a monotonic instant, for a reason of the operator's. */
  pause(until: number, reason: string | undefined): void {
    const now = this.readNow();
    if (!this.gate.hold('operator', until, now)) return;
    this.news.held('operator', until, now, { reason });
    this.held();
  }

  resume(all: boolean): void {
    this.gate.resume(this.readNow(), all);
    if (all) this.incidents.resumed();
    this.news.check();
    this.#pump();
  }

  /** Learns from an outcome that was seen elsewhere; `startedAt` in epoch milliseconds. */
  report(verdict: Verdict, startedAt: number | undefined): void {
    const { clock } = this.ports;
    const now = this.readNow();
    // Nothing has started yet that will: the clock it was read from is ahead.
    const start = startedAt === undefined ? undefined : { at: Math.min(now, now - (clock.wallNow() - startedAt)) };
    if (verdict.quotas !== undefined) this.heard.hear(verdict.quotas, undefined, verdict.outcome);
    this.incidents.learn(verdict, start);
    this.#pump();
  }

  /** Goes on under another policy: levels, holds, incidents and calls in flight are kept. */
  replan(plan: DownstreamPlan): void {
    const now = this.readNow();
    this.gate.replan(plan, now);
    this.#admission.replanned(now);
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
    this.#pump();
  }

  /** Takes calls again: its downstream has come back before the last of it was over. */
  reopen(): void {
    this.#admission.closed = undefined;
    this.#admission.isDraining = false;
    this.#isCleared = false;
  }

  /** Refuses those that wait and match; how many. */
  cancel(matches: (request: Request) => boolean, refusal: Refusal): number {
    const matching: Waiter[] = [];
    this.line.each((waiter) => {
      if (matches(waiter.request)) matching.push(waiter);
    });
    const count = this.#endings.end(matching, this.#endings.refusing(refusal, this.readNow()));
    if (count > 0) this.#pump();
    return count;
  }

  get isShut(): boolean {
    return this.#admission.closed !== undefined;
  }

  /** Nothing waits, enters or runs. */
  get isAtRest(): boolean {
    return this.line.length === 0 && this.entering.count === 0 && this.running.inFlight === 0;
  }

  /** Knows nothing that a fresh lane would not: full buckets, nobody waiting or unsettled, no hold, no row of incidents. */
  get isForgettable(): boolean {
    const now = this.readNow();
    const { gate, incidents, running } = this;
    const lane = gate.time.at(now);
    const isFull = gate.buckets.every((bucket) => bucket.tat <= lane) && !gate.time.isWarm(now);
    const isRested = now >= gate.lastStartAt + (gate.plan.minIntervalMs ?? 0);
    const isQuiet =
      !gate.isHeld(now) && !gate.isLedgerInForce(now) && now >= Math.max(gate.caps.until, gate.remembersUntil);
    const isCalm = isRested && isQuiet && incidents.isCalm;
    return isFull && isCalm && this.isAtRest && running.orphaned === 0;
  }

  /** Gives up what still runs and lets go of every timer. */
  dispose(): void {
    this.#flight.abandon(this.readNow());
    this.#service.stop();
    this.news.stop();
  }

  readNow(): number {
    this.lastNow = this.ports.clock.now();
    return this.lastNow;
  }

  isPaused(now: number): boolean {
    return isPaused(this.gate, now);
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

  #pump(at?: number): void {
    this.#service.pump(at);
    if (this.isShut && this.isAtRest) this.ports.rested();
  }

  #gone(waiter: Waiter): boolean {
    if (waiter.request.onWait !== undefined) this.#watch.end(waiter);
    return this.#service.gone(waiter);
  }
}
