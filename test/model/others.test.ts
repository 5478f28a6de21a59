import { describe, expect, test } from 'vitest';
import type { DownstreamPlan } from '../../src/base/plan.ts';
import { Drain } from '../../src/model/drain.ts';
import { Gate } from '../../src/model/gate.ts';
import { Others } from '../../src/model/others.ts';
import { OwnUse } from '../../src/model/own-use.ts';
import { resolveDownstream } from '../../src/policy/resolve.ts';

const WINDOW_MS = 10_000;
const plan: DownstreamPlan = resolveDownstream('carrier', { quota: '100/10s' });

/** A lane by hand: starts, and answers that say how much is left. */
class Lane {
  readonly gate = new Gate(plan, 0);
  readonly use = new OwnUse(this.gate, 0);
  readonly others = new Others(WINDOW_MS);
  signs = 0;

  start(now: number, times = 1): void {
    for (let n = 0; n < times; n++) this.gate.take([1], now);
  }

  /** The answer to the start with that number. */
  answer(now: number, startNumber: number, remaining: number, inFlight: number): void {
    this.use.moveOn(now, startNumber, inFlight);
    if (this.others.hear(100, remaining, this.use, 3)) this.signs++;
  }
}

/** Every 20 s, 20 calls that reach a sliding window 5 s after they started, and one short call a second. */
function slowBursts(counted: (processed: readonly number[], now: number) => number): Lane {
  const lane = new Lane();
  const processed: number[] = [];
  for (let now = 0; now < 200_000; now += 1_000) {
    const phase = now % 20_000;
    if (phase === 0) lane.start(now, 20);
    const isFlying = phase < 5_000;
    if (phase === 5_000) for (let n = 0; n < 20; n++) processed.push(now);
    lane.start(now);
    processed.push(now);
    lane.answer(now, lane.gate.startCount, 100 - counted(processed, now), isFlying ? 20 : 0);
  }
  return lane;
}

const inWindow = (processed: readonly number[], now: number): number =>
  processed.filter((at) => at > now - WINDOW_MS).length;

describe('whether others use a quota', () => {
  test('calls that were long under way are not theirs', () => {
    expect(slowBursts(inWindow).signs).toBe(0);
  });

  test('what the same server counts beyond these is', () => {
    const lane = slowBursts((processed, now) => inWindow(processed, now) + 10);
    expect(lane.signs).toBeGreaterThan(10);
    expect(lane.others.windows).toBe(lane.signs);
  });

  test('one answer out of a cache, now and then, says nothing', () => {
    let n = 0;
    expect(slowBursts((processed, now) => (n++ % 3 === 0 ? 90 : inWindow(processed, now))).signs).toBe(0);
  });

  test('a counter that stands at less than its limit whatever we do is a small bucket', () => {
    expect(slowBursts(() => 60).signs).toBe(0);
  });
});

test('a bucket: what is missing and what flowed in, less what is ours, is theirs', () => {
  const gate = new Gate(plan, 0);
  const use = new OwnUse(gate, 0);
  const drain = new Drain();
  let level = 50;
  for (let second = 0; second <= 20; second++) {
    if (second > 0) level = Math.min(50, level + 10);
    gate.take([1], second * 1_000);
    level -= 1;
    use.moveOn(second * 1_000, gate.startCount, 0);
    drain.hear(50 - level, 0.01, use);
    // Others, after our call.
    level -= 11;
  }
  // No more than is certain: while next to nothing was missing, it may have flowed in or not.
  expect([drain.ours, drain.others - drain.filled, drain.since]).toEqual([20, 20, 0]);
  expect(drain.others).toBeGreaterThan(190);
  expect(drain.others).toBeLessThanOrEqual(220);
});
