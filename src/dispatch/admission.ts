import { isAdmissionError } from '../base/errors.ts';
import type { ActiveCall } from './active.ts';
import type { Call, CallContext } from './context.ts';
import { freePlaces, type LaneCore } from './core.ts';
import { missed } from './endings.ts';
import { neverFits, refusalAtEntry } from './entry.ts';
import { type Expectation, expect, expectLast, shown } from './expectation.ts';
import { NESTED_RANK } from './line.ts';
import { recost } from './recost.ts';
import { deadlineMissed, queueFull, type Refusal } from './refusals.ts';
import { costsOf, limitOf, plainRequest, type Request, readRequest } from './request.ts';
import type { Service, ServiceParts } from './service.ts';
import { tell } from './telling.ts';
import { abortAtEntry, refuse, turnAway } from './turn-away.ts';
import { Waiter } from './waiter.ts';

/** `fn` as a lane keeps it; undefined for a lease. */
export type Fn = ((call: Call) => unknown) | undefined;

/** The real clock goes on between a decision and the step that acts on it: a deadline is not missed by that. */
const TURN_MS = 1;

const NO_CONTEXT: CallContext = {};

let wakeOfNext: (waiter: Waiter) => void;
/** One executor for all: a waiter's promise costs no closure of its own. */
function executor(resolve: (waiter: Waiter) => void): void {
  wakeOfNext = resolve;
}

/**
 * The way in. Decision, permit and the call of `fn` are one synchronous step with one reading of the
 * clock; nothing is taken before it. Where nobody waits, that step comes one microtask after the call.
 */
export class Admission {
  /** Set once new calls are refused. */
  closed: Refusal | undefined;
  /** Closed to new calls; those that were made before still run. */
  isDraining = false;
  readonly #core: LaneCore;
  readonly #parts: ServiceParts;
  readonly #service: Service;
  /** The request of a call that says nothing. */
  #plain: Request;
  readonly #onWake = (waiter: Waiter): Promise<unknown> => this.#run(waiter.fn as Fn, waiter.request, waiter);

  constructor(core: LaneCore, parts: ServiceParts, service: Service) {
    this.#core = core;
    this.#parts = parts;
    this.#service = service;
    this.#plain = plainRequest(core.gate.plan, core.lastNow);
  }

