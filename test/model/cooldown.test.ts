import { describe, expect, it } from 'vitest';
import { cooldownMs, type HoldPlan, openingHold, saidHold, spreadMs } from '../../src/model/cooldown.ts';
import { IncidentRow } from '../../src/model/incident-row.ts';

const MINUTE = 60_000;
const PLAN: HoldPlan = {
  cooldown: { baseMs: 2_000, maxMs: MINUTE },
  maxHoldMs: 10 * MINUTE,
  pauseAboveMs: 5 * MINUTE,
  workers: 1,
};

describe('the cooldown', () => {
  it('doubles from base to max, and stays there', () => {
    const steps = [1, 2, 3, 4, 5, 6, 7, 1_000, 1e9].map((n) => cooldownMs(PLAN.cooldown, n));
    expect(steps).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, MINUTE, MINUTE, MINUTE, MINUTE]);
  });

  it('climbs a ladder instead, whose last step repeats', () => {
    const ladder = { ...PLAN.cooldown, ladderMs: [10, 50, 20] };
    expect([1, 2, 3, 4, 99].map((n) => cooldownMs(ladder, n))).toEqual([10, 50, 20, 20, 20]);
  });
});

describe('the hold of a new incident', () => {
  it.each([
    // n, the server's word, ms, cause, capped
    [1, undefined, 2_000, 'cooldown', false],
    [3, undefined, 8_000, 'cooldown', false],
    [1, 0, 0, 'retry-after', false],
    [1, 1, 1, 'retry-after', false],
    [2, 0, 4_000, 'cooldown', false],
    [2, 1_000, 4_000, 'cooldown', false],
    [2, 4_000, 4_000, 'retry-after', false],
    [4, 30_000, 30_000, 'retry-after', false],
    [1, 10 * MINUTE, 10 * MINUTE, 'retry-after', false],
    [1, 30 * 24 * 60 * MINUTE, 10 * MINUTE, 'retry-after', true],
    [1, Number.MAX_SAFE_INTEGER, 10 * MINUTE, 'retry-after', true],
    [1, Number.POSITIVE_INFINITY, 10 * MINUTE, 'retry-after', true],
  ] as const)('the %i. in a row, told %s ms', (inARow, hintMs, ms, cause, isCapped) => {
    for (const kind of ['quota', 'overload'] as const) {
      expect(openingHold(kind, PLAN, inARow, hintMs)).toEqual({ ms, cause, isCapped });
    }
  });

  it.each([
    [1, undefined, MINUTE, 'cooldown', false],
    [5, undefined, MINUTE, 'cooldown', false],
    [1, 9_000, 9_000, 'quota-reset', false],
    [5, 9_000, 9_000, 'quota-reset', false],
    [1, 0, 0, 'quota-reset', false],
    [2, 0, 2_000, 'cooldown', false],
    [1, 24 * 60 * MINUTE, 10 * MINUTE, 'quota-reset', true],
  ] as const)(
    'what is exhausted, for the %i. time, reset in %s ms: no steps',
    (inARow, hintMs, ms, cause, isCapped) => {
      expect(openingHold('exhausted', PLAN, inARow, hintMs)).toEqual({ ms, cause, isCapped });
    },
  );

  it('is never shorter with a hint than without one, from the second on: maxHold caps what the server says only', () => {
    const plan = { ...PLAN, cooldown: { ...PLAN.cooldown, ladderMs: [MINUTE, 60 * MINUTE] } };
    expect(openingHold('quota', plan, 2, 1_000)).toEqual({ ms: 60 * MINUTE, cause: 'cooldown', isCapped: false });
    expect(openingHold('quota', plan, 2, undefined).ms).toBe(60 * MINUTE);
  });

  it('a later answer of the same incident: exactly what the server said', () => {
    expect(saidHold('quota', PLAN, 1_000)).toEqual({ ms: 1_000, cause: 'retry-after', isCapped: false });
    expect(saidHold('exhausted', PLAN, 60 * MINUTE).isCapped).toBe(true);
  });
});

describe('several workers', () => {
  const workers = { ...PLAN, workers: 20 };
  const said = (ms: number) => ({ ms, cause: 'retry-after', isCapped: false }) as const;
  const own = (ms: number) => ({ ms, cause: 'cooldown', isCapped: false }) as const;

  it('come back up to 5 % later, never earlier', () => {
    expect([0, 0.5, 1].map((share) => spreadMs(said(60_000), workers, share))).toEqual([60_000, 61_500, 63_000]);
    expect(spreadMs(said(60_000), PLAN, 1)).toBe(60_000);
  });

  it('do not come back together from maxHold either', () => {
    expect(spreadMs(said(10 * MINUTE), workers, 1)).toBe(10.5 * MINUTE);
  });

  it('the spread makes no pause of a hold that we chose ourselves', () => {
    const tight = { ...workers, pauseAboveMs: MINUTE };
    expect(spreadMs(own(MINUTE), tight, 1)).toBe(MINUTE);
    expect(spreadMs(own(58_000), tight, 1)).toBe(MINUTE);
    expect(spreadMs(own(30_000), tight, 1)).toBe(31_500);
    expect(spreadMs(own(2 * MINUTE), tight, 1)).toBe(2.1 * MINUTE);
  });

  it.each([Number.NaN, -1, 2, Number.POSITIVE_INFINITY])('whatever `random` answers: %s', (drawn) => {
    const row = new IncidentRow('quota');
    const { hold } = row.refused({ start: 0, hintMs: 60_000 }, 0, workers, 1, () => drawn);
    expect(hold?.until).toBe(drawn >= 1 ? 63_000 : 60_000);
  });

  it('draw once for an incident: the latest of many draws would be the same for all of them', () => {
    const row = new IncidentRow('quota');
    const draws = [0.2, 1, 1, 1];
    const draw = () => draws.shift()!;
    const untils = [0, 0, 0].map(() => row.refused({ start: 0, hintMs: 60_000 }, 0, workers, 1, draw).hold?.until);
    expect([untils, draws]).toEqual([
      [60_600, 60_600, 60_600],
      [1, 1, 1],
    ]);
  });
});
