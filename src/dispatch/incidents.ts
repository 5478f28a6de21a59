import type { AlertFacts, AlertName, ServerWord } from '../base/alert.ts';
import type { Verdict } from '../base/verdict.ts';
import type { HoldCause } from '../base/words.ts';
import { incidentHoldMs } from '../model/cooldown.ts';
import type { HoldNews } from './hold-news.ts';
import { type Culprit, type RaiseHost, raiseAlert, type Seen } from './raise.ts';

/** Where several workers share a quota, the end of a hold is spread by up to this share, later only. */
const SPREAD = 0.05;
const MOST_TOOLS = 5;

/** What incidents need of their lane. */
export interface IncidentHost extends RaiseHost {
  readonly news: HoldNews;
  readonly isPaused: (now: number) => boolean;
  /** The outlook of the waiters has worsened. */
  readonly held: () => void;
}

/** One episode of throttling: all the 429s of calls that started before its hold. */
interface Incident {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Monotonic milliseconds. */
  readonly beganAt: number;
  readonly refusedBefore: number;
  readonly tools: Set<string>;
  throttles: number;
}

/** Incidents of one kind: those of the quota, or of overload. */
interface Row {
  inARow: number;
  /** The epoch that began with the last of them. */
  began: number;
  /** When its own hold ends; monotonic milliseconds. */
  heldUntil: number;
}

/** Whether an outcome belongs to the last incident of its kind: its call started before the hold, or nobody knows when and it lasts. */
function belongs(row: Row, epoch: number | undefined, now: number): boolean {
  return epoch === undefined ? now < row.heldUntil : epoch < row.began;
}

/**
 * What a lane has learned from outcomes. Calls remember the count of incidents (`epoch`) at their start:
 * an outcome from an earlier epoch belongs to the incident that has begun since, and a success from an
 * earlier epoch ends nothing.
 */
export class Incidents {
  epoch = 0;
  readonly #throttles: Row = { inARow: 0, began: 0, heldUntil: 0 };
  readonly #overloads: Row = { inARow: 0, began: 0, heldUntil: 0 };
  #current: Incident | undefined;
  #heldBefore = 0;
  readonly #host: IncidentHost;

  constructor(host: IncidentHost) {
    this.#host = host;
  }

  /** Incidents without a success in between that began after the hold. */
  get inARow(): number {
    return this.#throttles.inARow;
  }

  get id(): string | undefined {
    return this.inARow > 0 ? this.#current?.id : undefined;
  }

  /** The epoch of a call that started at a monotonic instant. */
  epochAt(startedAt: number): number {
    return this.#current !== undefined && startedAt < this.#current.beganAt ? this.#throttles.began - 1 : this.epoch;
  }

  /** Notes a tool that the running incident has cost something. */
  touch(tool: string | undefined): void {
    const tools = this.#current?.tools;
    if (tool !== undefined && tools !== undefined && tools.size < MOST_TOOLS) tools.add(tool);
  }

  /** Learns from an outcome; `epoch` is that of the call's start, undefined where nobody knows. */
  learn(verdict: Verdict, epoch: number | undefined, tool?: string, runId?: string): void {
    if (verdict.outcome === 'success') {
      for (const row of [this.#throttles, this.#overloads]) if ((epoch ?? -1) >= row.began) row.inARow = 0;
      return;
    }
    const server = verdict.server ?? {};
    const culprit = { tool, runId, trace: this.#host.ports.bus.trace() };
    if (verdict.outcome === 'throttled') this.#throttled(server, epoch, culprit);
    if (verdict.outcome === 'overloaded') this.#overloaded(server, epoch);
    if (verdict.outcome === 'exhausted') this.#exhausted(server, epoch, culprit);
  }

  /** Raises an alert that no 429 has caused. */
  notice(name: AlertName, detail: string, tool?: string, runId?: string): void {
    const incident = this.#make(this.#host.ports.clock.now());
    this.#raise(name, incident, {
      server: {},
      culprit: { tool, runId, trace: undefined },
      action: { kind: 'none' },
      detail,
    });
  }

  #throttled(server: ServerWord, epoch: number | undefined, culprit: Culprit): void {
    const { gate, ports, tally } = this.#host;
    const now = ports.clock.now();
    tally.throttled++;
    tally.lastThrottledAt = ports.clock.wallNow();
    const isSame = this.#current !== undefined && belongs(this.#throttles, epoch, now);
    const incident = isSame ? this.#current! : this.#open(now);
    incident.throttles++;
    this.touch(culprit.tool);
    let isCapped = false;
    if (!gate.plan.unlimited) {
      if (!isSame) this.#throttles.inARow++;
      if (!isSame || server.retryAfterMs !== undefined)
        isCapped = this.#hold(this.#throttles, server.retryAfterMs, now);
    }
    const said = isCapped ? { ...server, capped: true } : server;
    this.#raise('QuotaModelWrong', incident, { server: said, culprit, action: this.#action(now) });
  }

