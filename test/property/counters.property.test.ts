import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { mixedScripts, plainScripts } from './support/scripts.ts';
import { runs, SEEDED } from './support/seed.ts';
import { ROUND_MS } from './support/shadow.ts';
import { performed, type Stage } from './support/stage.ts';

/** Of each answer that told a counter: what was left by it, and what began after its call and before its reset. */
function ledgers(stage: Stage, hasQuota: boolean): { left: number; begunBefore: number; begun: number }[] {
  const started = stage.told.filter((one) => one?.startedAt !== undefined);
  return started.flatMap(({ asked: { counter }, startedAs, settledAt }) => {
    if (counter === undefined || settledAt === Number.POSITIVE_INFINITY) return [];
    const until = settledAt + counter.resetMs;
    const later = started.filter((one) => one.startedAs > startedAs && one.startedAt! < until - ROUND_MS);
    const sum = (of: typeof later): number => of.reduce((total, { asked }) => total + (hasQuota ? asked.cost : 1), 0);
    const begunBefore = sum(later.filter((one) => one.startedAt! <= settledAt));
    return [{ left: counter.remaining, begunBefore, begun: sum(later) }];
  });
}

/** Without a quota of requests every start counts as one. */
function countsRequests({ quota }: DownstreamPolicyInput): boolean {
  const all = (Array.isArray(quota) ? quota : []) as { unit?: string }[];
  return all.some(({ unit }) => unit === 'requests');
}

describe(`the server's counters (${SEEDED})`, () => {
  test.each([true, false])('never more starts before a reset than an answer left (mixed: %s)', async (isMixed) => {
    let [checked, spent] = [0, 0];
    const variety = { isMixed, deadlines: 'some', holds: true, counters: true } as const;
    const property = fc.asyncProperty(isMixed ? mixedScripts(variety) : plainScripts(variety), async (script) => {
      // A nested call is a start of its own, which the script does not know of.
      const calls = script.calls.map((call) => ({ ...call, isNesting: false }));
      const stage = await performed(script.policy, calls);
      await stage.finish();
      for (const { left, begunBefore, begun } of ledgers(stage, countsRequests(script.policy))) {
        checked++;
        if (begun === left) spent++;
        expect(begun).toBeLessThanOrEqual(Math.max(left, begunBefore));
      }
    });
    await fc.assert(property, runs(1_000));
    expect(checked).toBeGreaterThan(0);
    expect(spent).toBeGreaterThan(0);
  });
});
