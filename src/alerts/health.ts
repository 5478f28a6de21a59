import type { Alert } from '../base/alert.ts';
import type { Clock } from '../base/clock.ts';
import type { Failure } from './failure.ts';
import { clockTime } from './instants.ts';

/** Who hears how a sink fares. */
export interface HealthPorts {
  readonly clock: Clock;
  /** Once at the first failure of a row, once at the first alert given up, once when there is no room. */
  readonly onFailure: (detail: string, alert: Alert) => void;
  /** It has failed for a while, or lost an alert: what happened, in one sentence. At most every five minutes. */
  readonly onTrouble: (detail: string) => void;
  /** It works again after `onTrouble`. */
  readonly onRecovery: () => void;
}

/** How a sink that does not work has fared since it last did. */
export interface FailingState {
  /** Epoch milliseconds. */
  readonly since: number;
  readonly attempts: number;
  /** Status or kind of error of the last attempt. */
  readonly kind: string;
}

interface Counts {
  readonly pending: number;
  readonly dropped: number;
}

/** A sink that has failed this often in a row, or for this long, is somebody's business. */
const MOST_ATTEMPTS = 5;
const LONGEST_MS = 60_000;
/** Told anew no sooner than a sink is told of a changed incident; while it lasts, once an hour. */
const SPACING_MS = 300_000;
const LASTING_SPACING_MS = 3_600_000;

/**
 * Judges one sink by its attempts. What is lost for good (an alert that was refused or had no room) is told
 * at once; what waits and is tried again, after five attempts or a minute.
 */
export class Health {
  readonly #label: string;
  readonly #ports: HealthPorts;
  /** How many alerts wait, how many were dropped. */
  readonly #counts: () => Counts;
  #since: { readonly monotonic: number; readonly wall: number } | undefined;
  #attempts = 0;
  #kind = '';
  #isToldOfFailure = false;
  #isToldOfLoss = false;
  #isFull = false;
  #isInTrouble = false;
  #troubleAt = Number.NEGATIVE_INFINITY;

  constructor(label: string, ports: HealthPorts, counts: () => Counts) {
    this.#label = label;
    this.#ports = ports;
    this.#counts = counts;
  }

  get failing(): FailingState | undefined {
    if (this.#since === undefined) return undefined;
    return { since: this.#since.wall, attempts: this.#attempts, kind: this.#kind };
  }

  /** An attempt failed and what it carried waits, for `waitMs` at least. */
  failed({ kind }: Failure, alert: Alert, waitMs: number): void {
    const sinceMs = this.#begin(kind);
    if (!this.#isToldOfFailure)
      this.#ports.onFailure(`${this.#label}: ${kind}; its alerts wait and are tried again`, alert);
    this.#isToldOfFailure = true;
    // Nothing is learned before the wait is over: what will be a minute old by then is told now.
    if (this.#attempts < MOST_ATTEMPTS && this.#now() - sinceMs + waitMs < LONGEST_MS) return;
    const times = this.#attempts === 1 ? 'once' : `${this.#attempts} times in a row`;
    this.#trouble(`has failed ${times} since ${clockTime(this.#since?.wall ?? 0)} (${kind})`);
  }

  /** The receiver refused `count` alerts for good. */
  gaveUp({ kind }: Failure, alert: Alert, count: number): void {
    this.#begin(kind);
    const what =
      count === 1 ? 'an alert that it refused was given up' : `${count} alerts that it refused were given up`;
    if (!this.#isToldOfLoss) this.#ports.onFailure(`${this.#label}: ${kind}; ${what}`, alert);
    this.#isToldOfLoss = true;
    this.#trouble(`refuses what it is sent (${kind}): ${what}`);
  }

  /** An alert was turned away for want of room. */
  full(alert: Alert): void {
    if (!this.#isFull) this.#ports.onFailure(`${this.#label}: no room for more alerts; what is new is dropped`, alert);
    this.#isFull = true;
    this.#trouble('has no room for more alerts, and what is new is dropped');
  }

  /** `hasRoom`: there is as much room again as is worth calling it that. */
  worked(hasRoom: boolean): void {
    this.#since = undefined;
    this.#attempts = 0;
    this.#isToldOfFailure = false;
    this.#isToldOfLoss = false;
    if (hasRoom) this.#isFull = false;
    if (!this.#isInTrouble || this.#isFull) return;
    this.#isInTrouble = false;
    this.#ports.onRecovery();
  }

  #begin(kind: string): number {
    this.#since ??= { monotonic: this.#now(), wall: this.#ports.clock.wallNow() };
    this.#attempts += 1;
    this.#kind = kind;
    return this.#since.monotonic;
  }

  #trouble(what: string): void {
    const now = this.#now();
    if (now < this.#troubleAt + (this.#isInTrouble ? LASTING_SPACING_MS : SPACING_MS)) return;
    this.#troubleAt = now;
    this.#isInTrouble = true;
    const { pending, dropped } = this.#counts();
    const wait = pending === 1 ? '1 alert waits' : `${pending} alerts wait`;
    this.#ports.onTrouble(`the sink ${this.#label} ${what}; ${wait}, ${dropped} dropped so far`);
  }

  #now(): number {
    return this.#ports.clock.now();
  }
}
