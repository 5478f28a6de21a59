import { describe, expect, test } from 'vitest';
import type { Alert } from '../../src/base/alert.ts';
import { createDispatcher } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { applied, Diagnosed } from '../support/diagnosed.ts';

const MINUTE = 60_000;
const SIXTY: DownstreamPolicyInput = { quota: '60/minute' };
const limit = (of: number, more: object = {}) => ({ limit: of, windowMs: MINUTE, ...more });

describe('a suggestion', () => {
  const cases: [
    string,
    DownstreamPolicyInput,
    ConstructorParameters<typeof Diagnosed>[1],
    (world: Diagnosed) => void,
  ][] = [
    ['limit-changed', SIXTY, limit(40, { headers: 'ietf' }), () => undefined],
    [
      'limit-changed, with a burst that is too large for it',
      { ...SIXTY, burst: 13 },
      limit(20, { headers: 'ietf' }),
      () => undefined,
    ],
    [
      'limit-changed, one of two',
      { quota: [{ limit: 60, per: '1m' }, '9/second'] },
      limit(40, { headers: 'ietf' }),
      () => undefined,
    ],
    [
      'other-consumer',
      { ...SIXTY, burst: 1 },
      limit(60, { headers: 'ietf' }),
      ({ server }) => server.addConsumer({ name: 'x', everyMs: 2_000 }),
    ],
    [
      'hidden-window',
      SIXTY,
      { limits: [limit(60), { limit: 2, windowMs: 1_000, isHidden: true }], headers: 'ietf' },
      () => undefined,
    ],
    [
      'a limit that is not declared',
      SIXTY,
      { limits: [limit(60), { limit: 100, windowMs: 3_600_000 }], headers: 'ietf' },
      () => undefined,
    ],
    [
      'policy-too-wide',
      { quota: { limit: 60, per: 'minute', providerBurst: 60 } },
      limit(60, { headers: 'ietf' }),
      () => undefined,
    ],
    ['no quota', {}, limit(60, { headers: 'ietf' }), () => undefined],
    ['unlimited', { unlimited: true, owner: 'logistics' }, limit(60), () => undefined],
  ];

  test.each(cases)(
    '%s: the policy is accepted with it, and nothing is throttled any more',
    async (_, policy, server, setUp) => {
      const before = new Diagnosed(policy, server, { tells: 'refusals' });
      setUp(before);
      await before.run(1_000, 10 * MINUTE, { batch: 3, until: 'QuotaModelWrong' });
      const next = applied(policy, before.first('QuotaModelWrong'));
      await before.close();
      // What is answered in ten seconds is a first guess for a downstream that says nothing, no more.
      if (policy.unlimited) return;
      const after = new Diagnosed(next, server, { tells: 'refusals' });
      setUp(after);
      await after.run(1_000, 10 * MINUTE, { batch: 3 });
      expect(after.server.count({ consumer: 'us', status: 429 })).toBe(0);
      await after.close();
    },
  );

  test('is written for the name as it is, over what the defaults say', async () => {
    const world = new Diagnosed({}, limit(40, { headers: 'ietf' }));
    const policy = { defaults: { quota: '60/minute', utilization: 0.9 }, downstreams: { 'api.v2': {} } };
    const alerts: Alert[] = [];
    const { callDownstream, close } = createDispatcher(policy, {
      clock: world.clock,
      alertSinks: [],
      env: {},
      onAlert: (alert) => alerts.push(alert),
    });
    for (let n = 0; n < 5; n++) {
      void callDownstream('api.v2', () => world.server.call());
      await world.clock.advance(1_000);
    }
    expect(alerts).toMatchObject([
      { name: 'QuotaDrift', suggestion: { path: 'downstreams["api.v2"].quota', from: '60/minute', to: '40/minute' } },
    ]);
    await close();
  });
});
