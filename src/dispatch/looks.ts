import { DUE_MS } from '../base/clock.ts';
import { Projection } from '../model/projection.ts';
import { isPaused, type LaneCore } from './core.ts';
import { type Endings, mark, missed } from './endings.ts';
import { paused } from './refusals.ts';
import { limitOf } from './request.ts';
import type { Waiter } from './waiter.ts';

/** A look may take this many times its own duration to come again: 1 % of the time at most. */
const REST = 99;

/**
 * Finds the waiters that cannot make it any more, when the outlook has worsened. The lane knows the
 * smallest slack among its waiters; only when what has worsened since the last look exceeds it, one pass
 * in order of service is made, at most one per turn.
 */
export class Looks {
  readonly #core: LaneCore;
  readonly #endings: Endings;
  readonly #done: () => void;
  #slackMs = Number.POSITIVE_INFINITY;
  #worsenedMs = 0;
  #isDue = false;
  #isScheduled = false;
  #notBefore = 0;

  constructor(core: LaneCore, endings: Endings, done: () => void) {
    this.#core = core;
    this.#endings = endings;
    this.#done = done;
  }

  /** When a look that had to be put off may be made; Infinity if none is due. */
  get dueAt(): number {
    return this.#isDue && !this.#isScheduled ? this.#notBefore : Number.POSITIVE_INFINITY;
  }

  /** A waiter has come with this much time to spare, were everybody before it; negative: it may be too late. */
  arrived(slackMs: number): void {
    this.#slackMs = Math.min(this.#slackMs, slackMs + this.#worsenedMs);
    this.worsen(0);
  }

  /** All waiters, or some, will start this much later than was thought. */
  worsen(byMs: number): void {
    this.#worsenedMs += byMs;
    if (this.#worsenedMs > this.#slackMs + DUE_MS) this.lookSoon();
  }

  /** A look at the end of this turn. */
  lookSoon(): void {
    this.#isDue = true;
    if (this.#isScheduled || this.#core.ports.clock.now() < this.#notBefore) return;
    this.#isScheduled = true;
    void Promise.resolve().then(() => {
      this.#isScheduled = false;
      this.lookIfDue();
      this.#done();
    });
  }

  lookIfDue(): void {
    if (!this.#isDue || this.#core.ports.clock.now() < this.#notBefore) return;
    this.#isDue = false;
    const { clock } = this.#core.ports;
    const from = clock.now();
    this.#look(from);
    const to = clock.now();
    this.#notBefore = to + REST * (to - from);
  }

  #look(now: number): void {
    const { line, gate, entering } = this.#core;
    const mayNotWait = isPaused(gate, now) && gate.plan.whilePaused === 'refuse';
    const projection = new Projection(gate, now);
    if (entering.count > 0) {
      projection.start(entering.first);
      projection.skip({ ...entering.ahead, count: entering.count - 1 });
    }
    let slackMs = Number.POSITIVE_INFINITY;
    const marked: Waiter[] = [];
    for (const waiter of line.inOrder()) {
      const limit = limitOf(waiter.request);
      const at = projection.due(waiter.costs);
      const outlook = { at, limitedBy: projection.limitedBy, limit: projection.limit };
      const isLimited = limit !== Number.POSITIVE_INFINITY;
      const refusal = isLimited && at > limit + DUE_MS ? missed(waiter) : !isLimited && mayNotWait ? paused : undefined;
      if (refusal !== undefined || waiter.ending !== undefined) {
        if (refusal !== undefined && mark(waiter, this.#endings.refusing(refusal, now, outlook))) marked.push(waiter);
        continue;
      }
      if (isLimited) slackMs = Math.min(slackMs, limit - at);
      projection.start(waiter.costs);
    }
    this.#slackMs = slackMs;
    this.#worsenedMs = 0;
    this.#endings.leave(marked);
  }
}
