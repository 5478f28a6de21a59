import { DUE_MS, LONGEST_TIMER_MS } from '../base/clock.ts';
import { Alarm } from './alarm.ts';
import { freePlaces, type LaneCore } from './core.ts';
import type { Endings } from './endings.ts';
import type { Flight } from './flight.ts';
import type { Looks } from './looks.ts';
import { laneStalled } from './refusals.ts';
import { limitOf } from './request.ts';
import type { Turns } from './turns.ts';
import type { Waiter } from './waiter.ts';
import type { Watch } from './watch.ts';

/** Waiters with deadlines see a step of the wall clock within this. */
const WALL_CHECK_MS = 1_000;

/** Wall clocks count whole milliseconds: what is less than two of them is no step. */
const STEP_MS = 2;

/** The pieces of a lane that are due at some instant. */
export interface ServiceParts {
  readonly flight: Flight;
  readonly endings: Endings;
  readonly looks: Looks;
  readonly watch: Watch;
  readonly turns: Turns;
}

/**
 * Whose turn it is, and the lane's one timer. A waiter whose turn it is gets its promise resolved and
 * takes its own step in its own async context; until it has, nobody else is named.
 */
export class Service {
  readonly #core: LaneCore;
  readonly #parts: ServiceParts;
  readonly #alarm: Alarm;
  /** The waiter whose turn was announced and who has not taken it yet. */
  #named: Waiter | undefined;
  #isStopped = false;
  #wallOffset = Number.NEGATIVE_INFINITY;
  /** The stall that was told: what had moved last when it began. */
  #stallTold = Number.NEGATIVE_INFINITY;

  constructor(core: LaneCore, parts: ServiceParts) {
    this.#core = core;
    this.#parts = parts;
    this.#alarm = new Alarm(core.ports.clock, () => this.#ring());
  }

  /** When the timer rings next. */
  get ringsAt(): number {
    return this.#alarm.at;
  }

  /** Names the waiter whose turn it is, if it can start; otherwise sets the timer for what comes next. `at`: a reading of this turn. */
  pump(at?: number): void {
    const { line, entering } = this.#core;
    if (this.#named !== undefined || entering.count > 0) return;
    const now = at ?? this.#core.readNow();
    const { endings } = this.#parts;
    let isPast = endings.limited === 0 || endings.expire(now - DUE_MS, now);
    for (let next = this.next(); isPast && next !== undefined; next = this.next()) {
      if (next.ending !== undefined) {
        // Those that are let go leave in goes of their own, each of which starts calls: no call pulls others along.
        if (next.ending.instead !== undefined) break;
        // Of very many that are leaving the rest follow in goes of their own, and pump again.
        if (!endings.clear(now, () => this.next())) return;
        continue;
      }
      if (this.canServe(next, now)) {
        this.#named = next;
        next.wake?.(next);
        return;
      }
      const before = line.length;
      // A start exactly at the limit is in time: only now is it clear that there is none.
      isPast = endings.expire(now + DUE_MS, now);
      if (line.length === before) break;
    }
    this.rearm(now);
  }

  /** The waiter that is served next. */
  next(): Waiter | undefined {
    const { turns } = this.#parts;
    return this.#core.line.next(freePlaces(this.#core) > 0 && (!turns.isOn || turns.hasPlaced));
  }

  canServe(waiter: Waiter, now: number): boolean {
    if (waiter.request.needsPlace && freePlaces(this.#core) <= 0) return false;
    const { gate } = this.#core;
    const { turns } = this.#parts;
    if (!turns.isOn) return gate.canStart(waiter.costs, now);
    const at = Math.max(turns.readyAt(waiter), gate.dueAt(waiter.costs, now));
    return !gate.isHeld(now) && at <= now + DUE_MS;
  }

  /** The named waiter takes its step; true if it may still start. */
  takesTurn(waiter: Waiter, now: number): boolean {
    this.#named = undefined;
    return this.next() === waiter && this.canServe(waiter, now);
  }

  /** A waiter has left; true if it was named: it hears of its ending when it takes its step. */
  gone(waiter: Waiter): boolean {
    if (this.#named !== waiter) return false;
    this.#named = undefined;
    return true;
  }

  /** Sets the timer for the earliest of what is due. */
  rearm(now: number): void {
    const { running, gate } = this.#core;
    const { looks, endings, watch, turns } = this.#parts;
    if (turns.isOn) turns.tend();
    let at = Math.min(running.dueAt, looks.dueAt);
    const next = this.next();
    if (next !== undefined && next.ending?.instead === undefined) {
      const hasPlace = !next.request.needsPlace || freePlaces(this.#core) > 0;
      const turnAt = turns.isOn ? turns.readyAt(next) : now;
      const start = hasPlace ? Math.max(gate.dueAt(next.costs, now), turnAt) : this.#stallAt();
      at = Math.min(at, start, endings.dueAt, watch.dueAt, now + LONGEST_TIMER_MS);
      if (endings.limited > 0) at = Math.min(at, now + WALL_CHECK_MS);
    }
    if (!this.#isStopped) this.#alarm.set(at, now);
  }

  /** A wall clock that has stepped forward brings deadlines nearer; one that has stepped back changes nothing. */
  stepWall(now: number, wallNow: number): void {
    const { line, ports } = this.#core;
    const { endings, flight, looks } = this.#parts;
    const offset = wallNow - now;
    // A pause between the two readings looks like a step; read the other way round it looks like none.
    const hasStepped = offset > this.#wallOffset + STEP_MS && wallNow - ports.clock.now() > this.#wallOffset + STEP_MS;
    if (hasStepped || offset < this.#wallOffset) this.#wallOffset = offset;
    if (!hasStepped) return;
    for (const { request } of line) {
      request.deadlineAt = Math.min(request.deadlineAt, now + (request.deadlineWall - wallNow));
    }
    endings.rekey();
    flight.tighten(now, wallNow);
    if (endings.limited > 0) looks.lookSoon();
  }

  /** Sets no timer any more: nobody waits, and callers of what still runs have their answer. */
  stop(): void {
    this.#isStopped = true;
    this.#alarm.clear();
  }

  #ring(): void {
    const now = this.#core.readNow();
    const { flight, looks, watch } = this.#parts;
    this.stepWall(now, this.#core.ports.clock.wallNow());
    flight.endOverdue(now);
    looks.lookIfDue();
    watch.tick(now);
    this.#endStall(now);
    this.pump();
  }

  /** When the lane counts as stalled, unless something moves: every place held, nothing settled, somebody waiting. */
  #stallAt(): number {
    const { running, line, gate } = this.#core;
    const isTold = this.#stallTold === running.lastMoveAt;
    if (isTold && line.length <= this.#parts.endings.limited) return Number.POSITIVE_INFINITY;
    return running.lastMoveAt + gate.plan.leaseGraceMs;
  }

  #endStall(now: number): void {
    const { running, line, gate, incidents } = this.#core;
    if (line.length === 0 || freePlaces(this.#core) > 0 || this.#stallAt() > now + DUE_MS) return;
    if (this.#stallTold !== running.lastMoveAt) {
      this.#stallTold = running.lastMoveAt;
      const detail = `All ${gate.plan.maxConcurrent} places are held, no call has settled for the whole lease grace, and ${line.length} calls wait.`;
      incidents.notice('LaneStalled', detail);
    }
    const stuck = [...line].filter(
      ({ request }) => request.needsPlace && limitOf(request) === Number.POSITIVE_INFINITY,
    );
    this.#parts.endings.end(stuck, this.#parts.endings.refusing(laneStalled, now));
  }
}