  #overloaded(server: ServerWord, epoch: number | undefined): void {
    const now = this.#host.ports.clock.now();
    if (this.#host.gate.plan.unlimited) return;
    const row = this.#overloads;
    const isSame = belongs(row, epoch, now);
    if (!isSame) {
      row.began = ++this.epoch;
      row.inARow++;
    }
    if (!isSame || server.retryAfterMs !== undefined) this.#hold(row, server.retryAfterMs, now);
  }

  #exhausted(server: ServerWord, epoch: number | undefined, culprit: Culprit): void {
    const { gate, ports } = this.#host;
    const { plan } = gate;
    const now = ports.clock.now();
    const isSame = this.#current !== undefined && belongs(this.#throttles, epoch, now);
    const incident = isSame ? this.#current! : this.#open(now);
    incident.throttles++;
    this.touch(culprit.tool);
    if (!plan.unlimited) {
      // Seconds that are named beside a quota of a day are no cure: the reset counts, or a long hold of our own.
      const longest = Math.max(server.retryAfterMs ?? 0, server.resetMs ?? plan.cooldown.maxMs);
      const ms = Math.min(longest, plan.maxHoldMs);
      this.#extend(this.#throttles, 'quota-reset', ms, now);
    }
    this.#raise('QuotaExhausted', incident, { server, culprit, action: this.#action(now) });
  }

  #make(now: number): Incident {
    const { ports, tally } = this.#host;
    return {
      id: ports.nextIncidentId(),
      startedAt: ports.clock.wallNow(),
      beganAt: now,
      refusedBefore: tally.refusals,
      tools: new Set(),
      throttles: 0,
    };
  }

  #open(now: number): Incident {
    this.#heldBefore = this.#host.gate.holds.until;
    this.#throttles.began = ++this.epoch;
    this.#current = this.#make(now);
    return this.#current;
  }

  /** Holds the lane for an incident; true if the server's word was longer than `maxHold`. */
  #hold(row: Row, hintMs: number | undefined, now: number): boolean {
    const { plan } = this.#host.gate;
    const { ms, isCapped } = incidentHoldMs(plan.cooldown, Math.max(row.inARow, 1), hintMs, plan.maxHoldMs);
    const isHint = hintMs !== undefined && ms === Math.min(hintMs, plan.maxHoldMs);
    this.#extend(row, isHint ? 'retry-after' : 'cooldown', ms, now);
    return isCapped;
  }

  #extend(row: Row, cause: HoldCause, ms: number, now: number): void {
    const { gate, ports } = this.#host;
    const spread = gate.plan.workers > 1 ? ms * SPREAD * ports.random() : 0;
    const until = now + ms + spread;
    row.heldUntil = Math.max(row.heldUntil, until);
    // "Now" is a value, and holds nothing: the next start needs only its permits.
    if (until <= now || !gate.hold(cause, until, now)) return;
    this.#host.news.held(cause, until, now, { incidentId: this.#current?.id });
    this.#host.held();
  }

  #action(now: number): AlertFacts['action'] {
    const { gate, ports } = this.#host;
    if (!gate.isHeld(now)) return { kind: 'none' };
    const { until, cause } = gate.holds;
    const step = this.inARow > 0 ? { step: this.inARow } : {};
    const untilWall = ports.clock.wallNow() + (until - now);
    return { kind: this.#host.isPaused(now) ? 'pause' : 'hold', cause, until: untilWall, ...step };
  }

  #raise(name: AlertName, incident: Incident, seen: Seen): void {
    raiseAlert(this.#host, name, { ...incident, inARow: this.inARow }, this.#heldBefore, seen);
  }
}
