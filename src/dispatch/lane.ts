import { DUE_MS, LONGEST_TIMER_MS } from '../base/clock.ts';
import { type AdmissionError, isAdmissionError } from '../base/errors.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import type { Verdict } from '../base/verdict.ts';
import { Gate } from '../model/gate.ts';
import type { Outlook } from '../model/projection.ts';
import type { ActiveCall } from './active.ts';
import { Alarm } from './alarm.ts';
import type { Call, CallContext } from './context.ts';
import { freePlaces, isPaused } from './core.ts';
import { Endings } from './endings.ts';
import { Entering } from './entering.ts';
import { refusalAtEntry } from './entry.ts';
import { type Expectation, expect, expectLast, shown } from './expectation.ts';
import { Flight, type FlightHost } from './flight.ts';
import { type IncidentHost, Incidents } from './incidents.ts';
import { Line, NESTED_RANK } from './line.ts';
import { Looks } from './looks.ts';
import type { LanePorts } from './ports.ts';
import { costTooLarge, deadlineMissed, laneStalled, queueFull, type Refusal } from './refusals.ts';
import { costsOf, limitOf, plainRequest, type Request, readRequest } from './request.ts';
import { Running } from './running.ts';
import { Tally } from './tally.ts';
import { tell } from './telling.ts';
import { Waiter } from './waiter.ts';
import { Watch } from './watch.ts';

/** `fn` as a lane keeps it; undefined for a lease. */
export type Fn = ((call: Call) => unknown) | undefined;

/** The real clock goes on between a decision and the step that acts on it: a deadline is not missed by that. */
const TURN_MS = 1;
/** Waiters with deadlines see a step of the wall clock within this. */
const WALL_CHECK_MS = 1_000;

let wakeOfNext: (waiter: Waiter) => void;
/** One executor for all: a waiter's promise costs no closure of its own. */
function executor(resolve: (waiter: Waiter) => void): void {
  wakeOfNext = resolve;
}

/**
 * One downstream's line (per account, where accounts are named). Decision, permit and the call of `fn`
 * are one synchronous step with one reading of the clock. A waiter whose turn it is gets its promise
 * resolved and takes its own step in its own async context; until it has, nobody else is named.
 */
export class Lane implements FlightHost, IncidentHost {
  readonly name: string;
  readonly ports: LanePorts;
  readonly gate: Gate;
  readonly line: Line;
  readonly entering: Entering;
  readonly running = new Running();
  readonly tally = new Tally();
  readonly incidents: Incidents;
  readonly pump = (): void => this.#pump();
  readonly afterAbort = (): void => this.#pump();
  readonly #flight: Flight;
  readonly #endings: Endings;
  readonly #looks: Looks;
  readonly #watch: Watch;
  readonly #alarm: Alarm;
  readonly #onWake = (waiter: Waiter): Promise<unknown> => this.#run(waiter.fn as Fn, waiter.request, waiter);
  /** The waiter whose turn was announced and who has not taken it yet. */
  #named: Waiter | undefined;
  #closed: Refusal | undefined;
  /** Closed to new calls; those that were made before still run. */
  #isDraining = false;
  #plain: Request;
  /** The last reading of the clock: what could start then can start now, unless a hold has come since. */
  #lastNow: number;
  #wallOffset = Number.NEGATIVE_INFINITY;
  #stallTold = Number.NEGATIVE_INFINITY;

