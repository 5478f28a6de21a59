import type { Clock } from '../base/clock.ts';
import { type FakeHeaders, quotaHeaders, quotasNow } from './fake-headers.ts';
import { checkAbove0, type FakeLimit, type LimitState, limitState } from './fake-limits.ts';
import { type Start, windowMax } from './window-max.ts';

/**
 * What a refused caller is told: whole seconds rounded up (`seconds`, the default), seconds with
 * a fraction (`fraction`), nothing (`none`), or headers of your own.
 */
export type FakeHint =
  | 'seconds'
  | 'fraction'
  | 'none'
  | ((refusal: { readonly retryAfterMs: number }) => Record<string, string>);

/** One limit directly, or several in `limits`; all of them are enforced. */
export interface FakeDownstreamOptions extends Partial<FakeLimit> {
  readonly clock: Clock;
  readonly limits?: readonly FakeLimit[];
  readonly retryAfter?: FakeHint;
  /** What every answer says of the limits; default `none`. */
  readonly headers?: FakeHeaders;
  /** What a call costs that does not say; default 1. */
  readonly cost?: number;
  /** Refused calls use up the quota too; default false. */
  readonly countsRefused?: boolean;
}

/** One call as the fake downstream saw it. */
export interface FakeCall extends Start {
  readonly consumer: string;
  readonly cost: number;
  readonly status: number;
}

/** Somebody else who uses the same quota, at a fixed pace and without looking at the answers. */
export interface FakeConsumer {
  readonly name: string;
  /** Milliseconds between two calls, above 0. */
  readonly everyMs: number;
  /** From now until the first call; default `everyMs`. 0: it is made at once. */
  readonly phaseMs?: number;
  readonly cost?: number;
}

/**
 * A downstream that enforces a quota of its own and answers 200 or 429 at once, on the clock it is
 * given. It knows nothing of Penstock: what it counts is what a real one would have counted.
 *
 * @example
 * const server = new FakeDownstream({ clock, limit: 60, windowMs: 60_000 });
 * server.addConsumer({ name: 'nightly sync', everyMs: 9_000 });
 * await dispatcher.callDownstream('carrier', () => server.call());
 * server.count({ status: 429 }); // 0
 */
export class FakeDownstream {
  readonly #clock: Clock;
  readonly #limits: readonly FakeLimit[];
  readonly #states: readonly LimitState[];
  readonly #hint: FakeHint;
  readonly #told: FakeHeaders;
  readonly #defaultCost: number;
  readonly #countsRefused: boolean;
  readonly #calls: FakeCall[] = [];
  readonly #scripted: { readonly status: number; readonly headers: Record<string, string> }[] = [];

  constructor(options: FakeDownstreamOptions) {
    this.#clock = options.clock;
    this.#limits = limitsOf(options);
    this.#states = this.#limits.map(limitState);
    this.#hint = options.retryAfter ?? 'seconds';
    this.#told = options.headers ?? 'none';
    this.#defaultCost = options.cost ?? 1;
    this.#countsRefused = options.countsRefused ?? false;
  }

