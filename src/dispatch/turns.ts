import type { DownstreamPlan } from '../base/plan.ts';
import type { Verdict } from '../base/verdict.ts';
import { REQUESTS } from '../base/words.ts';
import type { ActiveCall } from './active.ts';
import { freePlaces, type LaneCore } from './core.ts';
import type { Endings } from './endings.ts';
import type { Engine, EngineMaker, Turn } from './engine.ts';
import type { FlightShadow } from './flight-host.ts';
import { queueFull, turnDropped } from './refusals.ts';
import type { Request } from './request.ts';
import type { Waiter } from './waiter.ts';

/** An engine answers within some milliseconds: a queue counts as full only once it has been silent for so long. */
const SILENT_MS = 50;
/** Calls beyond a full queue that may find out at a time whether they could start at once. */
const MOST_TRIED = 32;

/** A turn that nobody has taken yet. */
interface Kept {
  readonly turn: Turn;
  readonly at: number;
  /** How much later than the one before it, by the engine's pace. */
  readonly gapMs: number;
}

/** What the turns of a lane need of it. */
export interface TurnsHost extends LaneCore {
  readonly pump: (at?: number) => void;
}

/**
 * The turns of a lane whose engine hands them out. They belong to nobody: whose turn it is says the line, so that
 * one that was asked for by somebody who has left serves who comes next. What was kept back by a hold is handed out
 * at the pace at which it came, never all at once.
 */
export class Turns implements FlightShadow {
  readonly #lane: TurnsHost;
  readonly #endings: Endings;
  readonly #account: string | undefined;
  #maker: EngineMaker | undefined;
  #plan: DownstreamPlan | undefined;
  #engine: Engine | undefined;
  #hadEngine = false;
  /** Turns asked for and neither granted nor dropped. */
  #asked = 0;
  #kept: Kept[] = [];
  #inFlight = new Map<ActiveCall, Turn>();
  #takenAt = Number.NEGATIVE_INFINITY;
  #cameAt = Number.NEGATIVE_INFINITY;
  #endedAt = Number.NEGATIVE_INFINITY;
  #paceMs = 0;
  #stopTrial: (() => void) | undefined;

  constructor(lane: TurnsHost, endings: Endings, account: string | undefined) {
    this.#lane = lane;
    this.#endings = endings;
    this.#account = account;
  }

  /** Whether an engine hands out the lane's turns. */
  get isOn(): boolean {
    return this.#maker !== undefined;
  }

  /**
   * From now on under this plan; `maker`: undefined where the lane reckons itself, or holds nothing back. Returns
   * who is to be told of the calls in flight.
   */
  use(maker: EngineMaker | undefined, plan: DownstreamPlan): FlightShadow | undefined {
    this.#plan = plan;
    if (maker === undefined || maker !== this.#maker || this.#engine?.suits(plan) === false) {
      this.#leave();
      this.#maker = maker;
      this.#setTurnAt();
    }
    return maker === undefined ? undefined : this;
  }

