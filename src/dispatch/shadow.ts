import type { AlertFacts, AlertName } from '../base/alert.ts';
import { EventBus } from '../base/bus.ts';
import type { Clock } from '../base/clock.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import type { Verdict } from '../base/verdict.ts';
import type { CallStart } from '../model/incident-row.ts';
import { forgiveDebts, inherit, inheritStarts } from '../model/inherit.ts';
import { Spoken } from '../model/spoken.ts';
import type { ActiveCall } from './active.ts';
import type { Fn } from './admission.ts';
import type { LaneCore } from './core.ts';
import { refusalAtEntry } from './entry.ts';
import { expect, shown } from './expectation.ts';
import { NOTHING_SAID } from './flight.ts';
import type { FlightShadow } from './flight-host.ts';
import { Ghost, type GhostHost } from './ghost.ts';
import { observe } from './observed.ts';
import type { LanePorts } from './ports.ts';
import type { RaiseHost } from './raise.ts';
import { Recent } from './recent.ts';
import type { Refusal } from './refusals.ts';
import { limitOf, type Request } from './request.ts';
import { tell } from './telling.ts';
import { Top } from './top.ts';

/**
 * Ghosts that may wait in one downstream's books. Where far more comes than a quota allows, calls without a
 * limit would queue for ever: one that finds more waiting is told what it would have waited at least, and not kept.
 */
export const MOST_GHOSTS = 10_000;

/** Alerts about what the server has answered; all others are raised by the lane itself, of what really runs. */
const OF_ANSWERS: ReadonlySet<AlertName> = new Set(['QuotaModelWrong', 'QuotaExhausted']);

/** What the books of one downstream share, all its lanes together. */
export interface Kept {
  /** Ghosts that wait. */
  count: number;
  /** Who would use it most; absent while nothing is observed. */
  top?: Top | undefined;
}

/** The lane in which calls start at once. */
export interface ObservedLane extends LaneCore, RaiseHost {
  readonly heard: LaneCore['heard'];
}

/** A lane that keeps the books as if it enforced. */
export interface Books extends LaneCore {
  readonly admit: (fn: Fn, request: Request) => Promise<unknown>;
  readonly pump: () => void;
  readonly correct: (call: ActiveCall, actual: Parameters<ActiveCall['settle']>[0]) => void;
  readonly replan: (plan: DownstreamPlan) => void;
  readonly cancel: (matches: (request: Request) => boolean, refusal: Refusal) => number;
  readonly dispose: () => void;
}

/**
 * Beside a lane that only observes: the same lane once more, in which a ghost of each call goes through the
 * same admission, line, turns, deadlines, holds and places. It holds back nothing and tells what it would have done.
 */
export class Shadow<B extends Books = Books> implements FlightShadow, GhostHost {
  readonly books: B;
  readonly clock: Clock;
  isOver = false;
  readonly #lane: ObservedLane;
  readonly #kept: Kept;
  /** Starts of the lane before it was observed. */
  readonly #startsBefore: number;

  /** `make`: a fresh lane. It begins with what `lane` knows. */
  constructor(
    lane: ObservedLane,
    plan: DownstreamPlan,
    kept: Kept,
    make: (plan: DownstreamPlan, ports: LanePorts) => B,
  ) {
    this.#lane = lane;
    this.#kept = kept;
    this.#startsBefore = lane.gate.startCount;
    this.clock = idle(lane.ports.clock);
    let callId = 0;
    this.books = make(plan, {
      ...lane.ports,
      clock: this.clock,
      bus: new EventBus(() => lane.ports.clock.wallNow()),
      judge: () => NOTHING_SAID,
      // What is only observed must take no turns of a limiter: the books reckon themselves.
      engineFor: () => undefined,
      raise: (facts) => this.#raise(facts),
      spoken: new Spoken(),
      // What really starts is counted by the lane itself.
      recent: new Recent(lane.ports.clock.now()),
      top: (kept.top ??= new Top(plan)),
      nextCallId: () => ++callId,
      rested: () => undefined,
    });
    if (lane.gate.startCount === 0 && lane.gate.holds.until === 0) return;
    const now = this.clock.now();
    const { gate, incidents, running } = this.books;
    inheritStarts(gate, lane.gate);
    inherit(gate, lane.gate, now);
    gate.replan(plan, now);
    incidents.takeOver(lane.incidents);
    running.places = lane.running.places;
  }

  get hasPlaces(): boolean {
    return this.books.gate.plan.maxConcurrent !== undefined;
  }

  /** The lane enforces again, or is off: it knows now what its books have learned. */
  close(now: number): void {
    const { gate, incidents } = this.#lane;
    forgiveDebts(gate, now);
    inherit(gate, this.books.gate, now);
    incidents.takeOver(this.books.incidents);
    this.end();
  }

