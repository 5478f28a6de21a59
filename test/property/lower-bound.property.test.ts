import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeadlineExceeded, isAdmissionError } from '../../src/base/errors.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { mixedScripts, plainScripts, type Script } from './support/scripts.ts';
import { runs, SEEDED } from './support/seed.ts';
import { ROUND_MS } from './support/shadow.ts';
import { type Asked, performed, type Told } from './support/stage.ts';

/** What is foretold is exact to this. */
const EXACT_MS = 1;
const MOST_PROBES = 4;

/** The same without any limit that would turn a call away. */
function unlimited(policy: DownstreamPolicyInput): DownstreamPolicyInput {
  const { maxWait: _, ...rest } = policy;
  return { ...rest, whilePaused: 'wait' };
}

function isIn(told: Told, at: number): boolean {
  return told.startedAt !== undefined && told.startedAt <= at;
}

/**
 * The same schedule with one call, which was turned away, that may wait for ever; those that were turned
 * away before took nothing and are left out. Undefined where somebody who was ahead of it left the line,
 * or where a new hold came while the lane was warm (it may then start sooner than could be foreseen).
 */
async function replayed({ policy, calls }: Script, before: readonly Told[], probe: number): Promise<Told | undefined> {
  const { madeAt } = before[probe]!;
  const leftOut = new Set(before.flatMap(({ isTurnedAway }, i) => (isTurnedAway && i !== probe ? [i] : [])));
  const script = calls.with(probe, { ...calls[probe]!, deadlineMs: undefined });
  const stage = await performed(unlimited(policy), script, leftOut);
  const told = stage.told[probe]!;
  await stage.finish([told]);
  for (let i = 0; i < probe; i++) {
    const now = stage.told[i];
    const was = before[i]!;
    if (now === undefined) continue;
    if ((was.hasLeft && was.endedAt <= madeAt) || isIn(now, madeAt) !== isIn(was, madeAt)) return undefined;
  }
  return stage.serverHolds > 1 || stage.hasSomebodyLeft(told) ? undefined : told;
}

/** Calls that were turned away because they could not make it. */
function probesOf(told: readonly Told[]): number[] {
  const probes = told.flatMap(({ isTurnedAway, limitAt, error }, i) => {
    const isLate =
      isAdmissionError(error) && error.expectedWaitMs !== undefined && limitAt !== Number.POSITIVE_INFINITY;
    return isTurnedAway && isLate ? [i] : [];
  });
  return probes.slice(0, MOST_PROBES);
}

function expectedWaitOf({ error }: Told): number {
  return isAdmissionError(error) ? error.expectedWaitMs! : Number.NaN;
}

describe(`the expected start (${SEEDED})`, () => {
  test.each([false, true])('nobody is refused who could have made it (counters: %s)', async (counters) => {
    let checked = 0;
    const scripts = mixedScripts({ isMixed: true, deadlines: 'some', holds: true, counters });
    const property = fc.asyncProperty(scripts, async (script) => {
      const { told } = await performed(script.policy, script.calls);
      for (const probe of probesOf(told)) {
        const truth = await replayed(script, told, probe);
        if (truth?.startedAt === undefined) continue;
        checked++;
        const { madeAt, limitAt } = told[probe]!;
        expect(truth.startedAt).toBeGreaterThan(limitAt - EXACT_MS);
        if (script.policy.maxConcurrent === undefined)
          expect(expectedWaitOf(told[probe]!)).toBeLessThanOrEqual(truth.startedAt - madeAt + EXACT_MS);
      }
    });
    await fc.assert(property, runs(counters ? 500 : 1_500));
    expect(checked).toBeGreaterThan(0);
  });

  test.each([false, true])(
    'is exact where one class and one run wait for one quota (counters: %s)',
    async (counters) => {
      let [waits, refusals] = [0, 0];
      const scripts = plainScripts({ isMixed: false, deadlines: 'some', holds: true, counters });
      const property = fc.asyncProperty(scripts, async (script) => {
        const stage = await performed(script.policy, script.calls);
        const { told } = stage;
        await stage.finish();
        for (const one of told) {
          const { expectedMs, startedAt, madeAt, holdsBefore, holdsAtStart } = one;
          if (expectedMs === undefined || startedAt === undefined) continue;
          if (holdsAtStart !== holdsBefore || stage.hasSomebodyLeft(one)) continue;
          waits++;
          expect(Math.abs(startedAt - madeAt - expectedMs)).toBeLessThanOrEqual(EXACT_MS);
        }
        for (const probe of probesOf(told)) {
          const truth = await replayed(script, told, probe);
          if (truth?.startedAt === undefined || truth.holdsAtStart !== truth.holdsBefore) continue;
          refusals++;
          expect(Math.abs(truth.startedAt - truth.madeAt - expectedWaitOf(told[probe]!))).toBeLessThanOrEqual(EXACT_MS);
        }
      });
      await fc.assert(property, runs(counters ? 500 : 1_000));
      expect(waits).toBeGreaterThan(0);
      expect(refusals).toBeGreaterThan(0);
    },
  );

  test.each(['some', 'one for all'] as const)(
    'nobody starts too late, and nobody who was let in is refused later unless something worsens: %s',
    async (deadlines) => {
      const property = fc.asyncProperty(
        plainScripts({ isMixed: false, deadlines, holds: true }),
        async ({ policy, calls }) => {
          const stage = await performed(policy, calls);
          await stage.finish();
          for (const { startedAt, limitAt, error, hasLeft, holdsBefore, holdsAtEnd } of stage.told) {
            if (startedAt !== undefined) expect(startedAt).toBeLessThanOrEqual(limitAt + ROUND_MS);
            if (hasLeft && holdsBefore === holdsAtEnd) expect(error).toBeUndefined();
            if (error instanceof DeadlineExceeded && error.phase === 'admission') expect(hasLeft).toBe(false);
          }
        },
      );
      await fc.assert(property, runs(500));
    },
  );
});

