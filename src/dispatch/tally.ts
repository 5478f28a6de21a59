import type { ErrorCode } from '../base/errors.ts';
import type { LaneTotals } from '../base/snapshot.ts';
import type { Outcome } from '../base/words.ts';

/** Counts of a lane since it was made. */
export class Tally {
  calls = 0;
  started = 0;
  aborted = 0;
  throttled = 0;
  lastThrottledAt: number | undefined;
  readonly refused = new Map<ErrorCode, number>();
  readonly settled: Record<Outcome, number> = {
    success: 0,
    throttled: 0,
    overloaded: 0,
    exhausted: 0,
    failed: 0,
    cancelled: 0,
  };

  refuse(code: ErrorCode): void {
    this.refused.set(code, (this.refused.get(code) ?? 0) + 1);
  }

  get refusals(): number {
    let sum = 0;
    for (const count of this.refused.values()) sum += count;
    return sum;
  }

  read(): LaneTotals {
    const { calls, started, aborted, throttled } = this;
    return {
      calls,
      started,
      aborted,
      throttled,
      refused: Object.fromEntries(this.refused),
      settled: { ...this.settled },
    };
  }

  /** Adds what another lane of the same downstream counted. */
  add(other: Tally): void {
    this.calls += other.calls;
    this.started += other.started;
    this.aborted += other.aborted;
    this.throttled += other.throttled;
    this.lastThrottledAt = Math.max(this.lastThrottledAt ?? 0, other.lastThrottledAt ?? 0) || undefined;
    for (const [code, count] of other.refused) this.refused.set(code, (this.refused.get(code) ?? 0) + count);
    for (const outcome of Object.keys(this.settled) as Outcome[]) this.settled[outcome] += other.settled[outcome];
  }
}
