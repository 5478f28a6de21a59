import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Alert } from '../../src/base/alert.ts';
import { createDispatcher } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { FakeDownstream, type FakeLimit, type FakeQuota, ManualClock } from '../../src/testing.ts';
import { runs, SEEDED } from '../property/support/seed.ts';

const EARLY = new Set(['QuotaDrift', 'OtherConsumer']);
const BLAMING = new Set(['limit-changed', 'other-consumer', 'hidden-window']);

interface Plan {
  readonly kind: 'sliding' | 'fixed' | 'bucket';
  readonly limit: number;
  readonly windowMs: number;
  readonly phaseShare: number;
  /** The bucket is this much of the limit. */
  readonly sizeShare: number;
  readonly isBucketDeclared: boolean;
  readonly isWindowTold: boolean;
  readonly reset: 'none' | 'up' | 'down' | 'exact';
  readonly isRounded: boolean;
  readonly places: number;
  readonly latencyShare: number;
  /** How much of our rate is asked for. */
  readonly load: number;
  readonly batch: number;
  readonly seed: number;
}

const plans = fc.record<Plan>({
  kind: fc.constantFrom('sliding', 'fixed', 'bucket'),
  limit: fc.integer({ min: 5, max: 300 }),
  windowMs: fc.constantFrom(1_000, 10_000, 60_000, 3_600_000),
  phaseShare: fc.double({ min: 0, max: 1, noNaN: true }),
  sizeShare: fc.constantFrom(0.25, 0.5, 1),
  isBucketDeclared: fc.boolean(),
  isWindowTold: fc.boolean(),
  reset: fc.constantFrom('none', 'up', 'down', 'exact'),
  isRounded: fc.boolean(),
  places: fc.integer({ min: 1, max: 20 }),
  latencyShare: fc.constantFrom(0, 0.001, 0.01, 0.1),
  load: fc.double({ min: 0.05, max: 3, noNaN: true }),
  batch: fc.integer({ min: 1, max: 30 }),
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
});

/** Numbers from a seed: the same plan plays the same way. */
function dice(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

function headersOf(plan: Plan, random: () => number): (quotas: readonly FakeQuota[]) => Record<string, string> {
  return ([quota]) => {
    const { room, remaining, resetMs, limit } = quota!;
    const noise = plan.isRounded ? Math.floor(random() * 3) - 1 : 0;
    const left = Math.max(0, Math.min(room, remaining + noise));
    const rounded = plan.reset === 'up' ? Math.ceil(resetMs / 1_000) : Math.floor(resetMs / 1_000);
    const seconds = plan.reset === 'exact' ? resetMs / 1_000 : rounded;
    if (plan.isWindowTold) {
      const t = plan.reset === 'none' ? '' : `;t=${Math.ceil(seconds)}`;
      return { 'ratelimit-policy': `"a";q=${limit};w=${plan.windowMs / 1_000}`, ratelimit: `"a";r=${left}${t}` };
    }
    return {
      'x-ratelimit-limit': String(room),
      'x-ratelimit-remaining': String(left),
      ...(plan.reset === 'none' ? {} : { 'x-ratelimit-reset': String(seconds) }),
    };
  };
}

/** Plays six windows of a lane that is alone on its quota; the alerts, and how many calls were answered. */
async function play(plan: Plan, more: DownstreamPolicyInput = {}): Promise<{ alerts: Alert[]; answered: number }> {
  const random = dice(plan.seed);
  const clock = new ManualClock();
  const { kind, limit, windowMs } = plan;
  const size = Math.max(1, Math.floor(limit * plan.sizeShare));
  const isSmall = kind === 'bucket' && size < limit;
  const fake: FakeLimit = { kind, limit, windowMs, phaseMs: plan.phaseShare * windowMs, ...(isSmall ? { size } : {}) };
  const server = new FakeDownstream({ clock, limits: [fake], headers: headersOf(plan, random) });
  const quota =
    isSmall || (kind === 'bucket' && plan.isBucketDeclared)
      ? { limit, per: windowMs, providerBurst: isSmall ? size : limit }
      : { limit, per: windowMs };
  const alerts: Alert[] = [];
  const { callDownstream, close } = createDispatcher(
    { downstreams: { api: { quota, maxConcurrent: plan.places, maxRun: '1d', maxQueueDepth: 300, ...more } } },
    { clock, alertSinks: [], env: {}, onAlert: (alert) => alerts.push(alert) },
  );
  const later = (): Promise<void> =>
    new Promise((resolve) => clock.setTimer(random() * Math.min(20_000, plan.latencyShare * windowMs), resolve));
  let answered = 0;
  const call = async (): Promise<Response> => {
    if (plan.latencyShare > 0) await later();
    const response = server.call();
    if (plan.latencyShare > 0) await later();
    answered++;
    return response;
  };
  const everyMs = (windowMs * plan.batch) / (limit * 0.8 * plan.load);
  for (let at = 0; at < 6 * windowMs; at += everyMs) {
    for (let n = 0; n < plan.batch; n++) void callDownstream('api', call).catch(() => undefined);
    await clock.advance(everyMs * (0.5 + random()));
  }
  await close({ within: 0 });
  return { alerts, answered };
}

test(`a healthy lane that is alone on its quota never raises either of the early alerts (${SEEDED})`, async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const played = await play(plan);
      answered += played.answered;
      const wrong = played.alerts.filter(({ name, hypothesis }) => EARLY.has(name) || BLAMING.has(hypothesis));
      expect(wrong.map(({ explanation }) => explanation)).toEqual([]);
    }),
    runs(60),
  );
  expect(answered).toBeGreaterThan(2_000);
}, 120_000);
