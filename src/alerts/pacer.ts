import Bottleneck from 'bottleneck';
import { systemClock } from '../base/clock.ts';

/**
 * Lets one job run at a time, each `spacingMs` after the last began, never in the turn that asks for it.
 * By the machine's own clocks, as Bottleneck is: a clock that a test moves does not move it.
 */
export class Pacer {
  readonly #spacingMs: number;
  #limiter: Bottleneck | undefined;
  #wallSeen = 0;
  #beganAt = Number.NEGATIVE_INFINITY;

  constructor(spacingMs: number) {
    this.#spacingMs = spacingMs;
  }

  /** One job at a time may be handed in. Resolves when it has ended, however it did. */
  run(job: () => Promise<void>): Promise<void> {
    return this.#pacing()
      .schedule(() => this.#begin(job))
      .catch(() => undefined);
  }

  /** What has not begun never will. */
  stop(): void {
    void this.#limiter?.stop({ dropWaitingJobs: true }).catch(() => undefined);
    this.#limiter = undefined;
  }

  /** Bottleneck counts from the instant at which it let the last job go, and that one may have begun some turns later. */
  async #begin(job: () => Promise<void>): Promise<void> {
    for (;;) {
      const earlyMs = this.#beganAt + this.#spacingMs - systemClock.now();
      if (earlyMs <= 0) break;
      await new Promise<void>((resolve) => {
        systemClock.setTimer(earlyMs, resolve);
      });
    }
    this.#beganAt = systemClock.now();
    await job();
  }

  /** Bottleneck paces by the wall clock: after a step back it would sit the whole step out. */
  #pacing(): Bottleneck {
    const wallMs = systemClock.wallNow();
    const hasSteppedBack = wallMs < this.#wallSeen;
    this.#wallSeen = wallMs;
    if (this.#limiter === undefined || hasSteppedBack) {
      this.#limiter = new Bottleneck({ maxConcurrent: 1, minTime: this.#spacingMs });
    }
    return this.#limiter;
  }
}
