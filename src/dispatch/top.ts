import type { DownstreamPlan } from '../base/plan.ts';
import type { TopEntry, TopSnapshot } from '../base/snapshot.ts';
import { REQUESTS } from '../base/words.ts';
import type { Costs } from '../model/bucket.ts';
import type { Request } from './request.ts';
import { Ranks } from './top-ranks.ts';

const MOST_SHOWN = 10;
/** Names that are counted at a time. What is missed is below 1/128 of the permits of half a window. */
const MOST_COUNTED = 128;
/** Of each half window so many are looked at: the tenth of the whole need not be the tenth of either. */
const CANDIDATES = 32;
const WITHOUT_QUOTA_MS = 60_000;
/** Who used a quota of a day half a day ago does not matter at night. */
const LONGEST_MS = 3_600_000;

/**
 * Permits by name in one half of a window, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi:
 * "Efficient computation of frequent and top-k elements in data streams", ICDT 2005). A name that is not counted
 * takes the place of the lowest, whose count it may owe to others: that much is its error.
 */
class Half {
  readonly #ranks = new Ranks();

  add(name: string, permits: number): void {
    const ranks = this.#ranks;
    if (ranks.size < MOST_COUNTED || ranks.get(name) !== undefined) {
      ranks.add(name, permits);
      return;
    }
    const lowest = ranks.lowest!;
    ranks.remove(lowest);
    ranks.insert(name, lowest.count + permits, lowest.count);
  }

  /** At least so many; exactly as long as no more names than are counted have come. */
  of(name: string): number {
    const entry = this.#ranks.get(name);
    return entry === undefined ? 0 : entry.count - entry.error;
  }

  best(): string[] {
    return this.#ranks.best(CANDIDATES).map(({ name }) => name);
  }
}

/** One kind of names: runs, or tools. */
class Users {
  readonly #waiting = new Ranks();
  #current = new Half();
  #previous: Half | undefined;

  take(name: string, permits: number): void {
    this.#current.add(name, permits);
  }

  wait(name: string, by: 1 | -1): void {
    this.#waiting.add(name, by);
  }

  turn(keepsLast: boolean): void {
    this.#previous = keepsLast ? this.#current : undefined;
    this.#current = new Half();
  }

  /** `halves`: the newest of them that still count. */
  read(halves: { readonly current: boolean; readonly previous: boolean }): TopEntry[] {
    const counted = [...(halves.current ? [this.#current] : []), ...(halves.previous ? [this.#previous] : [])];
    const permitsOf = (name: string): number => counted.reduce((sum, half) => sum + (half?.of(name) ?? 0), 0);
    const entryOf = (name: string): TopEntry => ({
      name,
      waiting: this.#waiting.get(name)?.count ?? 0,
      permits: permitsOf(name),
    });
    const takers = [...new Set(counted.flatMap((half) => half?.best() ?? []))].map(entryOf).sort(byPermits);
    const waiters = this.#waiting.best(MOST_SHOWN).map(({ name }) => entryOf(name));
    return firstOf(
      takers.filter(({ permits }) => permits > 0),
      waiters,
    ).sort(byPermits);
  }
}

/** The highest of two lists in turn: whoever takes most is there, and so is whoever waits most. */
function firstOf(takers: readonly TopEntry[], waiters: readonly TopEntry[]): TopEntry[] {
  const found = new Map<string, TopEntry>();
  for (let i = 0; i < MOST_SHOWN; i++) {
    for (const entry of [takers[i], waiters[i]]) {
      if (entry !== undefined && found.size < MOST_SHOWN) found.set(entry.name, entry);
    }
  }
  // What one list could not fill is the other's.
  for (const entry of [...takers, ...waiters]) if (found.size < MOST_SHOWN) found.set(entry.name, entry);
  return [...found.values()];
}

function byPermits(a: TopEntry, b: TopEntry): number {
  return b.permits - a.permits || b.waiting - a.waiting || (a.name < b.name ? -1 : 1);
}

/**
 * Who uses a downstream most, all its lanes together. `waiting` is exact. `permits` are those taken at starts of
 * the last window, of which at least the later half counts and the rest as far as it is kept; they are exact while
 * no more than 128 names take part in half a window, and at least what is said otherwise. Calls that name neither
 * run nor tool never get here. Instants are monotonic milliseconds.
 */
export class Top {
  windowMs = WITHOUT_QUOTA_MS;
  readonly #runs = new Users();
  readonly #tools = new Users();
  /** Which of a call's costs are requests; -1: no quota counts them. */
  #index = -1;
  #byDefault = 1;
  #since = Number.NEGATIVE_INFINITY;

  constructor(plan: DownstreamPlan) {
    this.replan(plan);
  }

  /** What was counted stays; from now on it is counted by another window. */
  replan({ quotas, defaultCost }: DownstreamPlan): void {
    const windows = quotas.filter(({ unit }) => unit === REQUESTS).map(({ windowMs }) => windowMs);
    this.windowMs = windows.length === 0 ? WITHOUT_QUOTA_MS : Math.min(Math.max(...windows), LONGEST_MS);
    this.#index = quotas.findIndex(({ unit }) => unit === REQUESTS);
    this.#byDefault = defaultCost[REQUESTS] ?? 1;
  }

  /** A call that names a run or a tool takes its permits. */
  started({ tool, runId, cost }: Request, costs: Costs, now: number): void {
    if (now - this.#since >= this.windowMs / 2) this.#turn(now);
    const permits = costs[this.#index] ?? (typeof cost === 'number' ? cost : (cost?.[REQUESTS] ?? this.#byDefault));
    if (permits <= 0) return;
    if (runId !== undefined) this.#runs.take(runId, permits);
    if (tool !== undefined) this.#tools.take(tool, permits);
  }

  waits(request: Request): void {
    this.#wait(request, 1);
  }

  left(request: Request): void {
    this.#wait(request, -1);
  }

  read(now: number): TopSnapshot {
    const age = now - this.#since;
    const { windowMs } = this;
    const halves = { current: age < windowMs, previous: age < windowMs / 2 };
    return { windowMs, runs: this.#runs.read(halves), tools: this.#tools.read(halves) };
  }

  #wait({ tool, runId }: Request, by: 1 | -1): void {
    if (runId !== undefined) this.#runs.wait(runId, by);
    if (tool !== undefined) this.#tools.wait(tool, by);
  }

  #turn(now: number): void {
    const halfMs = this.windowMs / 2;
    const keepsLast = now - this.#since < 2 * halfMs;
    this.#since = keepsLast ? this.#since + halfMs : now;
    this.#runs.turn(keepsLast);
    this.#tools.turn(keepsLast);
  }
}
