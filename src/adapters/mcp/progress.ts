import { formatDuration } from '../../base/duration.ts';
import { guarded } from '../../base/text.ts';
import type { WaitReport } from '../../dispatch/context.ts';

/** What a progress notification says. */
export interface ProgressReport {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Reports of a wait are so far apart that a whole day of them, one a second, stays below a tenth of the first step of a tool. */
const REPORTS_PER_UNIT = 1_000_000;

/**
 * The progress of one call: first that of its wait, then that of the tool. The numbers of both grow, as MCP
 * demands of them, although the tool begins to count where it likes.
 */
export class CallProgress {
  readonly #tell: (report: ProgressReport) => unknown;
  #last: number | undefined;
  #isOver = false;

  /** `tell` may throw, and may return a promise that rejects: that harms nobody. */
  constructor(tell: (report: ProgressReport) => unknown) {
    this.#tell = tell;
  }

  /** Whether anything was said of a wait: until then the tool's own numbers need no change. */
  get hasWaited(): boolean {
    return this.#last !== undefined;
  }

  waits(downstream: string, wait: WaitReport): void {
    if (this.#isOver) return;
    const report = { progress: this.#next(), message: waitMessage(downstream, wait) };
    guarded(
      () => this.#tell(report),
      () => undefined,
    );
  }

  /** Nothing is said of a wait any more. */
  ends(): void {
    this.#isOver = true;
  }

  /** What the tool says, with a number above all that were told before. */
  raised<R extends ProgressReport>(report: R): R {
    if (this.#last === undefined) return report;
    if (report.progress > this.#last) {
      this.#last = report.progress;
      return report;
    }
    return { ...report, progress: this.#next() };
  }

  #next(): number {
    const last = this.#last ?? -1 / REPORTS_PER_UNIT;
    // Whole steps: the sum of a thousand of them would not be a thousandth.
    this.#last = (Math.round(last * REPORTS_PER_UNIT) + 1) / REPORTS_PER_UNIT;
    return this.#last;
  }
}

/** `Waiting for carrier: you are number 7, about 12 s`. */
export function waitMessage(downstream: string, { position, expectedMs }: WaitReport): string {
  const place = `Waiting for ${downstream}: you are number ${position}`;
  if (!Number.isFinite(expectedMs)) return `${place}; how long is not known`;
  return `${place}, about ${formatDuration(Math.max(1, Math.ceil(expectedMs / 1_000)) * 1_000)}`;
}
