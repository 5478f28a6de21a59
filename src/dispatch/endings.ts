import type { Outlook } from '../model/projection.ts';
import type { LaneCore } from './core.ts';
import { Heap } from './heap.ts';
import { deadlineMissed, type Refusal, waitTooLong } from './refusals.ts';
import { limitOf } from './request.ts';
import type { Abortable } from './signals.ts';
import { tell } from './telling.ts';
import type { Ending, Waiter } from './waiter.ts';

/** The ways in which a waiter leaves the line without having started. */
export class Endings {
  readonly #core: LaneCore;
  /** Tells the lane that a waiter has gone; true if its turn had been announced to it already. */
  readonly #gone: (waiter: Waiter) => boolean;
  /** What the lane does after an abort. */
  readonly #afterAbort: () => void;
  readonly #limits = new Heap<Waiter>(isLimited, (waiter) => limitOf(waiter.request));
  readonly #aborts = new Map<Waiter, Abortable>();
  #limited = 0;

  constructor(core: LaneCore, gone: (waiter: Waiter) => boolean, afterAbort: () => void) {
    this.#core = core;
    this.#gone = gone;
    this.#afterAbort = afterAbort;
  }

  /** Waiters with a deadline or a `maxWait`. */
  get limited(): number {
    return this.#limited;
  }

  /** The next instant at which a waiter's time is up. */
  get dueAt(): number {
    const waiter = this.#limits.top();
    return waiter === undefined ? Number.POSITIVE_INFINITY : limitOf(waiter.request);
  }

  /** From now on the waiter's limit and signals are watched. */
  watch(waiter: Waiter): void {
    const { request } = waiter;
    if (limitOf(request) !== Number.POSITIVE_INFINITY) {
      this.#limited++;
      this.#limits.push(waiter);
    }
    if (request.signals.length === 0) return;
    const target: Abortable = { abortedBy: (reason) => this.#abort(waiter, reason) };
    this.#aborts.set(waiter, target);
    for (const signal of request.signals) this.#core.ports.signals.add(signal, target);
  }

  /** The waiter has left the line, to start or otherwise. */
  unwatch(waiter: Waiter): void {
    const { request } = waiter;
    if (limitOf(request) !== Number.POSITIVE_INFINITY) this.#limits.died(--this.#limited);
    if (request.signals.length === 0) return;
    const target = this.#aborts.get(waiter);
    if (target === undefined) return;
    this.#aborts.delete(waiter);
    for (const signal of request.signals) this.#core.ports.signals.remove(signal, target);
  }

  /** Refuses a waiter; `outlook` is when it could have started, where that is why. */
  refuse(waiter: Waiter, refusal: Refusal, now: number, outlook?: Outlook): void {
    const { ports, name, tally } = this.#core;
    const { request } = waiter;
    const waitedMs = now - waiter.since;
    const expectedMs = outlook === undefined ? undefined : Math.max(0, outlook.at - now);
    const affordMs = limitOf(request) - now;
    const wallNow = ports.clock.wallNow();
    const { limitedBy, limit } = outlook ?? {};
    tally.refuse(refusal.code);
    if (ports.bus.wantsWaits) {
      const expected = expectedMs === undefined ? undefined : waitedMs + expectedMs;
      const told = { code: refusal.code, expectedMs: expected, limitedBy, limit };
      tell(ports, name, 'refused', waiter.seq, request, waitedMs, told);
    }
    this.#end(waiter, () =>
      refusal.make({ downstream: name, request, wallNow, waitedMs, expectedMs, affordMs, limitedBy, limit }),
    );
  }

  /** Refuses those whose limit is `until` or before; a start exactly at the limit is in time. */
  expire(until: number, now: number): void {
    for (;;) {
      const waiter = this.#limits.top();
      if (waiter === undefined || limitOf(waiter.request) > until) return;
      this.refuse(waiter, missed(waiter), now);
    }
  }

  /** Deadlines have moved nearer because the wall clock stepped forward. */
  rekey(): void {
    this.#limits.rekey();
  }

  #abort(waiter: Waiter, reason: unknown): (() => void) | undefined {
    if (!waiter.isInLine) return undefined;
    const { ports, name, tally } = this.#core;
    tally.aborted++;
    const waitedMs = ports.clock.now() - waiter.since;
    if (ports.bus.wantsWaits) tell(ports, name, 'aborted', waiter.seq, waiter.request, waitedMs, { started: false });
    this.#end(waiter, () => reason);
    return this.#afterAbort;
  }

  #end(waiter: Waiter, ending: Ending): void {
    this.#core.line.remove(waiter);
    this.unwatch(waiter);
    waiter.ending = ending;
    if (!this.#gone(waiter)) this.#core.ports.slices.push(waiter);
  }
}

/** The refusal of a waiter that cannot make it any more. */
export function missed(waiter: Waiter): Refusal {
  const { request } = waiter;
  return request.deadlineAt <= request.maxWaitAt ? deadlineMissed('waiting') : waitTooLong;
}

function isLimited(waiter: Waiter): boolean {
  return waiter.isInLine;
}
