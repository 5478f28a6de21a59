import { DUE_MS } from '../base/clock.ts';
import { Projection } from '../model/projection.ts';
import type { LaneCore } from './core.ts';
import { type Endings, mark, missed } from './endings.ts';
import { known } from './expectation.ts';
import { paused, type Refusal } from './refusals.ts';
import { limitOf } from './request.ts';
import type { Waiter } from './waiter.ts';

/** A look may take this many times its own duration to come again: 1 % of the time at most. */
const REST = 99;
/** One go of a look over very many takes this long at most; a look at the clock every so many. */
const SLICE_MS = 5;
/** The first one comes at the end of a turn that has had work of its own: a storm of 429s, say. */
const FIRST_MS = 1;
const BATCH = 64;

/** A look under way: what is left of it, and what it has found. Instants are those of its beginning. */
interface Pass {
  readonly order: Iterator<Waiter>;
  readonly projection: Projection;
  readonly now: number;
  readonly mayNotWait: boolean;
  isOver: boolean;
  slackMs: number;
  tookMs: number;
}

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
  #pass: Pass | undefined;

  constructor(core: LaneCore, endings: Endings, done: () => void) {
    this.#core = core;
    this.#endings = endings;
    this.#done = done;
  }

  /** When a look that had to be put off may be made; Infinity if none is due. */
  get dueAt(): number {
    if (this.#pass !== undefined || !this.#isDue || this.#isScheduled) return Number.POSITIVE_INFINITY;
    return this.#notBefore;
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
    if (!this.#isDue || this.#pass !== undefined || this.#core.ports.clock.now() < this.#notBefore) return;
    this.#isDue = false;
    this.#pass = this.#begin();
    this.#worsenedMs = 0;
    this.#slackMs = Number.POSITIVE_INFINITY;
    this.#goOn(this.#pass, FIRST_MS);
  }

  #begin(): Pass {
    const { line, gate, entering, ports } = this.#core;
    const now = ports.clock.now();
    const projection = new Projection(gate, now);
    if (entering.count > 0) {
      projection.start(entering.first);
      projection.skip({ ...entering.ahead, count: entering.count - 1 });
    }
    const mayNotWait = gate.isPaused(now) && gate.plan.whilePaused === 'refuse';
    // Nobody has a limit, and whoever waits may: nobody can be hurt.
    const isOver = this.#endings.limited === 0 && !mayNotWait;
    const order = line.inOrder()[Symbol.iterator]();
    const tookMs = ports.clock.now() - now;
    return { order, projection, now, mayNotWait, isOver, slackMs: Number.POSITIVE_INFINITY, tookMs };
  }

  /** One go: very many waiters are looked at in several, so that the event loop is not held up. */
  #goOn(pass: Pass, mostMs: number): void {
    const { clock } = this.#core.ports;
    const from = clock.now();
    const marked: Waiter[] = [];
    let now = from;
    while (!pass.isOver && now < from + mostMs) {
      for (let left = BATCH; left > 0 && !pass.isOver; left--) {
        const { value, done } = pass.order.next();
        if (done === true) pass.isOver = true;
        else this.#lookAt(value, pass, marked);
      }
      now = clock.now();
    }
    this.#endings.leave(marked);
    pass.tookMs += clock.now() - from;
    if (!pass.isOver) {
      clock.setTimer(1, () => {
        this.#goOn(pass, SLICE_MS);
        this.#done();
      });
      return;
    }
    this.#pass = undefined;
    this.#slackMs = Math.min(this.#slackMs, pass.slackMs);
    this.#notBefore = clock.now() + REST * pass.tookMs;
  }

  #lookAt(waiter: Waiter, pass: Pass, marked: Waiter[]): void {
    if (!waiter.isInLine || waiter.ending !== undefined) return;
    const { projection } = pass;
    const { gate } = this.#core;
    const limit = limitOf(waiter.request);
    // An engine says nothing of when: only what holds the lane itself is certain.
    const certain = gate.plan.engine === 'bottleneck' ? known(this.#core, waiter.costs, pass.now) : undefined;
    const at = certain?.at ?? projection.due(waiter.costs);
    let refusal: Refusal | undefined;
    if (limit === Number.POSITIVE_INFINITY) refusal = pass.mayNotWait ? paused : undefined;
    else if (at > limit + DUE_MS) refusal = missed(waiter);
    else pass.slackMs = Math.min(pass.slackMs, limit - at);
    if (refusal === undefined) {
      projection.start(waiter.costs);
      return;
    }
    const outlook = certain ?? { at, limitedBy: projection.limitedBy, limit: projection.limit };
    if (mark(waiter, this.#endings.refusing(refusal, pass.now, outlook))) marked.push(waiter);
  }
}
