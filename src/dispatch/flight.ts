import { formatDuration } from '../base/duration.ts';
import { HEARD } from '../base/inside.ts';
import type { Verdict } from '../base/verdict.ts';
import type { Cost } from '../base/words.ts';
import { ActiveCall, ActiveLease, type CallHost } from './active.ts';
import type { FlightHost } from './flight-host.ts';
import { abandoned, ranTooLong } from './refusals.ts';
import { type Request, readCost } from './request.ts';
import type { AbortOwner } from './signals.ts';
import { tell } from './telling.ts';

/** A lease that names no end, in a lane that names none, ends after this. */
const LEASE_MS = 600_000;

/** A lease given back without a word: nothing is known, so nothing is learned but that it is over. */
export const NOTHING_SAID: Verdict = { outcome: 'success' };
const SUCCEEDED: Verdict = { outcome: 'success' };

/** The second half of a call's life: from its permit to its outcome. */
export class Flight implements CallHost, AbortOwner<ActiveCall> {
  readonly #lane: FlightHost;
  /** What a nested call has ended with, and the call around it: if that ends with the same, it is one answer. */
  readonly #passedOn = new WeakMap<object, ActiveCall>();

  constructor(lane: FlightHost) {
    this.#lane = lane;
  }

  get name(): string {
    return this.#lane.name;
  }

  get account(): string | undefined {
    return this.#lane.account;
  }

  /** Takes the permits and, where places are counted, the place; from here on the call is in flight. `waitedMs`: undefined for a call that was never in line. */
  begin(
    request: Request,
    costs: readonly number[],
    id: number,
    waitedMs: number | undefined,
    now: number,
    isLease: boolean,
  ): ActiveCall {
    const { gate, running, ports, tally, incidents, name } = this.#lane;
    gate.take(costs, now);
    if (request.runId !== undefined || request.tool !== undefined) ports.top.started(request, costs, now);
    const call = new (isLease ? ActiveLease : ActiveCall)(
      this,
      request,
      costs,
      gate.plan,
      id,
      waitedMs ?? 0,
      now,
      incidents.epoch,
      gate.startCount,
    );
    const maxRunMs =
      gate.plan.maxRunMs ?? (isLease && request.deadlineAt === Number.POSITIVE_INFINITY ? LEASE_MS : undefined);
    call.dueAt = maxRunMs === undefined ? request.deadlineAt : Math.min(request.deadlineAt, now + maxRunMs);
    running.start(call, now);
    if (request.signals.length > 0) for (const signal of request.signals) ports.signals.add(signal, this, call);
    tally.started++;
    const { bus, recent } = ports;
    recent.started(now);
    if (waitedMs !== undefined) recent.served(waitedMs);
    call.isTold = waitedMs === undefined ? bus.wantsCalls : bus.wantsWaits;
    if (call.isTold) tell(ports, name, 'started', id, request, waitedMs ?? 0);
    if (gate.caps.until > now) this.#lane.heard.startedOne();
    return call;
  }

