/**
 * The only file that touches `Date`, `performance` or timers.
 * Rates use `now()` alone; deadlines are judged by both clocks.
 */
export interface Clock {
  /** Monotonic milliseconds, fractional, from an arbitrary origin. */
  now(): number;
  /** Wall clock, epoch milliseconds. */
  wallNow(): number;
  /**
   * Runs `fire` once, `delayMs` from now at the earliest; returns what cancels it.
   * `keepAlive: false` lets the process exit while it is pending.
   */
  setTimer(delayMs: number, fire: () => void, options?: { keepAlive?: boolean }): () => void;
}

/** Longest delay a timer of the platform can take; a longer wait is made of several. */
export const LONGEST_TIMER_MS = 2_147_483_647;

/** What is less than this away counts as due: 1 µs, in milliseconds. */
export const DUE_MS = 1e-3;

/** A platform timer and what it stands for now. */
interface Slot {
  handle: unknown;
  /** When the platform rings it. */
  ringsAt: number;
  /** When its use is due: not before `ringsAt`. */
  dueAt: number;
  fire: (() => void) | undefined;
}

/**
 * The machine's clocks. Delays are rounded up to whole milliseconds, at least 1, at most 2^31-1.
 *
 * A cancelled timer is kept, unable to hold the process, and used again for the next one that is due
 * later: a lane that sets and cancels a timer for every call would otherwise pay about 0.9 µs (Node 20),
 * more than for all the rest of the call.
 */
export function createSystemClock(): Clock {
  let spare: Slot | undefined;

  const ring = (slot: Slot): void => {
    if (slot === spare) spare = undefined;
    const { fire } = slot;
    if (fire === undefined) return;
    const leftMs = slot.dueAt - performance.now();
    if (leftMs >= 0.5) {
      arm(slot, leftMs);
      return;
    }
    slot.fire = undefined;
    fire();
  };
  const arm = (slot: Slot, delayMs: number): void => {
    slot.ringsAt = performance.now() + delayMs;
    slot.handle = setTimeout(ring, delayMs, slot);
  };
  const keepAliveTimer = (delayMs: number, fire: () => void): (() => void) => {
    const dueAt = performance.now() + delayMs;
    let slot = spare;
    if (slot !== undefined && slot.ringsAt <= dueAt) {
      spare = undefined;
      slot.dueAt = dueAt;
      slot.fire = fire;
      hold(slot.handle, true);
    } else {
      slot = { handle: undefined, ringsAt: dueAt, dueAt, fire };
      arm(slot, delayMs);
    }
    const own = slot;
    return () => {
      // Fired, or cancelled and in use for another timer.
      if (own.fire !== fire) return;
      own.fire = undefined;
      if (spare !== undefined) return clearTimeout(own.handle as number);
      hold(own.handle, false);
      spare = own;
    };
  };
  return {
    now: () => performance.now(),
    wallNow: () => Date.now(),
    setTimer(delayMs, fire, options) {
      const whole = Math.min(Math.max(Math.ceil(delayMs), 1), LONGEST_TIMER_MS);
      const once = (): void => fire();
      if (options?.keepAlive !== false) return keepAliveTimer(whole, once);
      const handle: unknown = setTimeout(once, whole);
      hold(handle, false);
      return () => clearTimeout(handle as number);
    },
  };
}

/** For whoever only wants to know what time it is. */
export const systemClock: Clock = createSystemClock();

/** Whether a timer keeps the process alive. Some runtimes return a number, or a handle without `unref`. */
function hold(timer: unknown, isHeld: boolean): void {
  if (typeof timer !== 'object' || timer === null) return;
  const { ref, unref } = timer as { ref?: () => void; unref?: () => void };
  (isHeld ? ref : unref)?.call(timer);
}
