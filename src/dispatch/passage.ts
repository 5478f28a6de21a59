import { isAdmissionError } from '../base/errors.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import type { Cost, Mode } from '../base/words.ts';
import type { ActiveCall, CallHost } from './active.ts';
import type { Fn } from './admission.ts';
import type { CallContext } from './context.ts';
import type { LaneCore } from './core.ts';
import type { Flight } from './flight.ts';
import { Ghost } from './ghost.ts';
import { NESTED_RANK } from './line.ts';
import type { Refusal } from './refusals.ts';
import { costsOf, type Request, readRequest } from './request.ts';
import type { Shadow } from './shadow.ts';
import { abortAtEntry, refuse } from './turn-away.ts';
import type { Waiter } from './waiter.ts';

/** What a passage asks of its lane. */
export interface PassageHost extends LaneCore {
  readonly shadow: Shadow | undefined;
  /** The policy's own plan. */
  readonly policy: DownstreamPlan;
  readonly pump: (at?: number) => void;
  /** Why new calls are refused, if they are. */
  readonly closed: Refusal | undefined;
  /** Calls that were made before it was closed still run. */
  readonly isDraining: boolean;
  /** Nobody waits for its calls any more: none starts. */
  readonly isGivenUp: boolean;
}

const FIELDS = ['deadline', 'signal', 'priority', 'cost', 'tool', 'runId', 'idempotent'] as const;

/**
 * The plan under which a lane counts what it does not hold back: the quotas stay, for the history of starts
 * and for what an alert has to say, and no limit of the policy binds.
 */
export function openPlan(plan: DownstreamPlan, mode: Mode): DownstreamPlan {
  const {
    maxConcurrent: _,
    minIntervalMs: _i,
    maxQueueDepth: _d,
    maxWaitMs: _w,
    maxRunMs: _r,
    engine: _e,
    ...rest
  } = plan;
  // Whoever has switched it off wants to hear of a 429, and of nothing that comes before one.
  return { ...rest, unlimited: true, ...(mode === 'off' ? { earlyAlerts: false } : {}) };
}

/**
 * The way through a lane that does not enforce: every call starts one microtask after it was made. Only the
 * caller's own word still counts: a signal, and a deadline that has not passed before the start.
 */
export class Passage {
  readonly #lane: PassageHost;
  readonly #flight: Flight;

  constructor(lane: PassageHost, flight: Flight) {
    this.#lane = lane;
    this.#flight = flight;
  }

  /** Starts a call. `problem`: what is wrong with it already; what else is wrong with its context is left out. */
  call(fn: Fn, context: CallContext | undefined, signals: readonly AbortSignal[], problem: unknown): Promise<unknown> {
    const lane = this.#lane;
    const now = lane.readNow();
    lane.tally.calls++;
    let wrong = problem;
    let request: Request;
    const read = (fields: CallContext): Request =>
      readRequest(lane.policy, fields, signals, now, lane.ports.clock.wallNow());
    try {
      request = read(context ?? {});
    } catch (error) {
      wrong ??= error;
      request = read(soundOf(context, read));
    }
    if (lane.closed !== undefined) return refuse(lane, request, lane.closed, now);
    const aborted = abortedOf(request);
    if (aborted !== undefined) return abortAtEntry(lane, request, aborted.reason);
    const { shadow } = lane;
    if (shadow === undefined) return this.#run(fn, request, undefined);
    const ghost = new Ghost(shadow, { ...request, onWait: undefined }, now);
    const promise = this.#run(fn, request, ghost);
    if (wrong === undefined) ghost.enter();
    else ghost.refuse(isAdmissionError(wrong) ? wrong.code : 'INVALID_CALL');
    return promise;
  }

  /** A nested call starts at once too; its ghost when it would have been made. */
  nest(outer: ActiveCall, fn: () => unknown): Promise<unknown> {
    const lane = this.#lane;
    const { shadow, policy } = lane;
    const now = lane.readNow();
    lane.tally.calls++;
    const isHeld = outer.state === 'running' || outer.state === 'overdue';
    const place = isHeld ? { rank: NESTED_RANK, needsPlace: false } : {};
    const request = {
      ...outer.request,
      cost: undefined,
      costs: costsOf(policy, undefined),
      onWait: undefined,
      ...place,
    };
    const aborted = abortedOf(request);
    if (aborted !== undefined) return abortAtEntry(lane, request, aborted.reason);
    const around = outer.host.ghost;
    if (shadow === undefined || !(around instanceof Ghost)) return this.#run(() => fn(), request, undefined);
    const ghost = new Ghost(shadow, { ...request, ...limitsOf(around.request) }, now, 0, around);
    const promise = this.#run(() => fn(), request, ghost);
    ghost.enter();
    return promise;
  }

