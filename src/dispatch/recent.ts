import type { RecentSnapshot } from '../base/snapshot.ts';
import { RecentWaits } from './recent-waits.ts';

const SLICE_MS = 1_000;
/**
 * The slice that is not over yet and the 59 before it. They reach back between 59 and 60 s: what is shown as the
 * last minute is never more than a minute held, or a lane that keeps its quota would look as if it did not.
 */
const SLICES = 60;
const MINUTE_S = 60;

/** Columns of a slice; the first counts starts. */
const SERVED = 1;
const REFUSED = 2;
const THROTTLED = 3;
const COLUMNS = 4;

/**
 * What the last minute of one downstream was like, the lanes of its accounts included. Instants are monotonic
 * milliseconds: a wall clock that steps changes nothing, and a minute in which the monotonic clock stood still
 * (a machine asleep) has not passed. Idle downstreams cost nothing; reading changes nothing.
 */
export class Recent {
  readonly #counts = new Uint32Array(SLICES * COLUMNS);
  #waits: RecentWaits | undefined;
  /** Slices are numbered from the clock's origin. */
  #slice: number;
  #endsAt: number;
  #row: number;

  constructor(now: number) {
    this.#slice = Math.floor(now / SLICE_MS);
    this.#endsAt = (this.#slice + 1) * SLICE_MS;
    this.#row = place(this.#slice) * COLUMNS;
  }

  /** A call has started. On the path of every call: one comparison and one count. */
  started(now: number): void {
    if (now >= this.#endsAt) this.#turn(now);
    this.#counts[this.#row]!++;
  }

  /** It had waited so long. */
  served(waitedMs: number): void {
    if (waitedMs <= 0) return;
    this.#counts[this.#row + SERVED]!++;
    this.#wait(waitedMs);
  }

  /** A call that waited was refused or aborted: what it waited was waited all the same. */
  gaveUp(waitedMs: number, now: number): void {
    if (now >= this.#endsAt) this.#turn(now);
    this.#wait(waitedMs);
  }

  refused(now: number): void {
    if (now >= this.#endsAt) this.#turn(now);
    this.#counts[this.#row + REFUSED]!++;
  }

  throttled(now: number): void {
    if (now >= this.#endsAt) this.#turn(now);
    this.#counts[this.#row + THROTTLED]!++;
  }

  read(now: number): RecentSnapshot {
    let started = 0;
    let served = 0;
    let refused = 0;
    let throttled = 0;
    const over: number[] = [];
    const counts = this.#counts;
    const first = Math.floor(now / SLICE_MS) - SLICES + 1;
    let row = this.#row;
    for (let slice = this.#slice; slice > this.#slice - SLICES; slice--) {
      if (slice < first) over.push(row / COLUMNS);
      else {
        started += counts[row]!;
        served += counts[row + SERVED]!;
        refused += counts[row + REFUSED]!;
        throttled += counts[row + THROTTLED]!;
      }
      row = row === 0 ? counts.length - COLUMNS : row - COLUMNS;
    }
    const notWaited = started - served;
    const none = notWaited > 0 ? 0 : undefined;
    const [p50, p95] = this.#waits?.quantiles([0.5, 0.95], notWaited, over) ?? [none, none];
    return {
      startsPerSecond: started / MINUTE_S,
      ...(p50 === undefined || p95 === undefined ? {} : { waitP50Ms: p50, waitP95Ms: p95 }),
      refused,
      throttled,
    };
  }

  #wait(ms: number): void {
    this.#waits ??= new RecentWaits(SLICES);
    this.#waits.record(this.#row / COLUMNS, ms);
  }

  /** Another slice has begun; those in between were empty. */
  #turn(now: number): void {
    const slice = Math.floor(now / SLICE_MS);
    for (let next = Math.max(this.#slice + 1, slice - SLICES + 1); next <= slice; next++) {
      const at = place(next);
      this.#counts.fill(0, at * COLUMNS, (at + 1) * COLUMNS);
      this.#waits?.clear(at);
    }
    this.#slice = slice;
    this.#endsAt = (slice + 1) * SLICE_MS;
    this.#row = place(slice) * COLUMNS;
  }
}

function place(slice: number): number {
  return ((slice % SLICES) + SLICES) % SLICES;
}
