import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSystemClock } from '../../src/base/clock.ts';

const nothing = (): void => undefined;

/** What some runtimes return from `setTimeout` in place of Node's object. */
const HANDLES: readonly (readonly [name: string, handle: (id: number) => unknown])[] = [
  ['numbers', (id) => id],
  ['objects without ref and unref', (id) => Object.freeze({ id })],
];

describe('The system clock', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it('a spare timer that has rung and was set anew for much later delays no later timer', () => {
    const clock = createSystemClock();
    clock.setTimer(300, nothing)();
    const cancel = clock.setTimer(8_000, nothing);
    vi.advanceTimersByTime(500);
    cancel();
    const fromMs = performance.now();
    const rang: number[] = [];
    clock.setTimer(100, () => rang.push(performance.now() - fromMs));
    vi.advanceTimersByTime(10_000);
    expect(rang).toEqual([100]);
  });

  it('whatever is set, cancelled and set again, each timer rings once at its time, and none that was cancelled', () => {
    const step = fc.record({ delayMs: fc.integer({ min: 1, max: 50 }), cancel: fc.nat(3), waitMs: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const clock = createSystemClock();
        const open: (() => void)[] = [];
        const due: number[] = [];
        const late: number[] = [];
        for (const { delayMs, cancel, waitMs } of steps) {
          const dueAt = performance.now() + delayMs;
          const timer = due.push(dueAt) - 1;
          const stop = clock.setTimer(delayMs, () => {
            late.push(performance.now() - due[timer]!);
            due[timer] = Number.NaN;
          });
          open.push(() => {
            stop();
            if (performance.now() < dueAt) due[timer] = Number.NaN;
          });
          for (let i = 0; i < cancel; i++) open.shift()?.();
          vi.advanceTimersByTime(waitMs);
        }
        vi.advanceTimersByTime(1_000);
        expect(late.filter((ms) => ms !== 0)).toEqual([]);
        expect(due.filter((at) => !Number.isNaN(at))).toEqual([]);
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  it.each(HANDLES)('works where timers are %s', (_, handleOf) => {
    const { setTimeout: set, clearTimeout: clear } = globalThis;
    const timers = new Map<unknown, ReturnType<typeof setTimeout>>();
    vi.stubGlobal('setTimeout', (fire: (...args: unknown[]) => void, ms: number, ...args: unknown[]) => {
      const handle = handleOf(timers.size + 1);
      timers.set(handle, set(fire, ms, ...args));
      return handle;
    });
    vi.stubGlobal('clearTimeout', (handle: unknown) => clear(timers.get(handle)));
    const clock = createSystemClock();
    const rang: string[] = [];
    const ring = (name: string) => (): void => void rang.push(name);
    clock.setTimer(100, ring('cancelled'))();
    clock.setTimer(200, ring('in the spare'));
    clock.setTimer(50, ring('first'));
    clock.setTimer(60, ring('idle'), { keepAlive: false });
    clock.setTimer(70, ring('idle, cancelled'), { keepAlive: false })();
    clock.setTimer(300, ring('cancelled too'))();
    clock.setTimer(400, ring('cancelled as well'))();
    vi.advanceTimersByTime(1_000);
    expect(rang).toEqual(['first', 'idle', 'in the spare']);
  });
});
