import { getEventListeners } from 'node:events';
import { isAdmissionError } from '../../../src/base/errors.ts';
import type { Call } from '../../../src/dispatch/context.ts';
import { createDispatcher, type Dispatcher } from '../../../src/dispatcher.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../../src/policy/input.ts';
import { ManualClock } from '../../../src/testing.ts';

const NAME = 'api';
const LIMIT = 40;
const UTILIZATION = 0.8;
const BURST = 6;
const PER_MS = (LIMIT * UTILIZATION) / 1_000;
/** So many signals that may still fire. */
const LIVE = 6;

interface Racer {
  readonly cost: number;
  readonly controller: AbortController | undefined;
  fnRuns: number;
  answers: number;
  error: unknown;
  /** What it has taken, as corrected. */
  taken: number;
  call: Call | undefined;
  finish: (() => void) | undefined;
  isOver: boolean;
  /** It was over a turn ago: by now its lane knows that too. */
  isKnownOver: boolean;
  lateSettles: number;
}

/** What a bucket holds, counted in permits that went in and came out, and not as an instant. */
class Purse {
  refilled = BURST;
  granted = 0;
  /** Over the brim, and what a hold does not let anybody save. */
  lost = 0;
  heldUntil = 0;
  #holdEnd: number | undefined;
  #at = 0;

  get level(): number {
    return this.refilled - this.granted - this.lost;
  }

  refill(now: number): void {
    this.refilled += Math.min(BURST - this.level, (now - this.#at) * PER_MS);
    this.#at = now;
  }

  start(cost: number, now: number): void {
    this.refill(now);
    this.granted += cost;
    const end = this.#holdEnd;
    this.#holdEnd = undefined;
    if (end !== undefined && now < end + BURST / PER_MS) this.lost += Math.max(0, this.level);
  }

  correct(by: number, now: number): void {
    this.refill(now);
    this.granted += by;
    this.lost += Math.max(0, this.level - BURST);
  }

  hold(until: number): void {
    if (until <= this.heldUntil) return;
    this.heldUntil = this.#holdEnd = until;
  }

  resume(now: number): void {
    if (this.heldUntil > now) this.#holdEnd = now;
    this.heldUntil = 0;
  }
}

/** Many small races on one lane: whatever happens in whichever microtask, the books must be right. */
export class Race {
  readonly faults: string[] = [];
  readonly #draw: () => number;
  readonly #clock = new ManualClock();
  readonly #dispatcher: Dispatcher;
  readonly #purse = new Purse();
  readonly #racers: Racer[] = [];
  #live: AbortController[] = [];
  readonly #signals: AbortController[] = [];
  #fnRuns = 0;

  constructor(draw: () => number) {
    this.#draw = draw;
    const policy: DownstreamPolicyInput = {
      quota: [{ limit: LIMIT, per: 1_000, burst: BURST }],
      utilization: UTILIZATION,
      ...(this.#one(2) ? { maxConcurrent: 2 } : {}),
      ...(this.#one(4) ? { maxWait: 200 } : {}),
      leaseGrace: 'never',
    };
    const options = { clock: this.#clock, env: {}, alertSinks: [] };
    this.#dispatcher = createDispatcher({ downstreams: { [NAME]: policy } } as PolicyInput, options);
    // Half of the time nobody listens: some steps are left out then.
    if (this.#one(2)) this.#dispatcher.subscribe(() => undefined);
  }

  async rounds(count: number): Promise<void> {
    for (let i = 0; i < count && this.faults.length === 0; i++) {
      for (let moves = 2 + this.#below(3); moves > 0; moves--) {
        this.#move();
        for (let microtasks = this.#below(4); microtasks > 0; microtasks--) await undefined;
      }
      await this.#clock.advance(this.#one(3) ? 0 : this.#below(60));
      this.#look(`round ${i}`);
    }
    await this.#end();
  }

  #move(): void {
    const which = this.#below(10);
    if (which < 4) this.#call();
    else if (which < 6) this.#abort();
    else if (which < 8) this.#pick(({ finish }) => finish !== undefined)?.finish?.();
    else if (which < 9) this.#settle();
    else this.#hold();
  }

  #call(): void {
    const controller = this.#one(2) ? this.#signal() : undefined;
    const cost = 1 + this.#below(3);
    const deadline = this.#one(3) ? this.#clock.wallNow() + this.#below(250) : undefined;
    const racer: Racer = {
      cost,
      controller,
      fnRuns: 0,
      answers: 0,
      error: undefined,
      taken: cost,
      call: undefined,
      finish: undefined,
      isOver: false,
      isKnownOver: false,
      lateSettles: 0,
    };
    this.#racers.push(racer);
    const answer = this.#dispatcher.callDownstream(NAME, (call) => this.#fn(racer, call), {
      cost,
      deadline,
      signal: controller?.signal,
      priority: this.#one(5) ? 'interactive' : undefined,
    });
    if (racer.fnRuns > 0) this.faults.push('fn ran before callDownstream had returned');
    const answered = (error: unknown): void => {
      racer.answers++;
      racer.error = error;
    };
    answer.then(() => answered(undefined), answered);
  }

  #fn(racer: Racer, call: Call): Promise<void> | undefined {
    const { controller } = racer;
    const now = this.#clock.now();
    this.#fnRuns++;
    racer.fnRuns++;
    racer.call = call;
    if (controller?.signal.aborted === true) this.faults.push('fn ran after its signal had fired');
    if (now < this.#purse.heldUntil - 1e-6) this.faults.push('fn ran within a hold');
    this.#purse.refill(now);
    if (this.#purse.level < racer.cost - 1e-4) this.faults.push(`${racer.cost} of ${this.#purse.level} were granted`);
    this.#purse.start(racer.cost, now);
    // What others do in the very step in which this one was let in.
    if (this.#one(3)) this.#move();
    if (this.#one(3)) {
      racer.isOver = true;
      return undefined;
    }
    return new Promise((resolve) => {
      racer.finish = () => {
        racer.finish = undefined;
        racer.isOver = true;
        resolve();
      };
    });
  }

  #abort(): void {
    const controller = this.#live[this.#below(LIVE)];
    if (controller === undefined) return;
    this.#live = this.#live.filter((one) => one !== controller);
    controller.abort(new Error('abort'));
  }

  #settle(): void {
    const racer = this.#pick(({ call, isOver, isKnownOver, lateSettles }) => {
      return call !== undefined && (!isOver || (isKnownOver && lateSettles < 2));
    });
    if (racer === undefined) return;
    const permits = this.#below(6);
    racer.call!.settle(permits);
    // Once after the end it still counts; then no more.
    if (racer.isOver && racer.lateSettles++ > 0) return;
    this.#purse.correct(permits - racer.taken, this.#clock.now());
    racer.taken = permits;
  }

  #hold(): void {
    if (this.#one(2)) {
      const ms = this.#below(80);
      this.#purse.hold(this.#clock.now() + ms);
      this.#dispatcher.pause(NAME, { for: ms });
    } else {
      this.#purse.resume(this.#clock.now());
      this.#dispatcher.resume(NAME);
    }
  }