  constructor(plan: DownstreamPlan, ports: LanePorts) {
    this.name = plan.name;
    this.ports = ports;
    this.#lastNow = ports.clock.now();
    this.gate = new Gate(plan, this.#lastNow);
    this.line = new Line(this.gate);
    this.entering = new Entering(this.gate);
    this.incidents = new Incidents(this);
    this.#flight = new Flight(this);
    this.#endings = new Endings(this, (waiter) => this.#gone(waiter), this.afterAbort);
    this.#looks = new Looks(this, this.#endings, this.pump);
    this.#watch = new Watch(this);
    this.#alarm = new Alarm(ports.clock, () => this.#ring());
    this.#plain = plainRequest(plan, this.#lastNow);
  }

  /** Admits a call: runs `fn` now or later, or rejects. Never throws. */
  call(fn: Fn, context: CallContext | undefined, signals: readonly AbortSignal[]): Promise<unknown> {
    if (context === undefined && signals.length === 0 && this.gate.plan.maxWaitMs === undefined) {
      return this.#admit(fn, this.#plain, undefined);
    }
    const now = this.#now();
    const aborted =
      context?.signal?.aborted === true ? context.signal : signals.find((signal) => signal.aborted);
    try {
      // What is wrong with the context of a call that nobody wants any more does not matter.
      const request = readRequest(this.gate.plan, context ?? {}, signals, this.ports.clock, now);
      if (aborted !== undefined) return this.#abortedAtEntry(request, aborted.reason);
      if (request.deadlineWall !== Number.POSITIVE_INFINITY) this.#stepWall(now);
      return this.#admit(fn, request, now);
    } catch (error) {
      if (aborted !== undefined) return this.#abortedAtEntry(this.#plain, aborted.reason);
      if (!isAdmissionError(error)) return Promise.reject(error);
      return this.#turnAway(this.#plain, error);
    }
  }

  /** A nested call runs in its outer call's place and within its limits; it takes its own permit. */
  nest(outer: ActiveCall, fn: () => unknown): Promise<unknown> {
    const { request } = outer;
    const costs = this.#plain.costs;
    const nested = {
      ...request,
      cost: undefined,
      costs,
      rank: NESTED_RANK,
      onWait: undefined,
      needsPlace: false,
    };
    const aborted = request.signals.find((signal) => signal.aborted);
    if (aborted !== undefined) return this.#abortedAtEntry(nested, aborted.reason);
    return this.#admit(() => fn(), nested, this.#now());
  }

  /** Holds every start for some time, for a reason of the operator's. */
  pause(until: number, reason: string | undefined): void {
    const now = this.#now();
    if (!this.gate.hold('operator', until, now)) return;
    this.incidents.announce('operator', until, now, reason);
    this.held(now);
  }

  resume(all: boolean): void {
    this.gate.resume(this.#now(), all);
    this.incidents.ended();
    this.#pump();
  }

  /** Learns from an outcome that was seen elsewhere; `startedAt` in epoch milliseconds. */
  report(verdict: Verdict, startedAt: number | undefined): void {
    const now = this.#now();
    const at = startedAt === undefined ? undefined : now - (this.ports.clock.wallNow() - startedAt);
    this.incidents.learn(verdict, at === undefined ? undefined : this.incidents.epochAt(at));
    this.#pump();
  }

  /** Goes on under another policy: levels, holds, incidents and calls in flight are kept. */
  replan(plan: DownstreamPlan): void {
    const now = this.#now();
    this.gate.replan(plan, now);
    this.#plain = plainRequest(plan, now);
    for (const waiter of [...this.line]) {
      waiter.costs = costsOf(plan, waiter.request.cost);
      const refusal = this.#neverFits(waiter.costs);
      if (refusal !== undefined) this.#endings.refuse(waiter, refusal, now);
    }
    this.line.recount();
    this.#looks.lookSoon();
    this.#pump();
  }

  /** Refuses what comes from now on, and with `waiters` what waits already. */
  shut(refusal: Refusal, waiters: boolean): void {
    this.#closed = refusal;
    this.#isDraining = !waiters;
    if (waiters) for (const waiter of [...this.line]) this.#endings.refuse(waiter, refusal, this.#now());
    this.#pump();
  }

  get isShut(): boolean {
    return this.#closed !== undefined;
  }

  /** Nothing waits, enters or runs. */
  get isAtRest(): boolean {
    return this.line.length === 0 && this.entering.count === 0 && this.running.inFlight === 0;
  }

  /** Knows nothing that a fresh lane would not: full buckets, nobody waiting or unsettled, no hold, no row of incidents. */
  get isForgettable(): boolean {
    const now = this.#now();
    const lane = this.gate.time.at(now);
    const isFull = this.gate.buckets.every((bucket) => bucket.tat <= lane) && !this.gate.isWarm(now);
    return (
      isFull &&
      this.isAtRest &&
      this.running.orphaned === 0 &&
      !this.gate.holds.isHeld(now) &&
      this.incidents.inARow === 0
    );
  }

  /** Lets go of every timer. */
  dispose(): void {
    this.#alarm.clear();
    this.incidents.close();
  }

  isPaused(now: number): boolean {
    return isPaused(this.gate, now);
  }

  impact(): { waiting: number; inFlight: number; oldestWaitMs: number } {
    const oldest = this.line.oldest();
    const oldestWaitMs = oldest === undefined ? 0 : this.ports.clock.now() - oldest.since;
    return { waiting: this.line.length, inFlight: this.running.inFlight, oldestWaitMs };
  }

  held(now: number): void {
    this.#lastNow = now;
    if (this.line.length > 0) this.#looks.lookSoon();
    this.#pump();
  }

  worsened(byMs: number): void {
    if (this.#endings.limited > 0) this.#looks.worsen(byMs);
  }

  #now(): number {
    this.#lastNow = this.ports.clock.now();
    return this.#lastNow;
  }

  #admit(fn: Fn, request: Request, at: number | undefined): Promise<unknown> {
    this.tally.calls++;
    if (this.#closed !== undefined) return this.#refuse(request, this.#closed, at ?? this.#now());
    const isPlain = at === undefined;
    if (isPlain && this.#canEnter(request, this.#lastNow)) return this.#run(fn, request, undefined);
    const now = at ?? this.#now();
    if (request.deadlineAt < now) return this.#refuse(request, deadlineMissed('entry'), now);
    const tooLarge = this.#neverFits(request.costs);
    if (tooLarge !== undefined) return this.#refuse(request, tooLarge, now);
    if (this.#canEnter(request, now)) return this.#run(fn, request, undefined);
    return this.#waitOrRefuse(fn, request, now);
  }

  /** Whether nobody is ahead and everything that a start needs is there. */
  #canEnter(request: Request, now: number): boolean {
    if (this.line.length > 0 || (request.needsPlace && freePlaces(this) <= 0)) return false;
    return this.entering.hasPermits(request.costs, now);
  }

  #neverFits(costs: readonly number[]): Refusal | undefined {
    for (let i = 0; i < costs.length; i++) {
      const bucket = this.gate.buckets[i]!;
      if (costs[i]! <= bucket.largest) continue;
      return costTooLarge(costs[i]!, bucket.largest, bucket.plan.text, this.gate.plan.workers);
    }
    return undefined;
  }

  #waitOrRefuse(fn: Fn, request: Request, now: number): Promise<unknown> {
    const { refusal, expected } = refusalAtEntry(this, request, now);
    if (refusal !== undefined)
      return this.#refuse(request, refusal, now, expected ?? expect(this, request, now));
    const { maxQueueDepth } = this.gate.plan;
    if (maxQueueDepth !== undefined && request.needsPlace && this.line.length >= maxQueueDepth) {
      const victim = this.line.displaceable(request.rank);
      if (victim === undefined)
        return this.#refuse(request, queueFull(maxQueueDepth), now, expect(this, request, now));
      this.#endings.refuse(victim, queueFull(maxQueueDepth, true), now);
    }
    return this.#wait(fn, request, now, expected);
  }

  #wait(fn: Fn, request: Request, now: number, known?: Expectation): Promise<unknown> {
    const { ports, line } = this;
    const isTold = ports.bus.wantsWaits;
    const isLimited = limitOf(request) !== Number.POSITIVE_INFINITY;
    const isAsked = isTold || request.onWait !== undefined || isLimited || this.#endings.limited > 0;
    const expected = isAsked ? (known ?? expect(this, request, now)) : undefined;
    const slackMs = isLimited
      ? limitOf(request) - this.#latest(expected!, request, now)
      : Number.POSITIVE_INFINITY;
    const waiter = new Waiter(request, request.costs, ports.nextCallId(), now, line.leafFor(request), fn);
    line.push(waiter);
    this.#endings.watch(waiter);
    if (isLimited) this.#looks.arrived(slackMs);
    if (expected !== undefined && !expected.isLast) this.worsened(this.#costMs(request.costs));
    if (isTold || request.onWait !== undefined) this.#tellQueued(waiter, expected!, isTold, now);
    const promise = this.#gateOf(waiter);
    if (line.next() === waiter) this.#pump();
    else if (limitOf(request) < this.#alarm.at) this.#rearm(now);
    return promise;
  }

  /** When a call starts at the latest, if nobody comes. */
  #latest(expected: Expectation, request: Request, now: number): number {
    return expected.isLast ? expected.at : expectLast(this, request.costs, now).at;
  }

  /** How much later those behind it start because of a call of these costs. */
  #costMs(costs: readonly number[]): number {
    const { plan, buckets } = this.gate;
    let ms = Math.max(plan.minIntervalMs ?? 0, buckets.length === 0 ? plan.warm.spacingMs : 0);
    for (let i = 0; i < costs.length; i++)
      ms = Math.max(ms, (2 * costs[i]! * buckets[i]!.msPerPermit) / plan.warm.rateFactor);
    return ms;
  }

