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
import { firstOf, Shared, TurnPool } from './turn-pool.ts';
import type { Waiter } from './waiter.ts';

/** An engine answers within some milliseconds: a queue counts as full only once it has been silent for so long. */
const SILENT_MS = 50;
/** Calls beyond a full queue that may find out at a time whether they could start at once. */
const MOST_TRIED = 32;

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
  /** Of calls that take a place, and of those that run in one: neither starts on a turn of the other sort. */
  readonly #placed = new TurnPool();
  readonly #nested = new TurnPool();
  /** Turns in hand that were not enough for the next call were given back; nothing is asked for in their place yet. */
  #isSparing = false;
  #inFlight = new Map<ActiveCall, readonly Shared[]>();
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
      this.#lane.gate.isByTurns = maker !== undefined;
    }
    return maker === undefined ? undefined : this;
  }

  /** Asks for what is missing and gives back what nobody waits for. `waiter`: one that has just come. */
  tend(waiter?: Waiter): void {
    if (this.#maker === undefined) return;
    if (waiter !== undefined) this.#poolOf(waiter).add(waiter, this.#weightOf(waiter));
    for (const pool of [this.#nested, this.#placed]) {
      if (pool.waiting === 0) pool.giveBack();
      else this.#askFor(pool, waiter);
    }
  }

  /** A waiter has left the line without having started. */
  gone(waiter: Waiter): void {
    if (this.#maker !== undefined) this.#poolOf(waiter).gone(waiter);
  }

  /** What waits may cost something else now. */
  recount(): void {
    this.#placed.forgetWaiters();
    this.#nested.forgetWaiters();
    if (this.#maker === undefined) return;
    for (const waiter of this.#lane.line) this.#poolOf(waiter).add(waiter, this.#weightOf(waiter));
  }

  /** Whether there is a turn for a call that takes a place: without one, nested calls need not let it pass. */
  get hasPlaced(): boolean {
    return this.#placed.kept > 0;
  }

  /** When a waiter's turn is, Infinity while that is not known. */
  readyAt(waiter: Waiter): number {
    return this.#poolOf(waiter).readyAt(waiter, this.#takenAt);
  }

  /** A waiter starts on the turns that have been here longest. */
  take(waiter: Waiter, call: ActiveCall, now: number): void {
    const turns = this.#poolOf(waiter).take(waiter);
    this.#takenAt = now;
    this.#isSparing = false;
    if (call.request.needsPlace) this.#inFlight.set(call, turns);
    else this.#end(turns);
  }

  learn(verdict: Verdict, call: ActiveCall): void {
    const { request } = call;
    this.#lane.incidents.learn(verdict, call.epoch, request.tool, request.runId);
  }

  ended(call: ActiveCall): void {
    const turns = this.#inFlight.get(call);
    if (turns === undefined) return;
    this.#inFlight.delete(call);
    this.#end(turns);
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

  #end(turns: readonly Shared[]): void {
    this.#endedAt = this.#lane.lastNow;
    for (const turn of turns) turn.end();
  }

  #poolOf({ request }: Waiter): TurnPool {
    return request.needsPlace ? this.#placed : this.#nested;
  }

  #weightOf(waiter: Waiter): number {
    const { costs, request } = waiter;
    return this.#made().weightOf({ costs, permits: this.#permitsOf(waiter), isNested: !request.needsPlace });
  }

  #askFor(pool: TurnPool, newcomer: Waiter | undefined): void {
    const { line } = this.#lane;
    const engine = this.#made();
    const isPlaced = pool === this.#placed;
    const next = isPlaced ? line.next(true) : undefined;
    if (isPlaced && next !== undefined && this.#mustSpare(next)) this.#isSparing = true;
    if (isPlaced && this.#isSparing && newcomer === undefined && pool.asked > 0) return;
    const most = isPlaced ? engine.mostAsked : Number.POSITIVE_INFINITY;
    const alone =
      newcomer && this.#poolOf(newcomer) === pool && most > line.length ? pool.missingFor(newcomer) : undefined;
    if (alone !== undefined) this.#ask(newcomer!, alone);
    else for (const [waiter, weight] of pool.missing(firstOf(next, line), most)) this.#ask(waiter, weight);
  }

  /** Held turns may be what the missing ones wait for: they are given back, and not asked for anew before the next start. */
  #mustSpare(next: Waiter): boolean {
    const pool = this.#placed;
    if (pool.kept === 0 || this.#engine?.countsPlaces() !== true || pool.readyAt(next, 0) < Number.POSITIVE_INFINITY)
      return false;
    return pool.giveBack();
  }

  #made(): Engine {
    if (this.#engine === undefined) {
      const seat = { plan: this.#plan!, account: this.#account, isSuccessor: this.#hadEngine };
      this.#engine = this.#maker!.make(seat);
      this.#hadEngine = true;
    }
    return this.#engine;
  }

  /** In as many turns as the weight needs. */
  #ask(waiter: Waiter, weight: number): void {
    const most = this.#made().mostPerTurn();
    let left = weight;
    do {
      this.#askOne(waiter, Math.min(left, most));
      left -= most;
    } while (left > 0);
  }

  #askOne(waiter: Waiter, weight: number): void {
    const engine = this.#made();
    const { request } = waiter;
    const pool = this.#poolOf(waiter);
    const askedAt = this.#lane.ports.clock.now();
    pool.asks(weight);
    engine.ask({
      weight,
      priority: request.needsPlace ? request.priority : 'nested',
      granted: (turn) => {
        if (engine !== this.#engine) turn.end();
        else this.#came(pool, turn, weight, askedAt);
      },
      dropped: (why) => {
        if (engine !== this.#engine) return;
        pool.answered(weight);
        this.#dropped(pool, waiter, why);
      },
    });
  }

  #came(pool: TurnPool, turn: Turn, weight: number, askedAt: number): void {
    const lane = this.#lane;
    const now = lane.readNow();
    pool.answered(weight);
    const sinceLast = now - this.#cameAt;
    const freeAt = Math.max(askedAt, this.#cameAt, this.#endedAt);
    // Asked for before the last one came, and no turn was given back since: it is the engine that made it wait.
    if (freeAt === this.#cameAt) this.#paceMs = sinceLast;
    const paceMs = Math.max(this.#paceMs, this.#engine?.leastGapMs ?? 0);
    const gapMs = Math.max(now - freeAt, Math.min(paceMs, sinceLast));
    this.#cameAt = now;
    pool.keep({ turn: new Shared(turn), at: now, gapMs, weight });
    lane.pump(now);
  }

  #dropped(pool: TurnPool, waiter: Waiter, why: unknown): void {
    const { line } = this.#lane;
    const isShort = pool === this.#placed && pool.asked + pool.kept < pool.waiting;
    const victim =
      waiter.isInLine && waiter.ending === undefined ? waiter : isShort ? line.displaceable(-1) : undefined;
    if (victim !== undefined) this.#endings.refuse(victim, turnDropped(why), this.#lane.readNow());
    this.#lane.pump();
  }

  /** Of the first quota; without one, what the call says in requests. */
  #permitsOf({ costs, request: { cost } }: Waiter): number {
    const own = costs[0];
    if (own !== undefined) return own;
    const named = typeof cost === 'object' ? cost[REQUESTS] : cost;
    return named ?? this.#plan?.defaultCost[REQUESTS] ?? 1;
  }

  #leave(): void {
    this.#placed.giveBack();
    this.#nested.giveBack();
    for (const turns of this.#inFlight.values()) for (const turn of turns) turn.end();
    this.#inFlight = new Map();
    const engine = this.#engine;
    // Before it is closed: what it drops then is nobody's any more.
    this.#engine = undefined;
    engine?.close();
    this.#placed.forgetAsked();
    this.#nested.forgetAsked();
    this.#isSparing = false;
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
