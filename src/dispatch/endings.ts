import type { Outlook } from '../model/projection.ts';
import type { LaneCore } from './core.ts';
import { Heap } from './heap.ts';
import { deadlineMissed, type Refusal, waitTooLong } from './refusals.ts';
import { limitOf, type Request } from './request.ts';
import type { AbortOwner } from './signals.ts';
import { tell } from './telling.ts';
import type { Ending, Waiter } from './waiter.ts';

/** One go at those that leave takes this long at most; a look at the clock every so many. */
const SLICE_MS = 5;
const BATCH = 256;

/** What an ending needs of the lane's other pieces. */
export interface EndingsHost {
  /** A waiter has gone; true if its turn had been announced to it already. */
  readonly gone: (waiter: Waiter) => boolean;
  /** What the lane does once those that were aborted have left. */
  readonly pump: () => void;
}

/** The ways in which a waiter leaves the line without having started. */
export class Endings implements AbortOwner<Waiter> {
  readonly #core: LaneCore;
  readonly #host: EndingsHost;
  readonly #limits = new Heap<Waiter>(isInLine, (waiter) => limitOf(waiter.request));
  #limited = 0;

  constructor(core: LaneCore, host: EndingsHost) {
    this.#core = core;
    this.#host = host;
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
    for (const signal of request.signals) this.#core.ports.signals.add(signal, this, waiter);
  }

  /** The waiter has left the line, to start or otherwise. */
  unwatch(waiter: Waiter): void {
    const { request } = waiter;
    if (limitOf(request) !== Number.POSITIVE_INFINITY) this.#limits.died(--this.#limited);
    if (request.signals.length === 0) return;
    for (const signal of request.signals) this.#core.ports.signals.remove(signal, this, waiter);
  }

  /** Refuses a waiter; `outlook` is when it could have started, where that is why. */
  refuse(waiter: Waiter, refusal: Refusal, now: number, outlook?: Outlook): void {
    this.end([waiter], this.refusing(refusal, now, outlook));
  }

  /** How waiters end that are refused for one reason. */
  refusing(refusal: Refusal, now: number, outlook?: Outlook): Ending {
    const { ports, name, tally, incidents } = this.#core;
    const wallNow = ports.clock.wallNow();
    const expectedMs = outlook === undefined ? undefined : Math.max(0, outlook.at - now);
    const { limitedBy, limit } = outlook ?? {};
    return {
      reasonOf: ({ request, since }) => {
        const waitedMs = now - since;
        const affordMs = limitOf(request) - now;
        return refusal.make({ downstream: name, request, wallNow, waitedMs, expectedMs, affordMs, limitedBy, limit });
      },
      tell: ({ request, since, seq }) => {
        tally.refuse(refusal.code);
        ports.recent.refused(now);
        ports.recent.gaveUp(now - since, now);
        incidents.touch(request.tool);
        if (!ports.bus.wantsWaits) return;
        const waitedMs = now - since;
        const expected = expectedMs === undefined ? undefined : waitedMs + expectedMs;
        const told = { code: refusal.code, expectedMs: expected, limitedBy, limit };
        tell(ports, name, 'refused', seq, request, waitedMs, told);
      },
    };
  }

  /**
   * Ends waiters. All of them are marked first, and a marked one is never started; then they leave, in goes
   * of a few milliseconds where they are very many. How many there were.
   */
  end(waiters: Iterable<Waiter>, ending: Ending): number {
    const marked: Waiter[] = [];
    for (const waiter of waiters) if (mark(waiter, ending)) marked.push(waiter);
    this.leave(marked);
    return marked.length;
  }

  /** Whoever waits goes on in another way. */
  letGo(instead: (waiter: Waiter) => Promise<unknown>): void {
    this.end(this.#core.line, { instead, reasonOf: () => undefined, tell: () => undefined });
  }

  /** Ends the waiters whose request matches. How many there were. */
  cancel(matches: (request: Request) => boolean, ending: Ending): number {
    const matching: Waiter[] = [];
    this.#core.line.each((waiter) => {
      if (matches(waiter.request)) matching.push(waiter);
    });
    return this.end(matching, ending);
  }

  /** Waiters that are marked leave the line. */
  leave(marked: readonly Waiter[], from = 0): void {
    const { clock } = this.#core.ports;
    const until = clock.now() + SLICE_MS;
    for (let i = from; i < marked.length; i++) {
      this.leaveNow(marked[i]!);
      if ((i - from) % BATCH !== BATCH - 1 || clock.now() < until) continue;
      clock.setTimer(1, () => {
        this.leave(marked, i + 1);
        this.#host.pump();
      });
      return;
    }
  }

  /** Marked waiters at the head leave; false if they are too many for one go. */
  clear(now: number, head: () => Waiter | undefined): boolean {
    const { ports } = this.#core;
    for (let count = 1; ; count++) {
      const next = head();
      if (next?.ending === undefined) return true;
      this.leaveNow(next);
      if (count % BATCH === 0 && ports.clock.now() > now + SLICE_MS) return false;
    }
  }

  /** A marked waiter leaves the line, if it has not yet. */
  leaveNow(waiter: Waiter): void {
    if (!waiter.isInLine) return;
    this.#core.line.remove(waiter);
    this.unwatch(waiter);
    waiter.ending?.tell(waiter);
    if (!this.#host.gone(waiter)) this.#core.ports.slices.push(waiter);
  }

  /**
   * Refuses those whose limit is `until` or before; a start exactly at the limit is in time. Where they are
   * very many, some stay for the next go: false, and the lane must not start them.
   */
  expire(until: number, now: number): boolean {
    const endings = new Map<Refusal, Ending>();
    for (let count = 1; ; count++) {
      const waiter = this.#limits.top();
      if (waiter === undefined || limitOf(waiter.request) > until) return true;
      const refusal = missed(waiter);
      const ending = endings.get(refusal) ?? this.refusing(refusal, now);
      endings.set(refusal, ending);
      mark(waiter, ending);
      this.leaveNow(waiter);
      if (count % BATCH === 0 && this.#core.ports.clock.now() > now + SLICE_MS) return false;
    }
  }

  /** Deadlines have moved nearer because the wall clock stepped forward. */
  rekey(): void {
    this.#limits.rekey();
  }

  aborted(waiters: ReadonlySet<Waiter>, signal: AbortSignal): () => void {
    const { ports, name, tally, incidents } = this.#core;
    const now = ports.clock.now();
    this.end(waiters, {
      reasonOf: () => signal.reason,
      tell: ({ request, since, seq }) => {
        tally.aborted++;
        ports.recent.gaveUp(now - since, now);
        incidents.touch(request.tool);
        if (ports.bus.wantsWaits) tell(ports, name, 'aborted', seq, request, now - since, { started: false });
      },
    });
    return this.#host.pump;
  }
}

/** Marks a waiter as ended; false if it has ended already. */
export function mark(waiter: Waiter, ending: Ending): boolean {
  if (!waiter.isInLine || waiter.ending !== undefined) return false;
  waiter.ending = ending;
  return true;
}

const LATE = deadlineMissed('waiting');

/** The refusal of a waiter that cannot make it any more. */
export function missed(waiter: Waiter): Refusal {
  const { request } = waiter;
  return request.deadlineAt <= request.maxWaitAt ? LATE : waitTooLong;
}

function isInLine(waiter: Waiter): boolean {
  return waiter.isInLine;
}
