import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../src/policy/input.ts';
import { ManualClock } from '../../src/testing.ts';
import { runs, SEEDED } from './support/seed.ts';

const WINDOW_MS = 1_000;
/** Rounding of instants, as by the rule of what is due. */
const ROUND_MS = 2e-3;

interface Step {
  readonly limit: number;
  readonly workers: number;
  readonly burst: boolean;
  /** Policies that are in force for no time at all before that one. */
  readonly detours: readonly ('gone' | 'unlimited' | 'no quota' | 'another window')[];
  readonly calls: number;
  readonly cost: number;
  readonly advanceMs: number;
}

const steps = fc.array(
  fc.record<Step>({
    limit: fc.integer({ min: 4, max: 60 }),
    workers: fc.constantFrom(1, 1, 2),
    burst: fc.boolean(),
    detours: fc.array(fc.constantFrom('gone', 'unlimited', 'no quota', 'another window'), { maxLength: 3 }),
    calls: fc.integer({ min: 0, max: 40 }),
    cost: fc.constantFrom(1, 1, 2, 3),
    advanceMs: fc.constantFrom(0, 1, 50, 100, 333, 1_000, 1_700),
  }),
  { minLength: 1, maxLength: 25 },
);

function policyOf({ limit, workers, burst }: Step): DownstreamPolicyInput {
  return { quota: `${limit * workers}/second`, workers, ...(burst ? { burst: 1 } : {}) };
}

const DETOURS: Record<Step['detours'][number], PolicyInput> = {
  gone: { downstreams: {} },
  unlimited: { downstreams: { api: { unlimited: true } } },
  'no quota': { downstreams: { api: {} } },
  'another window': { downstreams: { api: { quota: '900/minute' } } },
};

async function play(all: readonly Step[]): Promise<string[]> {
  const clock = new ManualClock();
  const first = { downstreams: { api: policyOf(all[0]!) } } as PolicyInput;
  const dispatcher = createDispatcher(first, { clock, alertSinks: [], env: {} });
  const starts: { at: number; cost: number }[] = [];
  const limits = [{ from: Number.NEGATIVE_INFINITY, limit: all[0]!.limit }];
  const faults: string[] = [];
  let made = 0;
  let refused = 0;
  const start = (cost: number): void => {
    const at = clock.now();
    starts.push({ at, cost });
    const used = starts.filter((one) => one.at > at - WINDOW_MS + ROUND_MS).reduce((sum, one) => sum + one.cost, 0);
    const most = limits.reduce(
      (max, { limit }, i) => ((limits[i + 1]?.from ?? Infinity) > at - WINDOW_MS ? Math.max(max, limit) : max),
      0,
    );
    if (used > most) faults.push(`${used} in a window of ${most} at ${at}`);
  };
  for (const step of all) {
    for (const detour of step.detours) dispatcher.apply(DETOURS[detour]);
    dispatcher.apply({ downstreams: { api: policyOf(step) } });
    limits.push({ from: clock.now(), limit: step.limit });
    for (let i = 0; i < step.calls; i++, made++) {
      dispatcher.callDownstream('api', () => start(step.cost), { cost: step.cost }).catch(() => refused++);
    }
    await clock.advance(step.advanceMs);
  }
  await clock.advance(1_000_000);
  if (starts.length + refused !== made) faults.push(`${made} calls, ${starts.length} started, ${refused} refused`);
  if (refused > 0) faults.push(`${refused} refused that fit`);
  return faults;
}

describe(`any changes of policy lose no call and keep the window (${SEEDED})`, () => {
  test('limits up and down, workers, bursts, and policies that are in force for no time at all', async () => {
    const property = fc.asyncProperty(steps, async (all) => {
      expect(await play(all)).toEqual([]);
    });
    await fc.assert(property, runs(2_000));
  });
});