  /** Admits a call: runs `fn` now or later, or rejects. Never throws. */
  call(fn: Fn, context: CallContext | undefined, signals: readonly AbortSignal[]): Promise<unknown> {
    const core = this.#core;
    const { plan } = core.gate;
    if (context === undefined && signals.length === 0 && plan.maxWaitMs === undefined) {
      return this.#admit(fn, this.#plain, undefined);
    }
    const now = core.readNow();
    const aborted = context?.signal?.aborted === true ? context.signal : signals.find((signal) => signal.aborted);
    const wallNow = context?.deadline === undefined ? 0 : core.ports.clock.wallNow();
    let request: Request;
    try {
      request = readRequest(plan, context ?? NO_CONTEXT, signals, now, wallNow, this.#plain.costs);
    } catch (error) {
      core.tally.calls++;
      // What is wrong with the context of a call that nobody wants any more does not matter.
      if (aborted !== undefined) return abortAtEntry(core, this.#plain, aborted.reason);
      return isAdmissionError(error) ? turnAway(core, this.#plain, error) : Promise.reject(error);
    }
    if (request.deadlineWall !== Number.POSITIVE_INFINITY) this.#service.stepWall(now, wallNow);
    return this.#admit(fn, request, now);
  }

  /** Admits a request that has been read already, and whose signals have not fired. */
  admit(fn: Fn, request: Request): Promise<unknown> {
    return this.#admit(fn, request, this.#core.readNow());
  }

  /**
   * A nested call runs in its outer call's place, while that holds one, and within its limits; it takes its
   * own permit. Several at a time are not kept apart: one that was made within another would wait for itself.
   */
  nest(outer: ActiveCall, fn: () => unknown): Promise<unknown> {
    const now = this.#core.readNow();
    const { maxWaitMs } = this.#core.gate.plan;
    const maxWaitAt = maxWaitMs === undefined ? Number.POSITIVE_INFINITY : now + maxWaitMs;
    const own = { cost: undefined, costs: this.#plain.costs, onWait: undefined, maxWaitAt };
    const isHeld = outer.state === 'running' || outer.state === 'overdue';
    const place = isHeld ? { rank: NESTED_RANK, needsPlace: false } : {};
    return this.#admit(() => fn(), { ...outer.request, ...own, ...place }, now);
  }

  /** The lane has another policy: waiters that can never fit any more are refused. `isOpen`: nobody stays in line. */
  replanned(now: number, isOpen: boolean): void {
    const { gate, entering } = this.#core;
    this.#plain = plainRequest(gate.plan, now);
    entering.recost(this.#plain.costs);
    if (!isOpen) recost(this.#core, this.#plain.costs, this.#parts.endings, now);
  }

  /** `at` is a reading of this very turn; a call without limits needs none as long as nobody is ahead of it. */
  #admit(fn: Fn, request: Request, at: number | undefined): Promise<unknown> {
    const core = this.#core;
    core.tally.calls++;
    // Nested calls are part of a call that may finish.
    if (this.closed !== undefined && request.rank !== NESTED_RANK) {
      return refuse(core, request, this.closed, core.readNow());
    }
    // What could start at the last reading can start now, unless a hold has come since: then it was read.
    if (at === undefined && this.#canEnter(request, core.lastNow)) return this.#run(fn, request, undefined);
    const now = at ?? core.readNow();
    const aborted = request.signals.length === 0 ? undefined : request.signals.find((signal) => signal.aborted);
    if (aborted !== undefined) return abortAtEntry(core, request, aborted.reason);
    if (request.deadlineAt < now) return refuse(core, request, deadlineMissed('entry'), now);
    const tooLarge = neverFits(core.gate, request.costs);
    if (tooLarge !== undefined) return refuse(core, request, tooLarge, now);
    if (this.#canEnter(request, now)) return this.#run(fn, request, undefined);
    return this.#waitOrRefuse(fn, request, now);
  }

  /** Whether nobody is ahead and everything that a start needs is there. */
  #canEnter(request: Request, now: number): boolean {
    const core = this.#core;
    if (core.line.length > 0 || (request.needsPlace && freePlaces(core) <= 0)) return false;
    return core.entering.hasPermits(request.costs, now);
  }

  #waitOrRefuse(fn: Fn, request: Request, now: number): Promise<unknown> {
    const core = this.#core;
    const { refusal, expected } = refusalAtEntry(core, request, now);
    if (refusal !== undefined) return refuse(core, request, refusal, now, expected ?? expect(core, request, now));
    const { maxQueueDepth } = core.gate.plan;
    const { turns } = this.#parts;
    if (maxQueueDepth !== undefined && request.needsPlace && core.line.length >= maxQueueDepth) {
      if (turns.isOn && turns.mayTry(request, maxQueueDepth, now)) {
        turns.try();
        return this.#wait(fn, request, now, expected);
      }
      const victim = core.line.displaceable(request.rank);
      if (victim === undefined) return refuse(core, request, queueFull(maxQueueDepth), now, expect(core, request, now));
      this.#parts.endings.refuse(victim, queueFull(maxQueueDepth, true), now);
      const promise = this.#wait(fn, request, now, expected);
      // The victim may have been the one that the timer was set for.
      this.#service.pump(now);
      return promise;
    }
    return this.#wait(fn, request, now, expected);
  }

  #wait(fn: Fn, request: Request, now: number, known: Expectation | undefined): Promise<unknown> {
    const core = this.#core;
    const { ports, line } = core;
    const { endings, looks, turns } = this.#parts;
    const isTold = ports.bus.wantsWaits;
    const limit = limitOf(request);
    const isLimited = limit !== Number.POSITIVE_INFINITY;
    const isAsked = isTold || request.onWait !== undefined || isLimited || endings.limited > 0;
    const expected = isAsked ? (known ?? expect(core, request, now)) : undefined;
    const latest = isLimited ? this.#latest(expected!, request, now) : 0;
    const waiter = new Waiter(request, ports.nextCallId(), now, line.leafFor(request), fn);
    // Before anybody is told of it: whoever is may make room for it.
    const promise = this.#gateOf(waiter);
    line.push(waiter);
    endings.watch(waiter);
    if (isLimited) looks.arrived(limit - latest);
    if (expected !== undefined && !expected.isLast && endings.limited > 0) looks.worsen(this.#delayMs(request.costs));
    if (isTold || request.onWait !== undefined) this.#tellQueued(waiter, expected!, isTold, now);
    if (turns.isOn) turns.tend(waiter);
    if (this.#service.next() === waiter) this.#service.pump();
    else if (limit < this.#service.ringsAt) this.#service.rearm(now);
    return promise;
  }

  /** When a call starts at the latest, if nobody comes. */
  #latest(expected: Expectation, request: Request, now: number): number {
    return expected.isLast ? expected.at : expectLast(this.#core, request.costs, now).at;
  }

  /** How much later, at most, those behind it start because of a call of these costs. */
  #delayMs(costs: readonly number[]): number {
    const { plan, buckets } = this.#core.gate;
    let ms = Math.max(plan.minIntervalMs ?? 0, buckets.length === 0 ? plan.warm.spacingMs : 0);
    for (let i = 0; i < costs.length; i++) {
      ms = Math.max(ms, (2 * costs[i]! * buckets[i]!.msPerPermit) / plan.warm.rateFactor);
    }
    return ms;
  }

  #tellQueued(waiter: Waiter, expected: Expectation, isTold: boolean, now: number): void {
    const { ports, name } = this.#core;
    const { request, seq } = waiter;
    const { ms, limitedBy, limit } = shown(this.#core, expected, now);
    const { position } = expected;
    if (isTold) tell(ports, name, 'queued', seq, request, 0, { expectedMs: ms, limitedBy, limit, position });
    if (request.onWait !== undefined) this.#parts.watch.begin(waiter, { position, expectedMs: ms, limitedBy }, now);
  }

  /** The promise that a waiter waits on. Its `then` keeps the caller's async context for `fn`. */
  #gateOf(waiter: Waiter): Promise<unknown> {
    const promise = new Promise<Waiter>(executor);
    waiter.wake = wakeOfNext;
    return promise.then(this.#onWake);
  }

  /** A call's own step, one microtask after it was made or woken. */
  async #run(fn: Fn, request: Request, waiter: Waiter | undefined): Promise<unknown> {
    const core = this.#core;
    let { costs } = waiter ?? request;
    let other: Promise<unknown> | undefined;
    let now: number;
    if (waiter === undefined) {
      const { plan, revision } = core.gate;
      core.entering.add(costs, request.needsPlace);
      await undefined;
      core.entering.remove(costs, request.needsPlace);
      now = core.readNow();
      if (plan !== core.gate.plan) costs = costsOf(core.gate.plan, request.cost);
      // Of a call without limits only what has changed in the lane needs another look.
      const isSure = request === this.#plain && revision === core.gate.revision && this.closed === undefined;
      if (!isSure) other = this.#notNow(fn, request, costs, now);
    } else {
      now = core.readNow();
      other = this.#notYet(waiter, now);
    }
    if (other !== undefined) return other;
    const id = waiter === undefined ? core.ports.nextCallId() : waiter.seq;
    const waitedMs = waiter === undefined ? undefined : now - waiter.since;
    const { flight } = this.#parts;
    const call = flight.begin(request, costs, id, waitedMs, now, fn === undefined);
    if (waiter !== undefined && this.#parts.turns.isOn) this.#parts.turns.take(waiter, call, now);
    // Nothing waits and nothing is set: there is nothing to do for the next one.
    const isIdle = core.line.length === 0 && Math.min(call.dueAt, this.#service.ringsAt) === Number.POSITIVE_INFINITY;
    if (!isIdle) this.#service.pump(now);
    if (fn === undefined) return call.state === 'running' ? call : flight.neverRan(call);
    if (call.dueAt !== Number.POSITIVE_INFINITY || request.signals.length > 0) return flight.runBounded(call, fn);
    const { by } = core.ports.watching;
    let value: unknown;
    try {
      value = await (by === undefined ? fn(call) : by.run(call, fn));
    } catch (error) {
      flight.settle(call, error, true);
      throw error;
    }
    flight.settle(call, value, false);
    return value;
  }

  /** What becomes of a call that was to start at once and cannot: undefined if it can. */
  #notNow(fn: Fn, request: Request, costs: readonly number[], now: number): Promise<unknown> | undefined {
    const core = this.#core;
    const refusal = this.isDraining || request.rank === NESTED_RANK ? undefined : this.closed;
    const aborted = request.signals.length === 0 ? undefined : request.signals.find((signal) => signal.aborted);
    const isLate = now > request.deadlineAt + TURN_MS;
    const hasPlace = !request.needsPlace || freePlaces(core) > 0;
    const mayStart = aborted === undefined && refusal === undefined && !isLate;
    if (mayStart && hasPlace && core.gate.canStart(costs, now)) return undefined;
    // Those that wait were held back for this call: they must not wait for it any longer.
    void Promise.resolve().then(() => this.#service.pump());
    if (aborted !== undefined) return abortAtEntry(core, request, aborted.reason);
    if (refusal !== undefined) return refuse(core, request, refusal, now);
    if (isLate) return refuse(core, request, deadlineMissed('waiting'), now);
    return this.#waitOrRefuse(fn, { ...request, costs }, now);
  }

  /** What becomes of a waiter that was named and cannot start any more: undefined if it can. */
  #notYet(waiter: Waiter, now: number): Promise<unknown> | undefined {
    const { endings, watch } = this.#parts;
    if (waiter.ending === undefined && limitOf(waiter.request) < now - TURN_MS)
      endings.refuse(waiter, missed(waiter), now);
    if (waiter.ending !== undefined) {
      endings.leaveNow(waiter);
      const { instead } = waiter.ending;
      if (instead !== undefined) return instead(waiter);
      return Promise.reject(this.#core.ports.slices.reasonOf(waiter));
    }
    if (this.#service.takesTurn(waiter, now)) {
      this.#core.line.serve(waiter);
      endings.unwatch(waiter);
      if (waiter.request.onWait !== undefined) watch.end(waiter);
      return undefined;
    }
    const promise = this.#gateOf(waiter);
    this.#service.pump();
    return promise;
  }
}