  /** Runs `fn` so that its caller can be answered before it settles. */
  runBounded(call: ActiveCall, fn: (call: ActiveCall) => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (call.state !== 'running') return resolve(this.neverRan(call));
      call.reject = reject;
      const done = (value: unknown): void => {
        this.settle(call, value, false);
        resolve(value);
      };
      const failed = (error: unknown): void => {
        this.settle(call, error, true);
        reject(error);
      };
      let result: unknown;
      try {
        const { by } = this.#lane.ports.watching;
        result = by === undefined ? fn(call) : by.run(call, fn);
      } catch (error) {
        failed(error);
        return;
      }
      // Not `Promise.resolve`: that reads a property of a promise, which may throw.
      new Promise((settle) => settle(result)).then(done, failed);
    });
  }

  /** A listener of its start has ended the call: `fn` does not run, the place comes back. */
  neverRan(call: ActiveCall): Promise<never> {
    const { reason } = call;
    this.settle(call, reason, true);
    return Promise.reject(reason);
  }

  /** The outcome is here, on time or late: the place comes back and the lane learns from it. */
  settle(call: ActiveCall, value: unknown, thrown: boolean, seen?: Verdict): void {
    if (call.state === 'settled') return;
    const { running, ports, tally, gate, line, name, isShut, follower } = this.#lane;
    const { request } = call;
    const isTold = call.state === 'running' && (call.isTold || ports.bus.isHeard);
    const isTimed = isTold || gate.plan.maxConcurrent !== undefined || follower !== undefined;
    const now = isTimed ? this.#lane.readNow() : call.startedAt;
    const hadPlace = running.settle(call, now);
    if (request.signals.length > 0) for (const signal of request.signals) ports.signals.remove(signal, this, call);
    const verdict = seen ?? (value === HEARD ? SUCCEEDED : ports.judge(value, thrown));
    tally.settled[verdict.outcome]++;
    if (isTold) {
      const { outcome, server } = verdict;
      const told = { outcome, callMs: now - call.startedAt, retryAfterMs: server?.retryAfterMs };
      tell(ports, name, 'settled', call.id, request, call.waitedMs, told);
    }
    if (verdict !== NOTHING_SAID && (verdict.outcome === 'success' || !this.#isPassedOn(value, call))) {
      const { heard, incidents } = this.#lane;
      if (verdict.outcome === 'throttled') heard.witness.throttled(call.startNumber);
      if (verdict.quotas !== undefined) heard.hear(verdict.quotas, call, verdict.outcome);
      if (follower === undefined) incidents.learn(verdict, call.epoch, request.tool, request.runId);
      else follower.learn(verdict, call);
    }
    if (follower !== undefined) follower.ended(call, hadPlace, now);
    if (line.length > 0 || call.dueAt !== Number.POSITIVE_INFINITY || isShut)
      this.#lane.pump(isTimed ? now : undefined);
  }

  /** Acts on the calls whose end, or whose grace, has come. */
  endOverdue(now: number): void {
    const { running } = this.#lane;
    for (let call = running.nextDue(now); call !== undefined; call = running.nextDue(now)) {
      if (call.state === 'running') this.#end(call, now);
      else this.#orphan(call, now);
    }
  }

  /** The wall clock has stepped forward: deadlines come sooner. */
  tighten(now: number, wallNow: number): void {
    const { running } = this.#lane;
    for (const call of running) {
      const { request } = call;
      if (request.deadlineWall === Number.POSITIVE_INFINITY || call.state !== 'running') continue;
      request.deadlineAt = Math.min(request.deadlineAt, now + (request.deadlineWall - wallNow));
      call.dueAt = Math.min(call.dueAt, request.deadlineAt);
    }
    running.rekey();
  }

  /** The lane is given up: callers that can be answered are, whatever their calls do. */
  abandon(now: number): void {
    const { ports, name, running, gate } = this.#lane;
    for (const call of [...running]) {
      if (call.state !== 'running') continue;
      const { request, waitedMs } = call;
      const error = abandoned({ downstream: name, request, wallNow: ports.clock.wallNow(), waitedMs });
      running.overstay(call, now + gate.plan.leaseGraceMs, now);
      if (ports.bus.wantsCalls) {
        const told = { code: error.code, outcome: 'cancelled', callMs: now - call.startedAt } as const;
        tell(ports, name, 'settled', call.id, request, waitedMs, told);
      }
      call.end(error);
    }
  }

  aborted(calls: ReadonlySet<ActiveCall>, signal: AbortSignal): () => void {
    const { ports, tally, running, gate, name } = this.#lane;
    const now = ports.clock.now();
    for (const call of calls) {
      if (call.state !== 'running') continue;
      tally.aborted++;
      running.overstay(call, now + gate.plan.leaseGraceMs, now);
      if (ports.bus.wantsCalls) {
        const callMs = now - call.startedAt;
        tell(ports, name, 'aborted', call.id, call.request, call.waitedMs, { started: true, callMs });
      }
      call.end(signal.reason);
    }
    return this.#lane.pump;
  }

  release(call: ActiveCall, outcome: unknown, hasOutcome: boolean): void {
    if (call.state === 'settled') return;
    const isKnown = !hasOutcome || outcome === HEARD;
    this.settle(
      call,
      outcome,
      false,
      isKnown ? (hasOutcome ? undefined : NOTHING_SAID) : this.#lane.ports.judgeSeen(outcome),
    );
  }

  hear(call: ActiveCall, answer: unknown): boolean {
    const { outcome, quotas } = this.#lane.ports.judge(answer, false);
    if (outcome !== 'success') return false;
    if (quotas !== undefined && call.state !== 'settled') this.#lane.heard.hear(quotas, call, outcome);
    return true;
  }

  nested<T>(outer: ActiveCall, fn: () => T): Promise<Awaited<T>> {
    const noted = async (): Promise<unknown> => {
      try {
        return this.#passOn(await fn(), outer);
      } catch (error) {
        throw this.#passOn(error, outer);
      }
    };
    return this.#lane.nest(outer, noted) as Promise<Awaited<T>>;
  }

  known(call: ActiveCall, answer: unknown): void {
    this.#passOn(answer, call);
  }

  #passOn(value: unknown, outer: ActiveCall): unknown {
    if (typeof value === 'object' && value !== null) this.#passedOn.set(value, outer);
    return value;
  }

  /** Whether a call ends with what one nested in it has ended with: the lane has learned from that already. */
  #isPassedOn(value: unknown, call: ActiveCall): boolean {
    return typeof value === 'object' && value !== null && this.#passedOn.get(value) === call;
  }

  correct(call: ActiveCall, actual: Cost): void {
    const { gate, ports } = this.#lane;
    const named = readCost(call.plan, actual, 'settle');
    if (call.state === 'settled' && call.hasSettledLate) return;
    if (call.state === 'settled') call.hasSettledLate = true;
    const now = ports.clock.now();
    const costs = [...call.costs];
    let worsenedMs = 0;
    for (const [i, { unit, windowMs }] of call.plan.quotas.entries()) {
      const permits = named.get(unit);
      if (permits === undefined || permits === costs[i]) continue;
      const index = gate.plan.quotas.findIndex((quota) => quota.unit === unit && quota.windowMs === windowMs);
      const change = permits - costs[i]!;
      gate.correct(index, change, call.startedAt, now);
      costs[i] = permits;
      const msPerPermit = gate.buckets[index]?.msPerPermit ?? 0;
      worsenedMs = Math.max(worsenedMs, (change * msPerPermit) / gate.plan.warm.rateFactor);
    }
    call.costs = costs;
    if (worsenedMs > 0) this.#lane.worsened(worsenedMs);
    this.#lane.pump();
  }

  #end(call: ActiveCall, now: number): void {
    const { ports, running, gate, name } = this.#lane;
    const { request } = call;
    const ranMs = now - call.startedAt;
    const isDeadline = request.deadlineAt <= call.dueAt;
    const facts = {
      downstream: name,
      request,
      wallNow: ports.clock.wallNow(),
      waitedMs: call.waitedMs,
      ranMs,
      isDeadline,
    };
    const error = ranTooLong(facts);
    // Before it is told: a listener that aborts must not end it twice.
    running.overstay(call, now + gate.plan.leaseGraceMs, now);
    if (ports.bus.wantsCalls) {
      const told = { code: error.code, outcome: 'cancelled', callMs: ranMs } as const;
      tell(ports, name, 'settled', call.id, request, call.waitedMs, told);
    }
    call.end(error);
    this.#note('overdue', `call ${call.id} still runs ${isDeadline ? 'after its deadline' : 'after maxRun'}`);
  }

  #orphan(call: ActiveCall, now: number): void {
    const { running, incidents, gate } = this.#lane;
    running.orphan(call, now);
    if (call.host.ghost === undefined) this.#lane.follower?.ended(call, true, now);
    const grace = formatDuration(gate.plan.leaseGraceMs);
    const detail = `A call still had not settled ${grace} after its end (leaseGrace); its place was given back.`;
    this.#note('orphaned', detail);
    incidents.notice('LaneStalled', detail, call.request.tool, call.request.runId);
  }

  #note(type: 'overdue' | 'orphaned', detail: string): void {
    const { ports, name } = this.#lane;
    ports.bus.emit({ at: ports.clock.wallNow(), downstream: name, type, detail });
  }
}
