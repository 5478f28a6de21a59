import type { AlertFacts, AlertName, ServerWord } from '../base/alert.ts';
import type { TraceIds } from '../base/bus.ts';
import type { Verdict } from '../base/verdict.ts';
import type { HoldCause } from '../base/words.ts';
import { incidentHoldMs } from '../model/cooldown.ts';
import type { Gate } from '../model/gate.ts';
import { observe } from './observed.ts';
import type { LanePorts } from './ports.ts';
import type { Tally } from './tally.ts';

/** Where several workers share a quota, the end of a hold is spread by up to this share, later only. */
const SPREAD = 0.05;
const MOST_TOOLS = 5;

/** Whose call it was that was throttled. */
interface Culprit {
  readonly tool: string | undefined;
  readonly runId: string | undefined;
  readonly trace: TraceIds | undefined;
}

/** What incidents need of their lane. */
export interface IncidentHost {
  readonly name: string;
  readonly gate: Gate;
  readonly ports: LanePorts;
  readonly tally: Tally;
  readonly impact: () => { waiting: number; inFlight: number; oldestWaitMs: number };
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

/**
 * What a lane has learned from outcomes. Calls remember the count of incidents (`epoch`) at their start:
 * an outcome from an earlier epoch belongs to the incident that has begun since, and a success from an
 * earlier epoch ends nothing.
 */
export class Incidents {
  epoch = 0;
  /** Incidents without a success in between that began after the hold. */
  inARow = 0;
  #overloadsInARow = 0;
  #current: Incident | undefined;
  #heldBefore = 0;
  #cancelResumed: (() => void) | undefined;
  readonly #host: IncidentHost;

  constructor(host: IncidentHost) {
    this.#host = host;
  }

  get id(): string | undefined {
    return this.inARow > 0 ? this.#current?.id : undefined;
  }

  /** The epoch of a call that started at a monotonic instant. */
  epochAt(startedAt: number): number {
    const { holds } = this.#host.gate;
    const isFromBefore = this.#current !== undefined && startedAt < this.#current.beganAt;
    return isFromBefore || (holds.isHeld(startedAt) && this.epoch > 0) ? this.epoch - 1 : this.epoch;
  }

  /** Notes a tool that the running incident has cost something. */
  touch(tool: string | undefined): void {
    const tools = this.#current?.tools;
    if (tool !== undefined && tools !== undefined && tools.size < MOST_TOOLS) tools.add(tool);
  }

  /** Learns from an outcome; `epoch` is that of the call's start, undefined where nobody knows. */
  learn(verdict: Verdict, epoch: number | undefined, tool?: string, runId?: string): void {
    if (verdict.outcome === 'success') {
      if (epoch === this.epoch) this.inARow = this.#overloadsInARow = 0;
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
    this.#raise(name, incident, {}, { tool, runId, trace: undefined }, { kind: 'none' }, detail);
  }

  /** The operator's hold; the event is the same. */
  announce(cause: HoldCause, until: number, now: number, reason?: string): void {
    const { ports, name, gate } = this.#host;
    const untilWall = ports.clock.wallNow() + (until - now);
    const incidentId = cause === 'operator' ? undefined : this.#current?.id;
    const ids = defined({ incidentId, reason });
    ports.bus.emit({
      at: ports.clock.wallNow(),
      downstream: name,
      type: 'held',
      cause,
      until: untilWall,
      ...ids,
    });
    this.#cancelResumed?.();
    this.#cancelResumed = ports.clock.setTimer(
      Math.min(Math.max(gate.holds.until - now, 1), LONGEST),
      () => this.#resumed(),
      {
        keepAlive: false,
      },
    );
  }