  /** Asks for what is missing and gives back what nobody waits for. `waiter`: one that has just come. */
  tend(waiter?: Waiter): void {
    const { line } = this.#lane;
    if (this.#maker === undefined) return;
    if (line.length === 0) {
      this.#giveBack();
      return;
    }
    let missing = Math.min(line.length, this.#made().mostAsked) - this.#asked - this.#kept.length;
    if (missing <= 0) return;
    if (waiter !== undefined && missing === 1) {
      this.#ask(waiter);
      return;
    }
    let skipped = this.#asked + this.#kept.length;
    for (const one of line) {
      if (skipped-- > 0) continue;
      if (missing-- <= 0) return;
      this.#ask(one);
    }
  }

  /** A waiter starts on the turn that has been here longest. */
  take(call: ActiveCall, now: number): void {
    const kept = this.#kept.shift();
    if (kept === undefined) return;
    this.#takenAt = now;
    if (call.request.needsPlace) this.#inFlight.set(call, kept.turn);
    else this.#end(kept.turn);
    this.#setTurnAt();
  }

  learn(verdict: Verdict, call: ActiveCall): void {
    const { request } = call;
    this.#lane.incidents.learn(verdict, call.epoch, request.tool, request.runId);
  }

  ended(call: ActiveCall): void {
    const turn = this.#inFlight.get(call);
    if (turn === undefined) return;
    this.#inFlight.delete(call);
    this.#end(turn);
  }

  /** Whether a call that finds the queue full may still be one that starts at once: the engine has yet to say. */
  mayTry(request: Request, depth: number, now: number): boolean {
    const { gate, line } = this.#lane;
    if (this.#maker === undefined || gate.dueAt(request.costs, now) > now) return false;
    return line.length - depth < Math.min(MOST_TRIED, freePlaces(this.#lane));
  }

  /** Once the engine has said what it had to say, what is too much in the queue is refused. */
  try(): void {
    this.#stopTrial ??= this.#lane.ports.clock.setTimer(SILENT_MS, () => this.#endTrial());
  }

  /** Nobody will come: whatever the engine holds is let go, another one is made should the lane come back. */
  rest(): void {
    if (this.#engine !== undefined) this.#leave();
  }

  /** The lane is given up. */
  stop(): void {
    this.#stopTrial?.();
    this.#stopTrial = undefined;
    this.#leave();
    this.#maker = undefined;
  }

  #end(turn: Turn): void {
    this.#endedAt = this.#lane.lastNow;
    turn.end();
  }

  #made(): Engine {
    if (this.#engine === undefined) {
      const seat = { plan: this.#plan!, account: this.#account, isSuccessor: this.#hadEngine };
      this.#engine = this.#maker!.make(seat);
      this.#hadEngine = true;
    }
    return this.#engine;
  }

  #ask(waiter: Waiter): void {
    const engine = this.#made();
    const { request } = waiter;
    const askedAt = this.#lane.ports.clock.now();
    this.#asked++;
    engine.ask({
      costs: waiter.costs,
      permits: this.#permitsOf(waiter),
      priority: request.needsPlace ? request.priority : 'nested',
      granted: (turn) => {
        if (engine !== this.#engine) turn.end();
        else this.#came(turn, askedAt);
      },
      dropped: (why) => {
        if (engine === this.#engine) this.#dropped(waiter, why);
      },
    });
  }

  #came(turn: Turn, askedAt: number): void {
    const lane = this.#lane;
    const now = lane.readNow();
    this.#asked--;
    const sinceLast = now - this.#cameAt;
    const freeAt = Math.max(askedAt, this.#cameAt, this.#endedAt);
    // Asked for before the last one came, and no turn was given back since: it is the engine that made it wait.
    if (freeAt === this.#cameAt) this.#paceMs = sinceLast;
    const paceMs = Math.max(this.#paceMs, this.#engine?.leastGapMs ?? 0);
    const gapMs = Math.max(now - freeAt, Math.min(paceMs, sinceLast));
    this.#cameAt = now;
    this.#kept.push({ turn, at: now, gapMs });
    this.#setTurnAt();
    lane.pump(now);
  }

  #dropped(waiter: Waiter, why: unknown): void {
    this.#asked--;
    const { line } = this.#lane;
    const isShort = this.#asked + this.#kept.length < line.length;
    const victim =
      waiter.isInLine && waiter.ending === undefined ? waiter : isShort ? line.displaceable(-1) : undefined;
    if (victim === undefined) return;
    this.#endings.refuse(victim, turnDropped(why), this.#lane.readNow());
    this.#lane.pump();
  }

  /** Of the first quota; without one, what the call says in requests. */
  #permitsOf({ costs, request: { cost } }: Waiter): number {
    const own = costs[0];
    if (own !== undefined) return own;
    const named = typeof cost === 'object' ? cost[REQUESTS] : cost;
    return named ?? this.#plan?.defaultCost[REQUESTS] ?? 1;
  }

  #setTurnAt(): void {
    const { gate } = this.#lane;
    const first = this.#kept[0];
    if (this.#maker === undefined) gate.turnAt = Number.NEGATIVE_INFINITY;
    else if (first === undefined) gate.turnAt = Number.POSITIVE_INFINITY;
    else gate.turnAt = Math.max(first.at, this.#takenAt + first.gapMs);
  }

  #giveBack(): void {
    if (this.#kept.length === 0) return;
    for (const { turn } of this.#kept) this.#end(turn);
    this.#kept = [];
    this.#setTurnAt();
  }

  #leave(): void {
    this.#giveBack();
    for (const turn of this.#inFlight.values()) turn.end();
    this.#inFlight = new Map();
    const engine = this.#engine;
    // Before it is closed: what it drops then is nobody's any more.
    this.#engine = undefined;
    engine?.close();
    this.#asked = 0;
    this.#paceMs = 0;
  }

  #endTrial(): void {
    this.#stopTrial = undefined;
    const lane = this.#lane;
    const now = lane.readNow();
    const { maxQueueDepth } = lane.gate.plan;
    if (maxQueueDepth === undefined || this.#maker === undefined) return;
    let latest = this.#cameAt;
    while (lane.line.length > maxQueueDepth) {
      const newest = lane.line.displaceable(-1);
      if (newest === undefined) break;
      latest = Math.max(latest, newest.since);
      if (now < latest + SILENT_MS) {
        this.try();
        break;
      }
      this.#endings.refuse(newest, queueFull(maxQueueDepth), now);
    }
    lane.pump(now);
  }
}