  #signal(): AbortController {
    const known = this.#live[this.#below(LIVE)];
    if (known !== undefined) return known;
    const fresh = new AbortController();
    this.#live.push(fresh);
    this.#signals.push(fresh);
    return fresh;
  }

  #look(when: string): void {
    const one = this.#dispatcher.snapshot().downstreams[0]!;
    this.#purse.refill(this.#clock.now());
    const { permits } = one.quotas[0]!;
    const { level, refilled, granted, lost } = this.#purse;
    if (Math.abs(permits - level) > 1e-6)
      this.faults.push(`${when}: ${permits} permits, where ${refilled} - ${granted} - ${lost} = ${level} are left`);
    if (one.totals.started !== this.#fnRuns)
      this.faults.push(`${when}: ${one.totals.started} were granted, ${this.#fnRuns} ran`);
    let open = 0;
    for (const { fnRuns, isOver } of this.#racers) if (fnRuns > 0 && !isOver) open++;
    if (one.running !== open) this.faults.push(`${when}: ${one.running} are said to run, ${open} do`);
    this.#forget();
  }

  /** Those that are over and were answered once are no longer of interest; they must be looked at before. */
  #forget(): void {
    for (const racer of this.#racers) {
      const { answers, fnRuns, error, isOver } = racer;
      racer.isKnownOver = isOver;
      if (answers > 1 || fnRuns > 1) this.faults.push(`${answers} answers, ${fnRuns} runs`);
      if (answers === 1 && fnRuns === 0 && error === undefined) this.faults.push('an answer without a run');
      if (isOver && answers === 0) this.faults.push('over, and nobody was told');
      if (isAdmissionError(error) && error.started !== fnRuns > 0) this.faults.push(`${error.message}: ${fnRuns} runs`);
    }
    const recent = this.#racers.filter(({ answers, fnRuns, isOver }, i) => {
      const isDone = answers === 1 && (fnRuns === 0 || isOver);
      return !isDone || i >= this.#racers.length - 4;
    });
    this.#racers.splice(0, this.#racers.length, ...recent);
  }

  async #end(): Promise<void> {
    this.#dispatcher.resume(NAME);
    this.#purse.resume(this.#clock.now());
    for (
      let i = 0;
      i < 1_000 && this.#racers.some(({ answers, isOver, fnRuns }) => answers === 0 || (fnRuns > 0 && !isOver));
      i++
    ) {
      for (const { finish } of this.#racers) finish?.();
      await this.#clock.advance(100);
    }
    for (const { answers } of this.#racers) if (answers !== 1) this.faults.push(`${answers} answers at the end`);
    this.#look('at the end');
    const { running, queued, overdue, totals } = this.#dispatcher.snapshot().downstreams[0]!;
    if (running + queued + overdue > 0)
      this.faults.push(`${running} run, ${queued} wait, ${overdue} are overdue at the end`);
    const ended = Object.values(totals.settled).reduce((sum, n) => sum + n, 0);
    if (ended !== totals.started) this.faults.push(`${totals.started} started, ${ended} settled`);
    if (this.#clock.pendingTimers > 0) this.faults.push(`${this.#clock.pendingTimers} timers are left`);
    const listeners = this.#signals.reduce((sum, { signal }) => sum + getEventListeners(signal, 'abort').length, 0);
    if (listeners > 0) this.faults.push(`${listeners} listeners are left`);
  }

  #pick(fits: (racer: Racer) => boolean): Racer | undefined {
    const fitting = this.#racers.filter(fits);
    return fitting[this.#below(Math.max(1, fitting.length))];
  }

  #below(n: number): number {
    return Math.floor(this.#draw() * n);
  }

  #one(inSo: number): boolean {
    return this.#below(inSo) === 0;
  }
}

/** Numbers in [0, 1) from a seed (xorshift, 32 bits). */
export function drawsFrom(seed: number): () => number {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state = (state ^ (state << 5)) >>> 0;
    return state / 2 ** 32;
  };
}
