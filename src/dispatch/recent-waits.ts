/** Relative error of a quantile: the true value is within 5 % of it. */
const ERROR = 0.05;
const GAMMA = (1 + ERROR) / (1 - ERROR);
const PER_LOG = 1 / Math.log(GAMMA);
/** Waits of less than a millisecond share the first bucket; those of more than a day the last. */
const LEAST_MS = 1;
const MOST_MS = 86_400_000;
const BUCKETS = bucketOf(MOST_MS) + 1;

/** Index 0 holds (0, 1 ms]; index i holds (γ^(i-1), γ^i] ms. */
function bucketOf(ms: number): number {
  return ms <= LEAST_MS ? 0 : Math.ceil(Math.log(Math.min(ms, MOST_MS)) * PER_LOG - 1e-9);
}

/**
 * How long calls waited, slice by slice of time: a histogram whose buckets grow by a constant factor, so that
 * every quantile has the same relative error whatever the range (Masson, Rim, Lee: "DDSketch: a fast and
 * fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12, 2019; buckets up to 1.105 times the
 * one before). 183 buckets for 1 ms to a day; a slice takes memory once something in it has waited.
 */
export class RecentWaits {
  readonly #slices: (Uint32Array | undefined)[];
  /** The sum of all slices, so that a reader need not add them up. */
  readonly #sum = new Float64Array(BUCKETS);
  #total = 0;

  constructor(slices: number) {
    this.#slices = new Array<Uint32Array | undefined>(slices).fill(undefined);
  }

  record(slice: number, ms: number): void {
    const bucket = bucketOf(ms);
    this.#slices[slice] ??= new Uint32Array(BUCKETS);
    this.#slices[slice]![bucket]!++;
    this.#sum[bucket]!++;
    this.#total++;
  }

  /** Forgets what a slice holds. */
  clear(slice: number): void {
    const counts = this.#slices[slice];
    if (counts === undefined) return;
    this.#total -= takeOff(this.#sum, counts);
    counts.fill(0);
  }

  /**
   * Quantiles in milliseconds of everything but the slices in `without`, together with so many calls that did
   * not wait at all; undefined where there is nothing. Changes nothing.
   */
  quantiles(at: readonly number[], notWaited: number, without: readonly number[]): (number | undefined)[] {
    let counts = this.#sum;
    let total = this.#total + notWaited;
    for (const slice of without) {
      const gone = this.#slices[slice];
      if (gone === undefined) continue;
      if (counts === this.#sum) counts = this.#sum.slice();
      total -= takeOff(counts, gone);
    }
    return at.map((q) => (total === 0 ? undefined : valueAt(counts, notWaited, q * (total - 1))));
  }
}

/** Takes some counts off others; how many that were. */
function takeOff(from: Float64Array, counts: Uint32Array): number {
  let total = 0;
  for (let i = 0; i < BUCKETS; i++) {
    const count = counts[i]!;
    if (count === 0) continue;
    from[i]! -= count;
    total += count;
  }
  return total;
}

/** The value of the item with this rank, the first being 0. */
function valueAt(counts: Float64Array, notWaited: number, rank: number): number {
  let upTo = notWaited;
  if (upTo > rank) return 0;
  for (let i = 0; i < BUCKETS; i++) {
    upTo += counts[i]!;
    if (upTo > rank) return i === 0 ? LEAST_MS : (2 * GAMMA ** i) / (GAMMA + 1);
  }
  return MOST_MS;
}