describe(`looks (${SEEDED})`, () => {
  test('who cannot make it any more is refused when that is known, not when the time is up', async () => {
    let [refused, checked] = [0, 0];
    const scripts = plainScripts({ isMixed: false, deadlines: 'some', holds: true });
    const property = fc.asyncProperty(scripts, async ({ policy, calls }) => {
      const stage = await performed(policy, calls);
      await stage.finish();
      for (const { hasLeft, error } of stage.told) {
        checked++;
        if (!hasLeft || !isAdmissionError(error)) continue;
        refused++;
        // When its time is up, nobody works out any more when it could have started.
        expect(error.expectedWaitMs).toBeDefined();
      }
    });
    await fc.assert(property, runs(500));
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(checked);
  });
});

describe(`forecasts (${SEEDED})`, () => {
  const asks = fc.record({
    calls: fc.integer({ min: 1, max: 30 }),
    cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 6 })),
    deadlineMs: fc.integer({ min: 0, max: 30_000 }),
  });
  type Ask = { readonly calls: number; readonly cost: number; readonly deadlineMs: number };

  /** What is foretold after a script, and what then happens, with a deadline or without. */
  async function compare({ policy, calls }: Script, ask: Ask, fan: Partial<Asked>, hasDeadline: boolean) {
    const stage = await performed(unlimited(policy), calls);
    const { clock, dispatcher, holds, serverHolds } = stage;
    const now = clock.now();
    const deadline = hasDeadline ? clock.wallNow() + ask.deadlineMs : undefined;
    const { priority, run } = fan;
    const foretold = dispatcher.forecast('api', { calls: ask.calls, cost: ask.cost, priority, runId: run, deadline });
    const asked = { ...calls[0]!, ...fan, cost: ask.cost, deadlineMs: hasDeadline ? ask.deadlineMs : undefined };
    const made = Array.from({ length: ask.calls }, () => stage.make(asked));
    await stage.finish();
    const waits = made.flatMap(({ startedAt }) => (startedAt === undefined ? [] : [startedAt - now]));
    const isHeld = stage.holds !== holds;
    return { foretold, waits, isHeld, isUnforeseen: stage.serverHolds !== serverHolds && serverHolds > 0 };
  }

  const FAN = {
    afterMs: 0,
    runMs: 0,
    throttledMs: undefined,
    counter: undefined,
    pausedMs: undefined,
    isNesting: false,
  };

  function largest({ quota }: DownstreamPolicyInput): number {
    const all = (Array.isArray(quota) ? quota : []) as { limit: number; unit?: string }[];
    return Math.min(...all.filter(({ unit }) => unit === 'requests').map(({ limit }) => limit));
  }

  test('are what then happens, for one class and run', async () => {
    const scripts = plainScripts({ isMixed: false, deadlines: 'none', holds: true });
    const property = fc.asyncProperty(scripts, asks, async (script, drawn) => {
      const ask = { ...drawn, cost: Math.min(drawn.cost, largest(script.policy)) };
      const { foretold, waits, isHeld } = await compare(script, ask, FAN, false);
      if (isHeld) return;
      expect(waits.length).toBe(ask.calls);
      expect(foretold.fits).toBe(ask.calls);
      expect(Math.abs(foretold.firstStartInMs - waits[0]!)).toBeLessThanOrEqual(EXACT_MS);
      expect(Math.abs(foretold.lastStartInMs - waits.at(-1)!)).toBeLessThanOrEqual(EXACT_MS);
      const limited = await compare(script, ask, FAN, true);
      expect(limited.foretold.fits).toBe(limited.waits.length);
    });
    await fc.assert(property, runs(500));
  });

  test('are never later than what then happens, whoever else waits', async () => {
    const scripts = mixedScripts({ isMixed: true, deadlines: 'none', holds: true }, false);
    const property = fc.asyncProperty(scripts, asks, async (script, drawn) => {
      const ask = { ...drawn, cost: Math.min(drawn.cost, largest(script.policy)) };
      const { priority, run } = script.calls.at(-1)!;
      const { foretold, waits, isUnforeseen } = await compare(script, ask, { ...FAN, priority, run }, false);
      if (isUnforeseen) return;
      expect(waits.length).toBe(ask.calls);
      expect(foretold.firstStartInMs).toBeLessThanOrEqual(Math.min(...waits) + EXACT_MS);
      expect(foretold.lastStartInMs).toBeLessThanOrEqual(Math.max(...waits) + EXACT_MS);
      const limited = await compare(script, ask, { ...FAN, priority, run }, true);
      if (limited.isUnforeseen) return;
      expect(limited.foretold.fits).toBeGreaterThanOrEqual(limited.waits.length);
    });
    await fc.assert(property, runs(500));
  });
});