  /** A waiter is let go: it starts now, and goes on waiting in the books. */
  release(waiter: Waiter): Promise<unknown> {
    const { shadow } = this.#lane;
    const { request, since, fn } = waiter;
    const now = this.#lane.readNow();
    const ghost = shadow && new Ghost(shadow, { ...request, costs: waiter.costs, onWait: undefined }, now, now - since);
    const promise = this.#run(fn as Fn, request, ghost, waiter);
    ghost?.enter();
    return promise;
  }

  async #run(fn: Fn, made: Request, ghost: Ghost | undefined, waiter?: Waiter): Promise<unknown> {
    const lane = this.#lane;
    if (waiter === undefined) await undefined;
    const now = lane.readNow();
    const request = boundOnlyAhead(made, now);
    const isExempt = lane.isDraining || waiter !== undefined || request.rank === NESTED_RANK;
    const refusal = isExempt && !lane.isGivenUp ? undefined : lane.closed;
    const aborted = abortedOf(request);
    if (aborted !== undefined) return abortAtEntry(lane, request, aborted.reason, waiter);
    if (refusal !== undefined) return refuse(lane, request, refusal, now, undefined, waiter);
    const { plan } = lane.gate;
    const costs = request.costs.length === plan.quotas.length ? request.costs : costsOf(plan, request.cost);
    const id = waiter?.seq ?? lane.ports.nextCallId();
    const call = this.#flight.begin(request, costs, id, waiter && now - waiter.since, now, fn === undefined);
    if (ghost !== undefined) {
      call.host = new Haunted(this.#flight, ghost, lane);
      ghost.began(call);
    }
    lane.pump(now);
    if (fn === undefined) return call.state === 'running' ? call : this.#flight.neverRan(call);
    return this.#flight.runBounded(call, fn);
  }
}

/** What an observed call asks of its lane is asked of the books too. */
class Haunted implements CallHost {
  readonly name: string;
  readonly account: string | undefined;
  readonly ghost: Ghost;
  readonly nested: CallHost['nested'];
  readonly release: CallHost['release'];
  readonly hear: CallHost['hear'];
  readonly known: CallHost['known'];
  readonly #flight: Flight;
  readonly #lane: PassageHost;

  constructor(flight: Flight, ghost: Ghost, lane: PassageHost) {
    this.name = flight.name;
    this.account = flight.account;
    this.ghost = ghost;
    this.nested = (outer, fn) => flight.nested(outer, fn);
    this.hear = (call, answer) => flight.hear(call, answer);
    this.known = (call, answer) => flight.known(call, answer);
    this.release = (call, outcome, hasOutcome) => flight.release(call, outcome, hasOutcome);
    this.#flight = flight;
    this.#lane = lane;
  }

  correct(call: ActiveCall, actual: Cost): void {
    const isOver = call.state === 'settled' && call.hasSettledLate;
    this.#flight.correct(call, actual);
    const { ghost } = this;
    const books = this.#lane.shadow?.books;
    if (isOver || books === undefined) return;
    ghost.when(this.#lane.readNow(), () => {
      // Whether it counts was decided when the call itself was corrected.
      ghost.call!.hasSettledLate = false;
      books.correct(ghost.call!, actual);
    });
  }
}

function abortedOf({ signals }: Request): AbortSignal | undefined {
  return signals.length === 0 ? undefined : signals.find((signal) => signal.aborted);
}

/** A deadline bounds the run; one that has passed before it does not keep the call from running. */
function boundOnlyAhead(request: Request, now: number): Request {
  const never = Number.POSITIVE_INFINITY;
  if (request.deadlineAt > now) return request;
  return { ...request, deadlineAt: never, deadlineWall: never };
}

function limitsOf({ deadlineAt, deadlineWall, maxWaitAt }: Request): Partial<Request> {
  return { deadlineAt, deadlineWall, maxWaitAt };
}

/** The fields of a context that are as they should be. */
function soundOf(context: CallContext | undefined, read: (fields: CallContext) => unknown): CallContext {
  const sound: Record<string, unknown> = {};
  for (const field of FIELDS) {
    try {
      const value: unknown = context?.[field];
      read({ [field]: value } as CallContext);
      sound[field] = value;
    } catch {}
  }
  return sound as CallContext;
}