  /** Nothing is kept or told any more. */
  end(): void {
    this.isOver = true;
    this.#kept.count -= this.#waiting;
    this.#waiting = 0;
    this.books.dispose();
  }

  /** How many of the downstream's ghosts wait here. */
  #waiting = 0;

  admit(ghost: Ghost): void {
    if (this.isOver) return;
    const now = this.books.readNow();
    const { maxWaitMs } = this.books.gate.plan;
    const isLater = ghost.outer !== undefined && maxWaitMs !== undefined;
    const request = isLater ? { ...ghost.request, maxWaitAt: now + maxWaitMs } : ghost.request;
    if (this.#kept.count >= MOST_GHOSTS && this.#wouldWait(request, now)) {
      const { ms } = shown(this.books, expect(this.books, request, now), now);
      ghost.tell(() => this.wouldStart(ghost, ms + ghost.waitedBeforeMs, ms + ghost.waitedBeforeMs));
      ghost.drop();
      return;
    }
    this.#waiting++;
    this.#kept.count++;
    void this.books.admit(ghost.starts, request).then(undefined, ghost.fails);
  }

  left(): void {
    if (this.isOver) return;
    this.#waiting--;
    this.#kept.count--;
  }

  wouldStart(ghost: Ghost, waitedMs: number, expectedMs?: number): void {
    const { ports, name } = this.#lane;
    if (this.isOver || !ports.bus.wantsWaits) return;
    tell(ports, name, 'would-start', ghost.id!, ghost.request, waitedMs, { expectedMs });
  }

  wouldRefuse(ghost: Ghost, error: Parameters<GhostHost['wouldRefuse']>[1]): void {
    const { ports, name } = this.#lane;
    if (this.isOver || !ports.bus.wantsWaits) return;
    const { code, expectedWaitMs, limitedBy, retryAfterMs } = error;
    const told = { code, expectedMs: expectedWaitMs, limitedBy, retryAfterMs };
    tell(ports, name, 'would-refuse', ghost.id!, ghost.request, error.waitedMs + ghost.waitedBeforeMs, told);
  }

  /** A call was answered: the books learn from it as the lane itself would have. */
  learn(verdict: Verdict, call: ActiveCall): void {
    const { startedAt, request } = call;
    const since = this.#lane.gate.startCount - call.startNumber;
    const startNumber = Math.max(0, this.books.gate.startCount - since);
    this.#learn(verdict, { at: startedAt }, { startNumber, startedAt }, request);
  }

  /** An outcome that was seen elsewhere. */
  report(verdict: Verdict, start: CallStart): void {
    this.#learn(verdict, start, undefined, undefined);
    this.books.pump();
  }

  ended(call: ActiveCall, hadPlace: boolean, now: number): void {
    const { ghost } = call.host;
    if (ghost instanceof Ghost) {
      ghost.ended(now);
      return;
    }
    if (!hadPlace || !call.request.needsPlace || call.startNumber > this.#startsBefore) return;
    this.books.running.places--;
    this.books.pump();
  }

  #learn(
    verdict: Verdict,
    start: CallStart,
    answered: Parameters<LaneCore['heard']['hear']>[1],
    by: Pick<Request, 'tool' | 'runId'> | undefined,
  ): void {
    const { tally, ports } = this.#lane;
    if (verdict.outcome === 'throttled') {
      tally.throttled++;
      tally.lastThrottledAt = ports.clock.wallNow();
    }
    if (verdict.quotas !== undefined) this.books.heard.hear(verdict.quotas, answered, verdict.outcome);
    this.books.incidents.learn(verdict, start, by?.tool, by?.runId);
  }

  /** Whether a call without a limit would get in line behind others: then it would stay there, and the line grow. */
  #wouldWait(request: Request, now: number): boolean {
    const { line, gate } = this.books;
    if (line.length === 0 || limitOf(request) !== Number.POSITIVE_INFINITY) return false;
    const { maxQueueDepth } = gate.plan;
    if (maxQueueDepth !== undefined && line.length >= maxQueueDepth) return false;
    return refusalAtEntry(this.books, request, now).refusal === undefined;
  }

  /** What was seen is what has really started; nothing was held back for it. */
  #raise(facts: AlertFacts): void {
    if (!OF_ANSWERS.has(facts.name)) return;
    const lane = this.#lane;
    const { ports, heard } = lane;
    ports.raise({
      ...facts,
      action: { kind: 'none' },
      impact: { ...lane.impact(), refused: 0, tools: facts.impact.tools },
      observed: observe(lane, 0, ports.clock.now()),
      ...(facts.evidence === undefined ? {} : { evidence: heard.witness.evidence(facts.server) }),
      ...ports.bus.trace(),
    });
  }
}

/** What only keeps books keeps no process alive. */
function idle(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    wallNow: () => clock.wallNow(),
    setTimer: (delayMs, fire) => clock.setTimer(delayMs, fire, { keepAlive: false }),
  };
}
