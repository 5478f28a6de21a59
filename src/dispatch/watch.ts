import { guarded, messageOf } from '../base/text.ts';
import { Projection } from '../model/projection.ts';
import type { WaitReport } from './context.ts';
import type { LaneCore } from './core.ts';
import { shown } from './expectation.ts';
import type { Waiter } from './waiter.ts';

/** `onWait` is told at most this often. */
const EVERY_MS = 1_000;
const QUARTER = 0.25;
/** In a very long line less often: at most 1 % of the time is spent on it. */
const REST = 100;

/** Tells callers how their wait goes: when it begins, then when it has changed by a quarter or a second. */
export class Watch {
  readonly #core: LaneCore;
  readonly #told = new Map<Waiter, number>();
  #lastAt = Number.NEGATIVE_INFINITY;
  #everyMs = EVERY_MS;

  constructor(core: LaneCore) {
    this.#core = core;
  }

  get dueAt(): number {
    return this.#told.size === 0 ? Number.POSITIVE_INFINITY : this.#lastAt + this.#everyMs;
  }

  begin(waiter: Waiter, report: WaitReport, now: number): void {
    if (this.#told.size === 0) this.#lastAt = now;
    this.#told.set(waiter, report.expectedMs);
    // Not in the caller's own turn: its promise does not exist yet.
    void Promise.resolve().then(() => this.#tell(waiter, report));
  }

  end(waiter: Waiter): void {
    this.#told.delete(waiter);
  }

  tick(now: number): void {
    if (now < this.dueAt) return;
    this.#lastAt = now;
    this.#tellAll(now);
    const tookMs = this.#core.ports.clock.now() - now;
    this.#everyMs = Math.max(EVERY_MS, REST * tookMs);
  }

  #tellAll(now: number): void {
    const { line, gate } = this.#core;
    const projection = new Projection(gate, now);
    let position = 0;
    for (const waiter of line.inOrder()) {
      position++;
      const before = this.#told.get(waiter);
      const at = projection.start(waiter.costs);
      if (before === undefined) continue;
      const { limitedBy, limit } = projection;
      const report = shown(this.#core, { at, position, limitedBy, limit, isLast: false }, now);
      const change = Math.abs(report.ms - before);
      if (change < EVERY_MS && change < QUARTER * before) continue;
      this.#told.set(waiter, report.ms);
      this.#tell(waiter, { position, expectedMs: report.ms, limitedBy: report.limitedBy });
    }
  }

  #tell(waiter: Waiter, report: WaitReport): void {
    if (!waiter.isInLine) return;
    const { ports, name } = this.#core;
    guarded(
      () => waiter.request.onWait?.(report),
      (error) => {
        const detail = `onWait: ${messageOf(error)}`;
        ports.bus.emit({ at: ports.clock.wallNow(), downstream: name, type: 'listener-failed', detail });
      },
    );
  }
}
