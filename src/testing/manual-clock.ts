import { type Clock, LONGEST_TIMER_MS } from '../base/clock.ts';
import { turn } from './macrotask.ts';
import { type ManualTimer, TimerHeap } from './timer-heap.ts';

const DEFAULT_WALL_MS = 1_767_225_600_000; // 2026-01-01T00:00:00Z

/** What happens to monotonic time while the machine sleeps: it depends on the platform. */
export interface SuspendOptions {
  /** `frozen` (default): as on Linux. `advancing`: as on Windows; every timer is then overdue at once. */
  readonly monotonic?: 'frozen' | 'advancing';
}

/**
 * A clock that stands still until it is told to move, for tests.
 *
 * `now()` starts at 0. Deadlines are wall-clock times: `clock.wallNow() + 30_000`.
 *
 * @example
 * const clock = new ManualClock();
 * const dispatcher = createDispatcher(policy, { clock });
 * const answer = dispatcher.callDownstream('carrier', fetchStatus);
 * await clock.advance(1_250);
 */
export class ManualClock implements Clock {
  readonly #timers = new TimerHeap();
  readonly #violations: string[] = [];
  #nowMs = 0;
  #wallAheadMs: number;
  #timersSet = 0;
  #keptAlive = 0;
  #idle = 0;
  #tail: Promise<unknown> = Promise.resolve();

  /** `wallMs`: the wall clock at the start, epoch milliseconds; default 2026-01-01T00:00:00Z. */
  constructor(start: { readonly wallMs?: number } = {}) {
    this.#wallAheadMs = finite(start.wallMs ?? DEFAULT_WALL_MS, 'wallMs');
  }

  now(): number {
    return this.#nowMs;
  }

  wallNow(): number {
    return this.#wallAheadMs + this.#nowMs;
  }

  /**
   * The delay is kept exactly. One that no platform takes as it is (0, negative, NaN, above 2^31-1)
   * is recorded in `violations` and clamped as the machine's clock does it: to 1 or to 2^31-1.
   */
  setTimer(delayMs: number, fire: () => void, options?: { keepAlive?: boolean }): () => void {
    const timer: ManualTimer = {
      atMs: this.#nowMs + this.#clamped(delayMs),
      order: this.#timersSet++,
      fire,
      keepAlive: options?.keepAlive ?? true,
      index: -1,
    };
    this.#timers.add(timer);
    this.#count(timer, 1);
    return () => this.#take(timer);
  }

  /**
   * Moves both clocks by `ms`, and on the way runs every timer that falls due, each at its own
   * instant, those set by others included. Promises settle before the first, after each, and at the
   * end; `advance(0)` does just that. Rejects with whatever a timer throws; the clock then stands at
   * that timer's instant. Calls that overlap are carried out one after the other.
   */
  advance(ms: number): Promise<void> {
    const byMs = notNegative(ms, 'advance');
    return this.#inTurn(async () => {
      const untilMs = this.#nowMs + byMs;
      await turn();
      for (;;) {
        await this.#runUntil(untilMs);
        this.#nowMs = Math.max(this.#nowMs, untilMs);
        await turn();
        // Promises that settled at the very end may have set timers that are due already.
        if ((this.#timers.first?.atMs ?? Number.POSITIVE_INFINITY) > this.#nowMs) return;
      }
    });
  }

  /** The wall clock steps by `ms`, backwards if negative; monotonic time and timers do not notice. */
  jumpWall(ms: number): void {
    this.#wallAheadMs += finite(ms, 'jumpWall');
  }

  /**
   * The machine sleeps for `ms`: wall time passes and no timer runs. On waking, those that are
   * overdue by monotonic time run at once, in order.
   */
  suspend(ms: number, options: SuspendOptions = {}): Promise<void> {
    const byMs = notNegative(ms, 'suspend');
    return this.#inTurn(async () => {
      await turn();
      if (options.monotonic === 'advancing') this.#nowMs += byMs;
      else this.#wallAheadMs += byMs;
      await this.#runUntil(this.#nowMs);
      await turn();
    });
  }

  /**
   * Runs the next timer up to `ms` before it is due, as the timers of some platforms do. Time moves
   * to that instant first (never backwards). Nothing happens where no timer is pending.
   */
  fireEarly(ms: number): Promise<void> {
    const byMs = notNegative(ms, 'fireEarly');
    return this.#inTurn(async () => {
      await turn();
      const next = this.#timers.first;
      if (next === undefined) return;
      this.#fire(next, next.atMs - byMs);
      await turn();
    });
  }

  /** Pending timers that keep the process alive. */
  get pendingTimers(): number {
    return this.#keptAlive;
  }

  /** Pending timers that let the process exit. */
  get idleTimers(): number {
    return this.#idle;
  }

  /** Milliseconds until the next timer is due; `undefined` where none is pending. */
  get nextTimerInMs(): number | undefined {
    const next = this.#timers.first;
    return next === undefined ? undefined : Math.max(0, next.atMs - this.#nowMs);
  }

  /** How many timers have been set since the start, cancelled ones included. */
  get timersSet(): number {
    return this.#timersSet;
  }

  /** One sentence for each timer whose delay was 0, negative, NaN or above 2^31-1. */
  get violations(): readonly string[] {
    return this.#violations;
  }

  #inTurn(run: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(run);
    this.#tail = done.catch(() => undefined);
    return done;
  }

  async #runUntil(untilMs: number): Promise<void> {
    for (let next = this.#timers.first; next !== undefined; next = this.#timers.first) {
      if (next.atMs > untilMs) return;
      this.#fire(next, next.atMs);
      await turn();
    }
  }

  #fire(timer: ManualTimer, atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
    this.#take(timer);
    timer.fire();
  }

  #take(timer: ManualTimer): void {
    if (this.#timers.remove(timer)) this.#count(timer, -1);
  }

  #count(timer: ManualTimer, by: 1 | -1): void {
    if (timer.keepAlive) this.#keptAlive += by;
    else this.#idle += by;
  }

  #clamped(delayMs: number): number {
    if (delayMs > 0 && delayMs <= LONGEST_TIMER_MS) return delayMs;
    this.#violations.push(`at ${this.#nowMs} ms a timer was set with a delay of ${delayMs} ms`);
    return delayMs > LONGEST_TIMER_MS ? LONGEST_TIMER_MS : 1;
  }
}

function finite(value: number, name: string): number {
  if (!Number.isFinite(value)) throw new RangeError(`${name}: expected a number of milliseconds, found ${value}`);
  return value;
}

function notNegative(value: number, name: string): number {
  if (finite(value, name) < 0) throw new RangeError(`${name}: time does not run backwards, found ${value} ms`);
  return value;
}
