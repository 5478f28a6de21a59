/** Answers in a row that must fit. */
const AGREEING = 8;
/** So different must be what was used in them. */
const DIFFERENT = 3;
/** Resets are told in whole seconds. */
const SLACK_MS = 1_000;

/**
 * Recognises a bucket by its reset: the time until it is full again, which goes up with every permit that
 * is taken. The end of a window comes nearer meanwhile.
 */
export class Filling {
  #run = 0;
  #least = 0;
  #most = 0;

  hear(used: number, resetMs: number | undefined, msPerPermit: number): void {
    const isFull = resetMs !== undefined && Math.abs(resetMs - used * msPerPermit) <= SLACK_MS + msPerPermit;
    if (!isFull) {
      this.#run = 0;
      return;
    }
    if (this.#run++ === 0) this.#least = this.#most = used;
    this.#least = Math.min(this.#least, used);
    this.#most = Math.max(this.#most, used);
  }

  get isBucket(): boolean {
    return this.#run >= AGREEING && this.#most - this.#least >= DIFFERENT;
  }
}
