import { DUE_MS } from '../base/clock.ts';
import type { Turn } from './engine.ts';
import type { Waiter } from './waiter.ts';

/** A turn that nobody has taken yet. */
export interface Kept {
  readonly turn: Shared;
  readonly at: number;
  /** How much later than the one before it, by the engine's pace. */
  readonly gapMs: number;
  readonly weight: number;
}

/** A turn that ends once nobody uses it any more. */
export class Shared {
  readonly #end: () => void;
  #users = 1;

  constructor(turn: Turn) {
    this.#end = turn.end;
  }

  use(): this {
    this.#users++;
    return this;
  }

  end(): void {
    if (--this.#users === 0) this.#end();
  }
}

/** What of a turn was more than the call needed that started on it. */
interface Rest {
  readonly turn: Shared;
  weight: number;
}

/**
 * The turns of one sort of call, those that take a place or those that run in one. A start takes at least one turn,
 * and as many as its call weighs; what is left over is there for the next, but starts nobody by itself. So the engine
 * is never paid less than what has started, in starts and in weight, whoever leaves and whoever overtakes.
 */
export class TurnPool {
  readonly #needs = new Map<Waiter, number>();
  #needed = 0;
  #asked = 0;
  #askedWeight = 0;
  #kept: Kept[] = [];
  #keptWeight = 0;
  #rests: Rest[] = [];
  #restWeight = 0;

  /** Turns asked for and not here yet. */
  get asked(): number {
    return this.#asked;
  }

  get kept(): number {
    return this.#kept.length;
  }

  get waiting(): number {
    return this.#needs.size;
  }

  /** A waiter has come, or weighs something else now. */
  add(waiter: Waiter, weight: number): void {
    this.#needed += weight - (this.#needs.get(waiter) ?? 0);
    this.#needs.set(waiter, weight);
  }

  /** A waiter has gone, served or not. */
  gone(waiter: Waiter): void {
    this.#needed -= this.#needs.get(waiter) ?? 0;
    this.#needs.delete(waiter);
  }

  forgetWaiters(): void {
    this.#needs.clear();
    this.#needed = 0;
  }

  asks(weight: number): void {
    this.#asked++;
    this.#askedWeight += weight;
  }

  /** A turn that was asked for has come, or never will. */
  answered(weight: number): void {
    this.#asked--;
    this.#askedWeight -= weight;
  }

  keep(kept: Kept): void {
    this.#kept.push(kept);
    this.#keptWeight += kept.weight;
  }

  /** What has to be asked for so that each of `waiters`, `most` of them at most, can start: weights by waiter. */
  missing(waiters: Iterable<Waiter>, most: number): [Waiter, number][] {
    let turns = this.#asked + this.#kept.length;
    let weight = this.#askedWeight + this.#keptWeight + this.#restWeight;
    const { size } = this.#needs;
    if (turns >= Math.min(size, most) && weight >= this.#needed) return [];
    const missing: [Waiter, number][] = [];
    let left = Math.min(size, most);
    for (const waiter of waiters) {
      const need = this.#needs.get(waiter);
      if (need === undefined) continue;
      if (left-- <= 0) break;
      if (turns <= 0 || weight < need) missing.push([waiter, Math.max(0, need - weight)]);
      turns--;
      weight = Math.max(0, weight - need);
    }
    return missing;
  }

  /** What the newcomer has to ask for, where everybody else has what he needs; undefined: somebody has not, or nothing. */
  missingFor(waiter: Waiter): number | undefined {
    const turns = this.#needs.size - this.#asked - this.#kept.length;
    const weight = this.#needed - this.#askedWeight - this.#keptWeight - this.#restWeight;
    const isAlone = turns <= 1 && weight <= (this.#needs.get(waiter) ?? 0);
    return isAlone && (turns === 1 || weight > 0) ? Math.max(0, weight) : undefined;
  }

  /** When a waiter may start by what is here, Infinity where it is not enough. */
  readyAt(waiter: Waiter, takenAt: number): number {
    const count = this.#countFor(this.#needs.get(waiter) ?? 0);
    if (count === undefined) return Number.POSITIVE_INFINITY;
    let at = takenAt;
    for (let i = 0; i < count; i++) at = Math.max(at + this.#kept[i]!.gapMs, this.#kept[i]!.at);
    return at;
  }

  /** A waiter starts; what it has started on. */
  take(waiter: Waiter): Shared[] {
    const need = this.#needs.get(waiter) ?? 0;
    this.gone(waiter);
    const taken = this.#kept.splice(0, this.#countFor(need) ?? this.#kept.length);
    const turns = taken.map(({ turn }) => turn);
    let paid = 0;
    for (const { weight } of taken) paid += weight;
    this.#keptWeight -= paid;
    while (paid < need && this.#rests.length > 0) {
      const rest = this.#rests[0]!;
      const used = Math.min(rest.weight, need - paid);
      rest.weight -= used;
      this.#restWeight -= used;
      paid += used;
      turns.push(rest.weight > DUE_MS ? rest.turn.use() : rest.turn);
      if (rest.weight <= DUE_MS) this.#rests.shift();
    }
    const last = taken.at(-1);
    if (paid > need && last !== undefined) {
      this.#rests.push({ turn: last.turn.use(), weight: paid - need });
      this.#restWeight += paid - need;
    }
    return turns;
  }

  /** Nobody waits for what is here: it ends. True if there was something. */
  giveBack(): boolean {
    const given = [...this.#kept, ...this.#rests];
    this.#kept = [];
    this.#rests = [];
    this.#keptWeight = this.#restWeight = 0;
    for (const { turn } of given) turn.end();
    return given.length > 0;
  }

  /** The engine is another one: it has been asked for nothing. */
  forgetAsked(): void {
    this.#asked = this.#askedWeight = 0;
  }

  /** How many of the turns that are here it takes; undefined: more. */
  #countFor(need: number): number | undefined {
    let weight = this.#restWeight;
    for (const [i, one] of this.#kept.entries()) {
      weight += one.weight;
      if (weight >= need) return i + 1;
    }
    return undefined;
  }
}

/** All of them, `next` before the others. */
export function* firstOf(next: Waiter | undefined, line: Iterable<Waiter>): Iterable<Waiter> {
  if (next !== undefined) yield next;
  for (const waiter of line) if (waiter !== next) yield waiter;
}
