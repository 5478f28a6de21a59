import type { OwnUse } from './own-use.ts';

/** With no more than this taken a bucket is as good as full. */
const FULL = 2;

/**
 * What others take out of a bucket of the provider's: what is missing, and what has flowed in since it was
 * last full, less what we took. While something is missing it fills at its rate, so that each step between
 * two answers says no more than is certain.
 */
export class Drain {
  /** Since the bucket was last full, or first heard of. Permits. */
  others = 0;
  ours = 0;
  filled = 0;
  /** When that was; monotonic milliseconds. */
  since: number | undefined;
  #missing = 0;
  #at = 0;
  #startNumber = 0;

  /** `missing`: permits; `perMs`: the rate at which it fills. Answers to earlier calls than the last are passed over. */
  hear(missing: number, perMs: number, use: OwnUse): void {
    const { now, startNumber } = use;
    if (startNumber === undefined || (this.since !== undefined && startNumber <= this.#startNumber)) return;
    if (this.since === undefined || missing <= FULL) {
      this.since = now;
      this.others = this.ours = this.filled = 0;
    } else {
      const filled = Math.min(this.#missing, (now - this.#at) * perMs);
      const ours = use.after(this.#startNumber);
      this.others += missing - this.#missing + filled - ours;
      this.ours += ours;
      this.filled += filled;
    }
    this.#missing = missing;
    this.#at = now;
    this.#startNumber = startNumber;
  }
}
