import { describe, expect, it } from 'vitest';
import { LONGEST_TIMER_MS } from '../../src/base/clock.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';

function logger(clock: ManualClock) {
  const log: string[] = [];
  return { log, note: (text: string) => () => void log.push(`${text}@${clock.now()}`) };
}

describe('time', () => {
  it('starts at 0, on New Year 2026, or where it is told', () => {
    expect(new ManualClock().now()).toBe(0);
    expect(new Date(new ManualClock().wallNow()).toISOString()).toBe('2026-01-01T00:00:00.000Z');
    expect(new ManualClock({ wallMs: 5 }).wallNow()).toBe(5);
  });

  it('moves both clocks together, fractions included', async () => {
    const clock = new ManualClock({ wallMs: 1_000 });
    await clock.advance(124.4);
    await clock.advance(0.1);
    expect(clock.now()).toBeCloseTo(124.5, 9);
    expect(clock.wallNow()).toBeCloseTo(1_124.5, 9);
  });

  it('lets the wall clock step alone, both ways', async () => {
    const clock = new ManualClock({ wallMs: 100_000 });
    const { log, note } = logger(clock);
    clock.setTimer(1_000, note('tick'));
    clock.jumpWall(-11_000);
    expect([clock.now(), clock.wallNow()]).toEqual([0, 89_000]);
    clock.jumpWall(22_000);
    await clock.advance(1_000);
    expect([clock.now(), clock.wallNow()]).toEqual([1_000, 112_000]);
    expect(log).toEqual(['tick@1000']);
  });

  it('rejects what is not a length of time', () => {
    const clock = new ManualClock();
    expect(() => clock.advance(-1)).toThrow(/does not run backwards, found -1 ms/);
    expect(() => clock.advance(Number.NaN)).toThrow(/advance: expected a number of milliseconds, found NaN/);
    expect(() => clock.suspend(Number.POSITIVE_INFINITY)).toThrow(/suspend/);
    expect(() => clock.fireEarly(-1)).toThrow(/fireEarly/);
    expect(() => clock.jumpWall(Number.NaN)).toThrow(/jumpWall/);
    expect(() => new ManualClock({ wallMs: Number.NaN })).toThrow(/wallMs/);
  });
});

describe('timers', () => {
  it('runs each at its own instant, in order of time, and not a moment early', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    clock.setTimer(30, note('c'));
    clock.setTimer(10, note('a'));
    clock.setTimer(20.5, note('b'));
    await clock.advance(29.999);
    expect(log).toEqual(['a@10', 'b@20.5']);
    await clock.advance(0.001);
    expect(log).toEqual(['a@10', 'b@20.5', 'c@30']);
    expect(clock.now()).toBe(30);
  });

  it('breaks ties by order of creation', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    clock.setTimer(10, note('first'));
    await clock.advance(5);
    clock.setTimer(5, note('second'));
    clock.setTimer(5, note('third'));
    await clock.advance(5);
    expect(log).toEqual(['first@10', 'second@10', 'third@10']);
  });

  it('runs nested timers at their own times within one advance', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    const again = (): void => {
      note('tick')();
      clock.setTimer(10, again);
    };
    clock.setTimer(10, again);
    clock.setTimer(25, note('other'));
    await clock.advance(40);
    expect(log).toEqual(['tick@10', 'tick@20', 'other@25', 'tick@30', 'tick@40']);
  });

  it('runs timers set by promises that settle at the very end', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    clock.setTimer(10, () => {
      void Promise.resolve().then(() => clock.setTimer(Number.MIN_VALUE, note('late')));
    });
    await clock.advance(10);
    expect(log).toEqual(['late@10']);
  });

  it('does not run what is cancelled: before, inside another callback, inside its own, twice', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    const cancelled = clock.setTimer(5, note('cancelled'));
    cancelled();
    cancelled();
    clock.setTimer(10, () => {
      note('canceller')();
      victim();
    });
    const victim = clock.setTimer(10, note('victim'));
    const own = clock.setTimer(20, () => {
      own();
      note('own')();
    });
    await clock.advance(30);
    own();
    victim();
    expect(log).toEqual(['canceller@10', 'own@20']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('counts those that keep the process alive apart from the rest', async () => {
    const clock = new ManualClock();
    const cancel = clock.setTimer(5, () => undefined);
    clock.setTimer(10, () => undefined, {});
    clock.setTimer(10, () => undefined, { keepAlive: true });
    clock.setTimer(3, () => undefined, { keepAlive: false });
    expect([clock.pendingTimers, clock.idleTimers, clock.timersSet]).toEqual([3, 1, 4]);
    expect(clock.nextTimerInMs).toBe(3);
    cancel();
    cancel();
    expect([clock.pendingTimers, clock.idleTimers]).toEqual([2, 1]);
    await clock.advance(10);
    expect([clock.pendingTimers, clock.idleTimers, clock.timersSet]).toEqual([0, 0, 4]);
    expect(clock.nextTimerInMs).toBeUndefined();
  });

  it('records delays that no platform takes, and still runs those timers', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    for (const delayMs of [0, -5, Number.NaN]) clock.setTimer(delayMs, note(String(delayMs)));
    clock.setTimer(LONGEST_TIMER_MS + 1, note('long'));
    clock.setTimer(Number.POSITIVE_INFINITY, note('infinite'));
    expect(clock.violations).toHaveLength(5);
    expect(clock.violations[1]).toBe('at 0 ms a timer was set with a delay of -5 ms');
    await clock.advance(1);
    expect(log).toEqual(['0@1', '-5@1', 'NaN@1']);
    await clock.advance(LONGEST_TIMER_MS - 1);
    expect(log.slice(3)).toEqual([`long@${LONGEST_TIMER_MS}`, `infinite@${LONGEST_TIMER_MS}`]);
  });

  it('records nothing for ordinary delays, however short or long', () => {
    const clock = new ManualClock();
    for (const delayMs of [Number.MIN_VALUE, 0.001, 1, LONGEST_TIMER_MS]) clock.setTimer(delayMs, () => undefined);
    expect(clock.violations).toEqual([]);
  });

  it('rejects with what a timer throws, standing at that instant, and goes on from there', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    clock.setTimer(10, () => {
      throw new Error('boom');
    });
    clock.setTimer(20, note('next'));
    await expect(clock.advance(30)).rejects.toThrow('boom');
    expect([clock.now(), log]).toEqual([10, []]);
    await clock.advance(20);
    expect(log).toEqual(['next@20']);
  });
});

