import { describe, expect, test } from 'vitest';
import type { Alert } from '../../src/base/alert.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { Diagnosed } from '../support/diagnosed.ts';

const MINUTE = 60_000;
const SIXTY: DownstreamPolicyInput = { quota: '60/minute' };
const told = (limit: number, more: object = {}) => ({ limit, windowMs: MINUTE, headers: 'ietf' as const, ...more });
const namesOf = ({ alerts }: Diagnosed): string[] => alerts.map(({ name }) => name);
const limitsOf = (alerts: readonly Alert[]): unknown[] => alerts.map(({ server }) => server.limit);

describe('QuotaDrift', () => {
  test.each([40, 100])('after three answers that name %i, and not before', async (limit) => {
    const world = new Diagnosed(SIXTY, told(limit));
    await world.run(2_000, 4_000);
    expect(world.alerts).toEqual([]);
    await world.run(2_000, 2_000);
    expect(world.alerts).toMatchObject([
      {
        name: 'QuotaDrift',
        severity: 'info',
        hypothesis: 'limit-changed',
        action: { kind: 'none' },
        incident: { throttles: 0 },
        server: { limit },
        suggestion: { path: 'downstreams.carrier.quota', from: '60/minute', to: `${limit}/minute` },
      },
    ]);
    expect(world.dispatcher.snapshot().downstreams[0]?.holds).toEqual([]);
    await world.close();
  });

  test('not for answers that disagree', async () => {
    const world = new Diagnosed(SIXTY, told(60));
    for (let n = 0; n < 20; n++) {
      world.server.setLimit(n % 3 === 2 ? 60 : 40);
      await world.run(2_000, 2_000);
    }
    expect(world.alerts).toEqual([]);
    await world.close();
  });

  test('once per hour; at once when it names another limit, or names it again after the declared one', async () => {
    const world = new Diagnosed(SIXTY, told(50));
    await world.run(10_000, 59 * MINUTE);
    expect(limitsOf(world.alerts)).toEqual([50]);
    await world.run(10_000, 2 * MINUTE);
    expect(limitsOf(world.alerts)).toEqual([50, 50]);
    world.server.setLimit(40);
    await world.run(10_000, 10 * MINUTE);
    expect(limitsOf(world.alerts)).toEqual([50, 50, 40]);
    world.server.setLimit(60);
    await world.run(10_000, 10 * MINUTE);
    world.server.setLimit(40);
    await world.run(10_000, 10 * MINUTE);
    expect(limitsOf(world.alerts)).toEqual([50, 50, 40, 40]);
    await world.close();
  });

  test('not for another window, another unit, or a limit too far off to be this one', async () => {
    const headers = [
      () => ({ 'ratelimit-policy': '"h";q=1000;w=3600', ratelimit: '"h";r=900;t=60' }),
      () => ({ 'x-ratelimit-limit-tokens': '40', 'x-ratelimit-remaining-tokens': '30' }),
      () => ({ 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4000', 'x-ratelimit-reset': '1800' }),
      () => ({ 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '4000', 'x-ratelimit-reset': '20' }),
      () => ({ 'x-ratelimit-limit': '5000', 'x-ratelimit-remaining': '10' }),
      () => ({ 'x-ratelimit-limit': '40', 'x-ratelimit-remaining': '10', age: '30' }),
    ];
    for (const one of headers) {
      const world = new Diagnosed(SIXTY, { limit: 60, windowMs: MINUTE, headers: one });
      await world.run(2_000, 6 * MINUTE);
      expect(world.alerts).toEqual([]);
      await world.close();
    }
  });

  test('of several declared quotas it is about the one of that window; a bucket is known by its size', async () => {
    const several = new Diagnosed(
      { quota: ['60/minute', '1000/hour'] },
      {
        limits: [
          { limit: 60, windowMs: MINUTE },
          { limit: 800, windowMs: 60 * MINUTE },
        ],
        headers: 'ietf',
      },
    );
    await several.run(2_000, 10_000);
    expect(several.alerts).toMatchObject([
      { name: 'QuotaDrift', suggestion: { from: ['60/minute', '1000/hour'], to: ['60/minute', '800/hour'] } },
    ]);
    await several.close();
    const quota = { limit: 120, per: 'minute', providerBurst: 40 };
    const bucket = { limit: 120, windowMs: MINUTE, kind: 'bucket' as const, headers: 'x-ratelimit' as const };
    const right = new Diagnosed({ quota }, { ...bucket, size: 40 });
    await right.run(2_000, MINUTE);
    expect(right.alerts).toEqual([]);
    await right.close();
    const larger = new Diagnosed({ quota }, { ...bucket, size: 50 });
    await larger.run(2_000, MINUTE);
    expect(larger.alerts).toMatchObject([{ suggestion: { from: quota, to: { ...quota, providerBurst: 50 } } }]);
    await larger.close();
  });
});

describe('OtherConsumer', () => {
  test.each(['sliding', 'fixed'] as const)('after two windows, with the share (%s)', async (kind) => {
    const world = new Diagnosed(SIXTY, told(60, { kind, phaseMs: 17_000 }));
    world.server.addConsumer({ name: 'nightly sync', everyMs: 2_500 });
    await world.run(4_000, 2 * MINUTE - 4_000);
    expect(world.alerts).toEqual([]);
    await world.run(4_000, 2 * MINUTE);
    expect(world.alerts).toMatchObject([
      {
        name: 'OtherConsumer',
        severity: 'info',
        hypothesis: 'other-consumer',
        action: { kind: 'none' },
        suggestion: { path: 'downstreams.carrier', from: SIXTY },
      },
    ]);
    const [, share] = /(\d+) % of the limit/.exec(world.alerts[0]?.explanation ?? '') ?? [];
    expect(Math.abs(Number(share) - 40)).toBeLessThanOrEqual(2);
    expect(world.server.count({ status: 429 })).toBe(0);
    expect(world.dispatcher.snapshot().downstreams[0]?.holds).toEqual([]);
    await world.close();
  });

  test('once per hour, and at once when the share has changed', async () => {
    const world = new Diagnosed(SIXTY, told(60));
    const stop = world.server.addConsumer({ name: 'nightly sync', everyMs: 4_000 });
    await world.run(4_000, 50 * MINUTE);
    expect(namesOf(world)).toEqual(['OtherConsumer']);
    stop();
    world.server.addConsumer({ name: 'nightly sync', everyMs: 1_600 });
    await world.run(4_000, 10 * MINUTE);
    expect(namesOf(world)).toEqual(['OtherConsumer', 'OtherConsumer']);
    await world.close();
  });

  test('other workers of ours are expected, somebody beside them is not', async () => {
    const world = new Diagnosed({ ...SIXTY, workers: 2 }, told(60));
    world.server.addConsumer({ name: 'the other worker', everyMs: 2_100 });
    await world.run(4_000, 10 * MINUTE);
    expect(world.alerts).toEqual([]);
    world.server.addConsumer({ name: 'nightly sync', everyMs: 5_000 });
    await world.run(4_000, 5 * MINUTE);
    expect(namesOf(world)).toEqual(['OtherConsumer']);
    expect(world.alerts[0]?.explanation).toContain("30 of them may be our other workers'");
    await world.close();
  });

  test('calls that are made elsewhere and reported are nobody else', async () => {
    const world = new Diagnosed(SIXTY, told(60));
    for (let n = 0; n < 300; n++) {
      world.call();
      const elsewhere = world.server.call('our other tool');
      world.dispatcher.report('carrier', elsewhere);
      await world.clock.advance(2_500);
    }
    expect(world.alerts).toEqual([]);
    await world.close();
  });

  test('a call that costs several requests explains as many', async () => {
    const world = new Diagnosed(SIXTY, told(60));
    for (let n = 0; n < 100; n++) {
      const pages = () => [1, 2, 3].map(() => world.server.call()).at(-1);
      void world.dispatcher.callDownstream('carrier', pages, { cost: 3 });
      await world.clock.advance(6_000);
    }
    expect(world.alerts).toEqual([]);
    await world.close();
  });
});

test('one option switches both off', async () => {
  const world = new Diagnosed({ ...SIXTY, earlyAlerts: false }, told(50));
  world.server.addConsumer({ name: 'nightly sync', everyMs: 3_000 });
  await world.run(4_000, 10 * MINUTE);
  expect(world.alerts).toEqual([]);
  await world.close();
});

test('lanes of accounts report under their downstream: each thing once, whoever says it', async () => {
  const world = new Diagnosed(SIXTY, told(50, { limit: 10_000 }));
  const servers = Array.from({ length: 30 }, (_, n) => new Diagnosed({}, told(n % 2 === 0 ? 50 : 40)).server);
  for (let n = 0; n < 20; n++) {
    servers.forEach((server, account) => {
      void world.dispatcher.callDownstream('carrier', () => server.call(), { account: `a${account}` });
    });
    await world.clock.advance(2_000);
  }
  expect(world.alerts.map(({ name, downstream }) => `${name} ${downstream}`)).toEqual([
    'QuotaDrift carrier',
    'QuotaDrift carrier',
  ]);
  expect(new Set(limitsOf(world.alerts))).toEqual(new Set([50, 40]));
  await world.close();
});

test('a sink hears of it at once, and of its end when it was not said for longer than an hour', async () => {
  const sunk: Alert[] = [];
  const sink = { name: 'memory', spacingMs: 0, deliver: (alert: Alert) => void sunk.push(alert) };
  const world = new Diagnosed(SIXTY, told(50), { alertSinks: [sink] });
  const heard = (): string[] => sunk.map(({ status, server }) => `${status} ${server.limit}`);
  await world.run(10_000, 90 * MINUTE);
  await world.dispatcher.flush();
  expect(heard()).toEqual(['firing 50', 'firing 50']);
  world.server.setLimit(60);
  await world.run(10_000, 80 * MINUTE);
  await world.dispatcher.flush();
  expect(heard()).toEqual(['firing 50', 'firing 50', 'resolved 50']);
  expect(sunk[2]?.explanation).toContain('QuotaDrift of carrier is over');
  await world.close();
});
