import type { HoldCause } from '../base/words.ts';

/** "No start before this instant", kept per cause; holds only ever extend, and the latest counts. */
export class Holds {
  readonly #until = new Map<HoldCause, number>();
  /** Monotonic milliseconds; 0 when nothing was ever held. */
  until = 0;
  /** The cause that ends last. */
  cause: HoldCause = 'cooldown';

  /** Whether this hold ends later than that cause's hold did before. */
  extend(cause: HoldCause, until: number): boolean {
    if (until <= (this.#until.get(cause) ?? 0)) return false;
    this.#until.set(cause, until);
    this.#settle();
    return true;
  }

  /** Ends the holds of these causes. */
  end(causes: readonly HoldCause[]): void {
    for (const cause of causes) this.#until.delete(cause);
    this.#settle();
  }

  /** When one cause's hold ends; 0 if it never held. */
  untilOf(cause: HoldCause): number {
    return this.#until.get(cause) ?? 0;
  }

  /** Holds in force, as cause and instant. */
  inForce(now: number): [HoldCause, number][] {
    return [...this.#until].filter(([, until]) => until > now);
  }

  #settle(): void {
    this.until = 0;
    for (const [cause, until] of this.#until) {
      if (until <= this.until) continue;
      this.until = until;
      this.cause = cause;
    }
  }
}
