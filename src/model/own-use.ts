import { REQUESTS } from '../base/words.ts';
import type { Gate } from './gate.ts';

/** Refused starts that are remembered one by one. */
const MOST_REFUSED = 64;

/**
 * What a lane used of its quota, in request permits, as a counter on the server's side would see it. It is
 * moved on whenever an answer is heard. Instants are monotonic milliseconds.
 */
export class OwnUse {
  now = 0;
  /** Of the call that was answered; undefined where nobody knows. */
  startNumber: number | undefined;
  /** When that call started; now where nobody knows. */
  startedAt = 0;
  /** Starts, and permits taken, since the lane began; a report counts as one permit. */
  startCount = 0;
  taken = 0;
  /** Of these, at most so many were without an answer. */
  unanswered = 0;
  readonly bornAt: number;
  readonly #gate: Gate;
  /** Start numbers, rising. */
  readonly #refused: number[] = [];
  /** The most permits that one start took. */
  #most = 1;

  /** `bornAt`: when this process began to use anything. */
  constructor(gate: Gate, bornAt: number) {
    this.#gate = gate;
    this.bornAt = bornAt;
  }

  /** An answer was heard. */
  moveOn(now: number, startNumber: number | undefined, inFlight: number): void {
    const { startCount, ledger } = this.#gate;
    if (startCount > this.startCount) {
      const { sum, most } = ledger.takenByLast(startCount - this.startCount, this.#bucket);
      this.taken += sum;
      this.#most = Math.max(this.#most, most);
      this.startCount = startCount;
    }
    if (startNumber === undefined) this.taken++;
    this.now = now;
    this.startNumber = startNumber;
    const known = startNumber === undefined ? undefined : ledger.startAt(startCount - startNumber);
    this.startedAt = known ?? now;
    this.unanswered = inFlight * this.#most;
  }

  /** The call with that number was refused. */
  refuse(startNumber: number): void {
    const at = this.#refused.findLastIndex((number) => number < startNumber) + 1;
    if (this.#refused[at] === startNumber) return;
    this.#refused.splice(at, 0, startNumber);
    if (this.#refused.length > MOST_REFUSED) this.#refused.shift();
  }

  /** Starts later than the answered one. */
  get later(): number {
    return this.startNumber === undefined ? 0 : this.startCount - this.startNumber;
  }

  /** Permits that the answered call and those before it took after an instant, refused calls left out. */
  since(at: number): number {
    const { ledger } = this.#gate;
    const isPlain = this.#most === 1;
    const starts = ledger.starts(this.now - at, this.now) - this.later;
    const sum = isPlain ? starts : ledger.takenSince(at, this.#bucket, this.later);
    return Math.max(0, sum - this.refusedAmong(starts));
  }

  /** Permits that the calls after that start number took, up to the answered one, refused calls left out. */
  after(startNumber: number): number {
    const starts = (this.startNumber ?? this.startCount) - startNumber;
    const { ledger } = this.#gate;
    const sum =
      this.#most === 1
        ? starts
        : ledger.takenByLast(starts + this.later, this.#bucket).sum - ledger.takenByLast(this.later, this.#bucket).sum;
    return Math.max(0, sum - this.refusedAmong(starts));
  }

  /** How many of the last `starts` up to the answered call were refused. */
  refusedAmong(starts: number): number {
    const last = this.startNumber ?? this.startCount;
    let count = 0;
    for (let i = this.#refused.length - 1; i >= 0; i--) {
      const number = this.#refused[i]!;
      if (number <= last - starts) break;
      if (number <= last) count++;
    }
    return count;
  }

  /** Those that were refused, counted from the last start backwards. */
  refusedBackwards(): ReadonlySet<number> {
    return new Set(this.#refused.map((number) => this.#gate.startCount - number));
  }

  get #bucket(): number {
    return this.#gate.plan.quotas.findIndex(({ unit }) => unit === REQUESTS);
  }
}