describe('promises', () => {
  it('settle before the first timer, between two of one instant, and at the end', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    const hops = async (text: string): Promise<void> => {
      for (let hop = 0; hop < 500; hop += 1) await undefined;
      note(text)();
    };
    void hops('before');
    clock.setTimer(10, () => {
      note('one')();
      void hops('after one');
    });
    clock.setTimer(10, () => {
      note('two')();
      void hops('after two');
    });
    await clock.advance(10);
    expect(log).toEqual(['before@0', 'one@10', 'after one@10', 'two@10', 'after two@10']);
  });

  it('advance(0) lets promises settle and due timers run, and moves nothing', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    clock.setTimer(10, note('due later'));
    void Promise.resolve().then(note('settled'));
    await clock.advance(0);
    expect([log, clock.now()]).toEqual([['settled@0'], 0]);
  });

  it('overlapping calls are carried out one after the other', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    clock.setTimer(15, note('tick'));
    const both = [clock.advance(10), clock.advance(10)];
    await both[0];
    expect(clock.now()).toBe(10);
    await both[1];
    expect([clock.now(), log]).toEqual([20, ['tick@15']]);
  });

  it('an advance made inside a timer waits for the one that runs it', async () => {
    const clock = new ManualClock();
    let inner: Promise<void> | undefined;
    clock.setTimer(5, () => {
      inner = clock.advance(7);
    });
    await clock.advance(10);
    await inner;
    expect(clock.now()).toBe(17);
  });
});

describe('suspend', () => {
  it('frozen: wall time passes, monotonic time and timers do not', async () => {
    const clock = new ManualClock({ wallMs: 0 });
    const { log, note } = logger(clock);
    clock.setTimer(1_000, note('tick'));
    await clock.suspend(60_000);
    expect([clock.now(), clock.wallNow(), log]).toEqual([0, 60_000, []]);
    await clock.advance(1_000);
    expect([log, clock.wallNow()]).toEqual([['tick@1000'], 61_000]);
  });

  it('advancing: what is overdue runs on waking, in order, and sees the time of waking', async () => {
    const clock = new ManualClock({ wallMs: 0 });
    const { log, note } = logger(clock);
    clock.setTimer(2_000, note('second'));
    clock.setTimer(1_000, () => {
      note('first')();
      clock.setTimer(500, note('nested'));
    });
    clock.setTimer(70_000, note('later'));
    await clock.suspend(60_000, { monotonic: 'advancing' });
    expect([clock.now(), clock.wallNow()]).toEqual([60_000, 60_000]);
    expect(log).toEqual(['first@60000', 'second@60000']);
    await clock.advance(10_000);
    expect(log.slice(2)).toEqual(['nested@60500', 'later@70000']);
  });
});

describe('fireEarly', () => {
  it('runs the next timer so much before its time, and only that one', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    clock.setTimer(125, note('early'));
    clock.setTimer(125, note('exact'));
    await clock.fireEarly(0.6);
    expect(log).toEqual(['early@124.4']);
    await clock.advance(1);
    expect(log[1]).toBe('exact@125');
  });

  it('never moves time backwards, and does nothing without a timer', async () => {
    const clock = new ManualClock();
    const { log, note } = logger(clock);
    await clock.fireEarly(5);
    await clock.advance(100);
    clock.setTimer(3, note('early'));
    await clock.fireEarly(50);
    expect(log).toEqual(['early@100']);
  });
});

describe('scale', () => {
  it('keeps 100,000 timers in order, half of them cancelled', async () => {
    const clock = new ManualClock();
    let seed = 1;
    const random = (): number => (seed = (seed * 48_271) % 2_147_483_647);
    const ran: number[] = [];
    const cancels: (() => void)[] = [];
    for (let n = 0; n < 100_000; n += 1) {
      const delayMs = 1 + (random() % 3_600_000);
      cancels.push(clock.setTimer(delayMs, () => ran.push(clock.now() - delayMs)));
    }
    for (let n = 0; n < cancels.length; n += 2) cancels[n]!();
    expect(clock.pendingTimers).toBe(50_000);
    await clock.advance(3_600_001);
    expect(ran).toHaveLength(50_000);
    expect(ran.every((late) => late === 0)).toBe(true);
  });
});