  /** One request of `consumer` (default `us`): a real `Response`, 200 or 429 with the hint, and the headers. */
  call(consumer = 'us', cost = this.#defaultCost): Response {
    const atMs = this.#clock.now();
    const scripted = consumer === 'us' ? this.#scripted.shift() : undefined;
    if (scripted !== undefined) {
      this.#calls.push({ consumer, atMs, cost, status: scripted.status });
      return new Response(null, scripted);
    }
    const waitMs = Math.max(0, ...this.#states.map((state) => state.waitMs(cost, atMs)));
    const status = waitMs > 0 ? 429 : 200;
    if (waitMs === 0 || this.#countsRefused) for (const state of this.#states) state.take(cost, atMs);
    this.#calls.push({ consumer, atMs, cost, status });
    const told = quotaHeaders(this.#told, quotasNow(this.#limits, this.#states, atMs));
    return new Response(null, { status, headers: status === 429 ? { ...told, ...this.#headers(waitMs) } : told });
  }

  /** The next `times` calls of `us` get this answer, whatever the quota says, and use none of it. */
  answerNext(times: number, status: number, headers: Record<string, string> = {}): void {
    for (let n = 0; n < times; n += 1) this.#scripted.push({ status, headers });
  }

  /**
   * Changes a limit: now, or at a monotonic instant that is still to come. What was counted stays counted.
   * `index`: which one, in the order of `limits`, that of `limit` last; default 0. Its timer does not keep the process alive.
   */
  setLimit(limit: number, { index = 0, atMs }: { readonly index?: number; readonly atMs?: number } = {}): void {
    checkAbove0('limit', limit);
    const state = this.#states[index];
    if (state === undefined) throw new RangeError(`index: there is no limit ${index}`);
    const change = (): void => {
      const leftMs = (atMs ?? 0) - this.#clock.now();
      if (leftMs > 0) this.#clock.setTimer(leftMs, change, { keepAlive: false });
      else {
        // A bucket fills at its old pace until now.
        state.remaining(this.#clock.now());
        state.limit = limit;
      }
    };
    change();
  }

  /** Starts another consumer; returns what stops it. Its timers do not keep the process alive. */
  addConsumer({ name, everyMs, phaseMs = everyMs, cost = this.#defaultCost }: FakeConsumer): () => void {
    if (!(everyMs > 0)) throw new RangeError(`everyMs: expected a number above 0, found ${everyMs}`);
    let nextMs = this.#clock.now() + phaseMs;
    let cancel = (): void => undefined;
    const step = (): void => {
      const leftMs = nextMs - this.#clock.now();
      if (leftMs > 0) {
        cancel = this.#clock.setTimer(leftMs, step, { keepAlive: false });
        return;
      }
      this.call(name, cost);
      // From the planned instant, not from now: a late timer must not slow the consumer down.
      nextMs += everyMs;
      step();
    };
    step();
    return () => cancel();
  }

  /** Every call, in order of arrival. */
  get calls(): readonly FakeCall[] {
    return this.#calls;
  }

  /** Calls of one consumer, or with one status, or both; all of them without a filter. */
  count(only: { readonly consumer?: string; readonly status?: number } = {}): number {
    return this.#select(only).length;
  }

  /** Monotonic milliseconds at which calls came in: of one consumer, or of all. */
  starts(consumer?: string): number[] {
    return this.#select(consumer === undefined ? {} : { consumer }).map((call) => call.atMs);
  }

  /** The largest cost of calls in any window of that length, refused ones included. */
  maxInAnyWindow(windowMs: number, consumer?: string): number {
    return windowMax(this.#select(consumer === undefined ? {} : { consumer }), windowMs);
  }

  #select(only: { readonly consumer?: string; readonly status?: number }): FakeCall[] {
    return this.#calls.filter(
      (call) =>
        (only.consumer === undefined || call.consumer === only.consumer) &&
        (only.status === undefined || call.status === only.status),
    );
  }

  #headers(retryAfterMs: number): Record<string, string> {
    if (typeof this.#hint === 'function') return this.#hint({ retryAfterMs });
    if (this.#hint === 'none' || retryAfterMs === Number.POSITIVE_INFINITY) return {};
    // Rounded to the microsecond first: 1.0000000002 s is one second.
    const seconds = Math.round(retryAfterMs * 1_000) / 1e6;
    return { 'retry-after': String(this.#hint === 'seconds' ? Math.ceil(seconds) : seconds) };
  }
}

function limitsOf(options: FakeDownstreamOptions): FakeLimit[] {
  const { limit, windowMs } = options;
  const limits = [...(options.limits ?? [])];
  if (limit !== undefined && windowMs !== undefined) limits.push({ ...options, limit, windowMs });
  else if (limit !== undefined || windowMs !== undefined) {
    throw new TypeError('limit and windowMs are given together');
  }
  return limits;
}