  /** Tells that nothing is held any more, once it is so. */
  #resumed(): void {
    this.#cancelResumed?.();
    this.#cancelResumed = undefined;
    const { gate, ports, name } = this.#host;
    const now = ports.clock.now();
    if (gate.holds.isHeld(now)) {
      const left = Math.min(gate.holds.until - now, LONGEST);
      this.#cancelResumed = ports.clock.setTimer(Math.max(left, 1), () => this.#resumed(), {
        keepAlive: false,
      });
      return;
    }
    const at = ports.clock.wallNow();
    ports.bus.emit({ at, downstream: name, type: 'resumed', cause: gate.holds.cause, until: at });
  }

  /** The operator has ended a hold. */
  ended(): void {
    if (this.#cancelResumed !== undefined) this.#resumed();
  }

  /** Lets go of what would fire later. */
  close(): void {
    this.#cancelResumed?.();
    this.#cancelResumed = undefined;
  }

  #throttled(server: ServerWord, epoch: number | undefined, culprit: Culprit): void {
    const { gate, ports, tally } = this.#host;
    const now = ports.clock.now();
    tally.throttled++;
    tally.lastThrottledAt = ports.clock.wallNow();
    const isSame = this.#current !== undefined && this.#belongs(epoch, now);
    const incident = isSame ? this.#current! : this.#open(now);
    incident.throttles++;
    this.touch(culprit.tool);
    let isCapped = false;
    if (!gate.plan.unlimited) {
      if (!isSame) this.inARow++;
      if (!isSame || server.retryAfterMs !== undefined) {
        isCapped = this.#hold(server.retryAfterMs, Math.max(this.inARow, 1), !isSame, now);
      }
    }
    const said = isCapped ? { ...server, capped: true } : server;
    this.#raise('QuotaModelWrong', incident, said, culprit, this.#action(now));
  }

  #overloaded(server: ServerWord, epoch: number | undefined): void {
    const now = this.#host.ports.clock.now();
    if (this.#host.gate.plan.unlimited) return;
    const isSame = this.#belongs(epoch, now);
    if (!isSame) {
      this.epoch++;
      this.#overloadsInARow++;
    }
    if (isSame && server.retryAfterMs === undefined) return;
    this.#hold(server.retryAfterMs, Math.max(this.#overloadsInARow, 1), !isSame, now);
  }

  #exhausted(server: ServerWord, epoch: number | undefined, culprit: Culprit): void {
    const { gate, ports } = this.#host;
    const { plan } = gate;
    const now = ports.clock.now();
    const isSame = this.#current !== undefined && this.#belongs(epoch, now);
    const incident = isSame ? this.#current! : this.#open(now);
    incident.throttles++;
    this.touch(culprit.tool);
    if (!plan.unlimited) {
      const ms = Math.min(server.retryAfterMs ?? server.resetMs ?? plan.cooldown.maxMs, plan.maxHoldMs);
      this.#extend('quota-reset', ms, now);
    }
    this.#raise('QuotaExhausted', incident, server, culprit, this.#action(now));
  }

  /** Whether an outcome belongs to the incident that is running. */
  #belongs(epoch: number | undefined, now: number): boolean {
    return epoch === undefined ? this.#host.gate.holds.isHeld(now) : epoch < this.epoch;
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
    this.epoch++;
    this.#current = this.#make(now);
    return this.#current;
  }

  /** Holds the lane for an incident; true if the server's word was longer than `maxHold`. */
  #hold(hintMs: number | undefined, inARow: number, isNew: boolean, now: number): boolean {
    const { plan } = this.#host.gate;
    const { ms, isCapped } = incidentHoldMs(plan.cooldown, inARow, hintMs, plan.maxHoldMs);
    if (!isNew && hintMs === undefined) return false;
    const isHint = hintMs !== undefined && ms === Math.min(hintMs, plan.maxHoldMs);
    this.#extend(isHint ? 'retry-after' : 'cooldown', ms, now);
    return isCapped;
  }

  #extend(cause: HoldCause, ms: number, now: number): void {
    const { gate, ports } = this.#host;
    const spread = gate.plan.workers > 1 ? ms * SPREAD * ports.random() : 0;
    const until = now + ms + spread;
    // "Now" is a value, and holds nothing: the next start needs only its permits.
    if (until <= now || !gate.hold(cause, until, now)) return;
    this.announce(cause, until, now);
    this.#host.held();
  }

  #action(now: number): AlertFacts['action'] {
    const { gate, ports } = this.#host;
    if (!gate.holds.isHeld(now)) return { kind: 'none' };
    const { until, cause } = gate.holds;
    const step = this.inARow > 0 ? { step: this.inARow } : {};
    const untilWall = ports.clock.wallNow() + (until - now);
    return { kind: this.#host.isPaused(now) ? 'pause' : 'hold', cause, until: untilWall, ...step };
  }

  #raise(
    name: AlertName,
    incident: Incident,
    server: ServerWord,
    culprit: Culprit,
    action: AlertFacts['action'],
    detail?: string,
  ): void {
    const { ports, tally, gate } = this.#host;
    const { plan } = gate;
    const now = ports.clock.now();
    const { tool, runId, trace } = culprit;
    ports.raise({
      name,
      downstream: this.#host.name,
      at: ports.clock.wallNow(),
      incident: {
        id: incident.id,
        startedAt: incident.startedAt,
        throttles: incident.throttles,
        inARow: this.inARow,
      },
      action,
      impact: {
        ...this.#host.impact(),
        refused: tally.refusals - incident.refusedBefore,
        tools: [...incident.tools],
      },
      observed: observe(this.#host, this.#heldBefore, now),
      server,
      declared: plan.quotas.map(({ text, limit, windowMs, unit }) => ({ text, limit, windowMs, unit })),
      longestWindowMs: Math.max(0, ...plan.quotas.map((quota) => quota.windowMs)),
      ...defined({ owner: plan.owner, source: plan.source, runbook: plan.runbook, tool, runId, detail }),
      ...trace,
    });
  }
}

/** The longest timer that is set for an event; it is set again if that was too short. */
const LONGEST = 2_147_483_647;

function defined<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
