import { describe, expect, test } from 'vitest';
import type { Alert } from '../../src/base/alert.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import type { FakeDownstreamOptions } from '../../src/testing.ts';
import { applied, Diagnosed } from '../support/diagnosed.ts';

const MINUTE = 60_000;
const SIXTY: DownstreamPolicyInput = { quota: '60/minute' };
type Server = Omit<FakeDownstreamOptions, 'clock'>;

function beside(policy: DownstreamPolicyInput, server: Server, everyMs: number, phaseMs = everyMs): Diagnosed {
  const world = new Diagnosed(policy, server, { tells: 'refusals' });
  world.server.addConsumer({ name: 'nightly sync', everyMs, phaseMs });
  return world;
}

/** Fan-outs, one every five minutes. */
async function fanOut(world: Diagnosed, times: number, size: number): Promise<void> {
  await world.run(5 * MINUTE, times * 5 * MINUTE, { batch: size });
}

async function firstAlert(policy: DownstreamPolicyInput, server: Server, everyMs: number): Promise<Alert> {
  const world = beside(policy, server, everyMs);
  await world.run(500, 10 * MINUTE, { batch: 2, until: 'QuotaModelWrong' });
  await world.close();
  return world.first('QuotaModelWrong');
}

describe.each(['fixed', 'sliding'] as const)('a suggestion that leaves others their part (%s window)', (kind) => {
  const server = { limit: 60, windowMs: MINUTE, kind };
  const policies: [string, DownstreamPolicyInput][] = [
    ['the usual policy', SIXTY],
    ['an object, with a burst', { quota: { limit: 60, per: '1m', burst: 12 } }],
    ['a burst beside it', { quota: ['60/minute'], burst: 5 }],
    ['two quotas', { quota: ['60/minute', '20000/day'] }],
  ];
  test.each(policies)('%s: nothing is refused once it is pasted', async (_, policy) => {
    const alert = await firstAlert(policy, { ...server, headers: 'ietf' }, 2_000);
    expect(alert.hypothesis).toBe('other-consumer');
    const next = applied(policy, alert);
    for (const headers of ['ietf', 'none'] as const) {
      for (const phaseMs of [0, 700, 2_000]) {
        const world = beside(next, { ...server, headers }, 2_000, phaseMs);
        await fanOut(world, 6, 60);
        expect(world.server.count({ status: 429 })).toBe(0);
        await world.close();
      }
    }
  });

  test('pasted again and again it stays where it is', async () => {
    let policy = SIXTY;
    const all: number[] = [];
    for (let round = 0; round < 4; round++) {
      const world = new Diagnosed(policy, { ...server, headers: 'ietf' });
      world.server.addConsumer({ name: 'nightly sync', everyMs: 2_000 });
      await world.run(3_000, 20 * MINUTE);
      for (const alert of world.alerts) if (alert.suggestion !== undefined) policy = applied(policy, alert);
      all.push(policy.utilization ?? 0.8);
      await world.close();
    }
    expect(all).toEqual([all[0], all[0], all[0], all[0]]);
    expect(all[0]).toBeGreaterThanOrEqual(0.37);
  });

  test('where there is room for both, the numbers say so and nothing is suggested', async () => {
    const world = new Diagnosed({ ...SIXTY, utilization: 0.4, burst: 3 }, { ...server, headers: 'ietf' });
    world.server.addConsumer({ name: 'nightly sync', everyMs: 2_000 });
    await world.run(3_000, 20 * MINUTE);
    const alert = world.first('OtherConsumer');
    expect(alert.suggestion).toBeUndefined();
    expect(alert.explanation).toMatch(
      /We use 24\/minute \(26 at most, after an idle spell\), others (29|30|31), together 5[567] of 60: the policy leaves room for both\./,
    );
    await world.close();
  });
});

test('of two quotas the other one keeps its burst, and it is said that utilization is for both', async () => {
  const server = { limit: 60, windowMs: MINUTE, headers: 'ietf' as const };
  const { suggestion, explanation } = await firstAlert({ quota: ['60/minute', '20000/day'] }, server, 2_000);
  expect(suggestion?.to).toEqual({
    quota: ['60/minute', { limit: 20_000, per: 'day', burst: 2_000 }],
    utilization: 0.4,
    burst: 3,
  });
  expect(explanation).toContain('`utilization` is for every quota of carrier');
});

test('others who use all of it leave nothing to suggest', async () => {
  const { suggestion, explanation } = await firstAlert(SIXTY, { limit: 60, windowMs: MINUTE, headers: 'ietf' }, 700);
  expect(suggestion).toBeUndefined();
  expect(explanation).toContain('no `utilization` leaves room for both');
});