  #tellQueued(waiter: Waiter, expected: Expectation, isTold: boolean, now: number): void {
    const { ms, limitedBy, limit } = shown(this, expected, now);
    const { position } = expected;
    if (isTold) {
      tell(this.ports, this.name, 'queued', waiter.seq, waiter.request, 0, {
        expectedMs: ms,
        limitedBy,
        limit,
        position,
      });
    }
    if (waiter.request.onWait !== undefined)
      this.#watch.begin(waiter, { position, expectedMs: ms, limitedBy }, now);
  }

  /** The promise that a waiter waits on. Its `then` keeps the caller's async context for `fn`. */
  #gateOf(waiter: Waiter): Promise<unknown> {
    const promise = new Promise<Waiter>(executor);
    waiter.wake = wakeOfNext;
    return promise.then(this.#onWake);
  }

  /** A call's own step: decision, permit and `fn`, one microtask after it was made or woken. */
  async #run(fn: Fn, request: Request, waiter: Waiter | undefined): Promise<unknown> {
    let { costs } = request;
    if (waiter === undefined) {
      const { plan } = this.gate;
      const places = request.needsPlace ? 1 : 0;
      this.entering.add(costs, places);
      await undefined;
      this.entering.remove(costs, places);
      if (plan !== this.gate.plan) costs = costsOf(this.gate.plan, request.cost);
    }
    const now = this.#now();
    const other = waiter === undefined ? this.#notNow(fn, request, costs, now) : this.#notYet(waiter, now);
    if (other !== undefined) return other;
    const id = waiter?.seq ?? this.ports.nextCallId();
    const call = this.#flight.begin(
      request,
      waiter?.costs ?? costs,
      id,
      waiter === undefined ? 0 : now - waiter.since,
      now,
      fn === undefined,
    );
    if (this.line.length > 0 || call.dueAt < this.#alarm.at) this.#pump();
    if (fn === undefined) return call;
    if (call.dueAt !== Number.POSITIVE_INFINITY || request.signals.length > 0)
      return this.#flight.runBounded(call, fn);
    let value: unknown;
    try {
      value = await fn(call);
    } catch (error) {
      this.#flight.settle(call, error, true);
      throw error;
    }
    this.#flight.settle(call, value, false);
    return value;
  }

  /** What becomes of a call that was to start at once and cannot: undefined if it can. */
  #notNow(fn: Fn, request: Request, costs: readonly number[], now: number): Promise<unknown> | undefined {
    const aborted = request.signals.find((signal) => signal.aborted);
    const isLate = now > request.deadlineAt + TURN_MS;
    const canStart = (!request.needsPlace || freePlaces(this) > 0) && this.gate.canStart(costs, now);
    const refusal = this.#isDraining ? undefined : this.#closed;
    if (aborted === undefined && !isLate && canStart && refusal === undefined) return undefined;
    // Those that wait were held back for this call: they must not wait for it any longer.
    void Promise.resolve().then(this.pump);
    if (aborted !== undefined) return this.#abortedAtEntry(request, aborted.reason);
    if (refusal !== undefined) return this.#refuse(request, refusal, now);
    if (isLate) return this.#refuse(request, deadlineMissed('waiting'), now);
    return this.#waitOrRefuse(fn, { ...request, costs }, now);
  }

  /** What becomes of a waiter that was named and cannot start any more: undefined if it can. */
  #notYet(waiter: Waiter, now: number): Promise<unknown> | undefined {
    if (waiter.ending === undefined && limitOf(waiter.request) < now - TURN_MS)
      this.#endings.expire(now - TURN_MS, now);
    if (waiter.ending !== undefined) return Promise.reject(waiter.ending(waiter));
    this.#named = undefined;
    if (this.line.next() === waiter && this.#canServe(waiter, now)) {
      this.line.serve(waiter);
      this.#endings.unwatch(waiter);
      this.#watch.end(waiter);
      return undefined;
    }
    const promise = this.#gateOf(waiter);
    this.#pump();
    return promise;
  }

  #canServe(waiter: Waiter, now: number): boolean {
    if (waiter.request.needsPlace && freePlaces(this) <= 0) return false;
    return this.gate.canStart(waiter.costs, now);
  }

  /** Names the waiter whose turn it is, if it can start; otherwise sets the alarm for what comes next. */
  #pump(): void {
    if (this.#named !== undefined || this.entering.count > 0) return;
    const now = this.#now();
    this.#endings.expire(now - DUE_MS, now);
    for (let next = this.line.next(); next !== undefined; next = this.line.next()) {
      if (this.#canServe(next, now)) {
        this.#named = next;
        next.wake?.(next);
        return;
      }
      const before = this.line.length;
      this.#endings.expire(now + DUE_MS, now);
      if (this.line.length === before) break;
    }
    this.#rearm(now);
    if (this.#closed !== undefined && this.isAtRest) this.ports.rested();
  }

  #rearm(now: number): void {
    const { line, running, gate } = this;
    let at = Math.min(running.dueAt, this.#looks.dueAt);
    const next = line.next();
    if (next !== undefined) {
      const start =
        next.request.needsPlace && freePlaces(this) <= 0 ? this.#stallAt() : gate.dueAt(next.costs, now);
      at = Math.min(at, start, this.#endings.dueAt, this.#watch.dueAt, now + LONGEST_TIMER_MS);
      if (this.#endings.limited > 0) at = Math.min(at, now + WALL_CHECK_MS);
    }
    this.#alarm.set(at, now);
  }

  #ring(): void {
    const now = this.#now();
    this.#stepWall(now);
    this.#flight.endOverdue(now);
    this.#looks.lookIfDue();
    this.#watch.tick(now);
    this.#endStall(now);
    this.#pump();
  }

  /** When the lane counts as stalled, unless something moves: every place held, nothing settled, somebody waiting. */
  #stallAt(): number {
    const { lastMoveAt } = this.running;
    const isTold = this.#stallTold === lastMoveAt;
    if (isTold && this.line.length <= this.#endings.limited) return Number.POSITIVE_INFINITY;
    return lastMoveAt + this.gate.plan.leaseGraceMs;
  }

  #endStall(now: number): void {
    const { running, line, gate } = this;
    if (line.length === 0 || freePlaces(this) > 0 || this.#stallAt() > now + DUE_MS) return;
    if (this.#stallTold !== running.lastMoveAt) {
      this.#stallTold = running.lastMoveAt;
      const places = gate.plan.maxConcurrent;
      this.incidents.notice(
        'LaneStalled',
        `All ${places} places are held, no call has settled for the whole lease grace, and ${line.length} calls wait.`,
      );
    }
    for (const waiter of [...line]) {
      if (waiter.request.needsPlace && limitOf(waiter.request) === Number.POSITIVE_INFINITY) {
        this.#endings.refuse(waiter, laneStalled, now);
      }
    }
  }

  /** A wall clock that has stepped forward brings deadlines nearer; one that has stepped back changes nothing. */
  #stepWall(now: number): void {
    const wallNow = this.ports.clock.wallNow();
    const offset = wallNow - now;
    const hasStepped = offset > this.#wallOffset + 1;
    if (hasStepped || offset < this.#wallOffset) this.#wallOffset = offset;
    if (!hasStepped) return;
    for (const { request } of this.line) {
      request.deadlineAt = Math.min(request.deadlineAt, now + (request.deadlineWall - wallNow));
    }
    this.#endings.rekey();
    this.#flight.tighten(now, wallNow);
    if (this.#endings.limited > 0) this.#looks.lookSoon();
  }

  /** A waiter has left; true if it was named: it hears of its ending when it takes its turn. */
  #gone(waiter: Waiter): boolean {
    this.#watch.end(waiter);
    this.incidents.touch(waiter.request.tool);
    if (this.#named !== waiter) return false;
    this.#named = undefined;
    return true;
  }

  #refuse(request: Request, refusal: Refusal, now: number, outlook?: Outlook | Expectation): Promise<never> {
    const told = outlook !== undefined && 'position' in outlook ? shown(this, outlook, now) : undefined;
    const facts = {
      downstream: this.name,
      request,
      wallNow: this.ports.clock.wallNow(),
      waitedMs: 0,
      expectedMs: told?.ms,
      affordMs: limitOf(request) - now,
      limitedBy: told?.limitedBy,
      limit: told?.limit,
    };
    this.incidents.touch(request.tool);
    return this.#turnAway(request, refusal.make(facts), told?.limit);
  }

  #turnAway(request: Request, error: AdmissionError, limit?: string): Promise<never> {
    this.tally.refuse(error.code);
    if (this.ports.bus.wantsWaits) {
      const { code, expectedWaitMs, limitedBy, retryAfterMs } = error;
      const told = { code, expectedMs: expectedWaitMs, limitedBy, limit, retryAfterMs };
      tell(this.ports, this.name, 'refused', this.ports.nextCallId(), request, error.waitedMs, told);
    }
    return Promise.reject(error);
  }

  #abortedAtEntry(request: Request, reason: unknown): Promise<never> {
    this.tally.aborted++;
    if (this.ports.bus.wantsWaits) {
      tell(this.ports, this.name, 'aborted', this.ports.nextCallId(), request, 0, { started: false });
    }
    return Promise.reject(reason);
  }
}
