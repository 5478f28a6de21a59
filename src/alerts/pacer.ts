import Bottleneck from 'bottleneck';
import type { Clock } from '../base/clock.ts';

/** Lets one job run at a time, each `spacingMs` after the last began, never in the turn that asks for it. */
export class Pacer {
  readonly #clock: Clock;
  readonly #spacingMs: number;
  #limiter: Bottleneck | undefined;
  #wallSeen = 0;

  constructor(clock: Clock, spacingMs: number) {
    this.#clock = clock;
    this.#spacingMs = spacingMs;
  }

  /** One job at a time may be handed in. Resolves when it has ended, however it did. */
  run(job: () => Promise<void>): Promise<void> {
    return this.#pacing()
      .schedule(job)
      .catch(() => undefined);
  }

  /** What has not begun never will. */
  stop(): void {
    void this.#limiter?.stop({ dropWaitingJobs: true }).catch(() => undefined);
    this.#limiter = undefined;
  }

  /** Bottleneck paces by the wall clock: after a step back it would sit the whole step out. */
  #pacing(): Bottleneck {
    const wallMs = this.#clock.wallNow();
    const hasSteppedBack = wallMs < this.#wallSeen;
    this.#wallSeen = wallMs;
    if (this.#limiter === undefined || hasSteppedBack) {
      this.#limiter = new Bottleneck({ maxConcurrent: 1, minTime: this.#spacingMs });
    }
    return this.#limiter;
  }
}
