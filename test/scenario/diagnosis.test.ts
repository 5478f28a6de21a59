import { describe, expect, test } from 'vitest';
import type { Alert } from '../../src/base/alert.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import type { FakeQuota } from '../../src/testing.ts';
import { Diagnosed } from '../support/diagnosed.ts';

const MINUTE = 60_000;
const SIXTY: DownstreamPolicyInput = { quota: '60/minute' };
const limit = (of: number, more: object = {}) => ({ limit: of, windowMs: MINUTE, ...more });
const seenOf = (alert: Alert): string => alert.explanation.split('\n')[1] ?? '';
/** Who stops at a count of 0 is refused only where headers name no reset, or come with refusals alone. */
const countOnly = ([quota]: readonly FakeQuota[]): Record<string, string> => ({
  'x-ratelimit-limit': String(quota!.limit),
  'x-ratelimit-remaining': String(quota!.remaining),
});
const WAYS = (['sliding', 'fixed'] as const).flatMap((kind) => [
  { kind, form: 'ietf', headers: 'ietf', tells: 'refusals' } as const,
  { kind, form: 'x-ratelimit', headers: 'x-ratelimit', tells: 'refusals' } as const,
  { kind, form: 'counts without a reset', headers: countOnly, tells: 'always' } as const,
]);

describe.each(WAYS)('with headers ($form, $tells, $kind window)', ({ headers, kind, tells }) => {
  test('a true limit of 40 where 60 are declared', async () => {
    const world = new Diagnosed(SIXTY, limit(40, { headers, kind }), { tells });
    await world.run(500, MINUTE, { until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect(alert).toMatchObject({
      hypothesis: 'limit-changed',
      incident: { inARow: 1, throttles: 1 },
      server: { limit: 40, remaining: 0 },
      suggestion: { path: 'downstreams.carrier.quota', from: '60/minute', to: '40/minute' },
    });
    expect(seenOf(alert)).toContain('It said that 0 of 40 were left');
    expect(seenOf(alert)).toContain('The server names 40/minute as its limit; 60/minute is declared.');
    await world.close();
  });

  test.each([0, 500, 1_500])('another consumer takes half (%i ms after we began)', async (phaseMs) => {
    const world = new Diagnosed(SIXTY, limit(60, { headers, kind }), { tells });
    world.server.addConsumer({ name: 'nightly sync', everyMs: 2_000, phaseMs });
    await world.run(500, 2 * MINUTE, { until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect(alert).toMatchObject({ hypothesis: 'other-consumer', incident: { inARow: 1, throttles: 1 } });
    const { suggestion } = alert;
    expect(suggestion).toMatchObject({ path: 'downstreams.carrier.utilization', from: 0.8 });
    const [, used, , ours, others, perMinute, share] =
      /counts (\d+) of (\d+) used in .*?, and (\d+) .*? others used (\d+)\. That is about (\d+)\/minute, (\d+) %/.exec(
        seenOf(alert),
      ) ?? [];
    expect([used, ours, others].map(Number)).toEqual([
      60,
      world.server.count({ consumer: 'us', status: 200 }),
      world.server.count({ consumer: 'nightly sync', status: 200 }),
    ]);
    expect(Math.abs(Number(perMinute) - 30) / 30).toBeLessThanOrEqual(0.05);
    expect(Math.abs(Number(share) - 50) / 50).toBeLessThanOrEqual(0.05);
    expect(Number(suggestion?.to) * 60 + 30).toBeLessThanOrEqual(60);
    await world.close();
  });

  test('a hidden limit per second', async () => {
    const limits = [limit(60, { kind }), { limit: 3, windowMs: 1_000, isHidden: true }];
    const world = new Diagnosed(SIXTY, { limits, headers }, { tells });
    await world.run(20_000, MINUTE, { batch: 6, until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect(alert).toMatchObject({
      hypothesis: 'hidden-window',
      suggestion: { path: 'downstreams.carrier.quota', from: '60/minute', to: ['60/minute', '3/second'] },
    });
    expect(seenOf(alert)).toContain("by the server's own count, 57 of 60 were left");
    expect(seenOf(alert)).toContain('4 had started within 1 s, of which 1 was refused');
    await world.close();
  });

  test('a limit that changes at noon', async () => {
    const world = new Diagnosed(SIXTY, limit(60, { headers, kind }), { tells });
    const noonMs = 5 * MINUTE + 20_000;
    world.server.setLimit(40, { atMs: noonMs });
    await world.run(1_000, noonMs - 1_000);
    expect(world.alerts).toEqual([]);
    await world.run(1_000, 3 * MINUTE, { until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect(alert).toMatchObject({
      hypothesis: 'limit-changed',
      incident: { inARow: 1, throttles: 1 },
      suggestion: { from: '60/minute', to: '40/minute' },
    });
    await world.close();
  });

  test('a restart: a full bucket meets a used one', async () => {
    const world = new Diagnosed(SIXTY, limit(60, { headers, kind }), { tells });
    for (let n = 0; n < 50; n++) world.server.call('the process before');
    await world.clock.advance(5_000);
    await world.run(500, MINUTE, { until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect(alert.hypothesis).toBe('restart');
    expect(alert.suggestion).toBeUndefined();
    expect(seenOf(alert)).toContain('50 of 60 had been used before this process first heard of it.');
    expect(alert.explanation.split('\n')[2]).toMatch(/^Nothing is to be done now/);
    await world.close();
  });

  test('two at once: the limit is lower, and somebody else uses it', async () => {
    const world = new Diagnosed(SIXTY, limit(40, { headers, kind }), { tells });
    world.server.addConsumer({ name: 'nightly sync', everyMs: 2_000, phaseMs: 700 });
    await world.run(500, MINUTE, { until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect(alert).toMatchObject({ hypothesis: 'limit-changed', suggestion: { to: '40/minute' } });
    const others = world.server.count({ consumer: 'nightly sync', status: 200 });
    expect(seenOf(alert)).toContain('The server names 40/minute as its limit; 60/minute is declared.');
    expect(seenOf(alert)).toContain(`others used ${others}`);
    await world.close();
  });
});

describe('with headers on every answer', () => {
  test('a lower limit is told before any 429, and none comes', async () => {
    const world = new Diagnosed(SIXTY, limit(40, { headers: 'ietf' }));
    await world.run(500, 5 * MINUTE);
    expect(world.alerts).toMatchObject([{ name: 'QuotaDrift', suggestion: { from: '60/minute', to: '40/minute' } }]);
    await world.close();
  });

  test.each(['sliding', 'fixed', 'bucket'] as const)(
    'somebody else is named, whatever comes first (%s)',
    async (kind) => {
      const world = new Diagnosed(SIXTY, limit(60, { headers: 'ietf', kind }));
      world.server.addConsumer({ name: 'nightly sync', everyMs: 2_000, phaseMs: 1_500 });
      for (let n = 0; n < 1_200; n++) {
        world.call({ toMs: 300, backMs: 200 });
        await world.clock.advance(500);
      }
      expect(world.alerts.length).toBeGreaterThan(0);
      expect(new Set(world.alerts.map(({ hypothesis }) => hypothesis))).toEqual(new Set(['other-consumer']));
      const [first] = world.alerts;
      const [, time, unit, others] =
        /(?:used|taken) in ([\d.]+) (s|min).*others (?:used|took) (\d+)/.exec(first?.explanation ?? '') ?? [];
      const atMs = Date.parse(first?.at ?? '') - world.startedAt;
      const fromMs = atMs - Number(time) * (unit === 'min' ? MINUTE : 1_000);
      const theirs = world.server.calls.filter(
        (call) => call.consumer !== 'us' && call.status === 200 && call.atMs > fromMs && call.atMs <= atMs,
      );
      expect(Math.abs(Number(others) - theirs.length) / theirs.length).toBeLessThanOrEqual(0.05);
      await world.close();
    },
  );
});

describe('a policy that is too wide', () => {
  test('utilization 1: the way to the server makes one too many', async () => {
    const world = new Diagnosed({ quota: '60/minute', utilization: 1 }, limit(60, { headers: 'ietf' }), {
      tells: 'refusals',
    });
    for (let n = 0; world.alerts.length === 0 && n < 600; n++) {
      // The later ones are faster, so that they catch up with the first.
      world.call({ toMs: Math.max(0, 900 - n * 4) });
      await world.clock.advance(500);
    }
    const alert = world.first('QuotaModelWrong');
    expect(alert).toMatchObject({
      hypothesis: 'policy-too-wide',
      suggestion: { path: 'downstreams.carrier.utilization', from: 1, to: 0.8 },
    });
    expect(seenOf(alert)).toContain('our policy lets up to 60 start in one');
    await world.close();
  });

  test('a bucket of the provider that is none', async () => {
    const quota = { limit: 60, per: 'minute', providerBurst: 60 };
    const world = new Diagnosed({ quota }, limit(60, { headers: 'ietf' }), { tells: 'refusals' });
    await world.run(300, MINUTE, { until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect(alert).toMatchObject({ hypothesis: 'policy-too-wide', suggestion: { from: quota, to: '60/minute' } });
    expect(seenOf(alert)).toContain('61 of the 60 that we may use');
    await world.close();
  });
});

describe('without headers', () => {
  test('in the first window it may be a restart, and says what it is if it comes back', async () => {
    const world = new Diagnosed(SIXTY, limit(40));
    await world.run(500, MINUTE, { until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect(alert.hypothesis).toBe('restart');
    expect(alert.explanation).toContain('may still count');
    await world.close();
  });

  test.each(['a lower limit', 'another consumer'])('later nothing can be known of %s, and it says so', async (what) => {
    const world = new Diagnosed(SIXTY, limit(60));
    await world.run(5_000, 2 * MINUTE);
    if (what === 'a lower limit') world.server.setLimit(40);
    else world.server.addConsumer({ name: 'nightly sync', everyMs: 2_000 });
    await world.run(500, 3 * MINUTE, { until: 'QuotaModelWrong' });
    const alert = world.first('QuotaModelWrong');
    expect([alert.hypothesis, alert.suggestion]).toEqual(['unknown', undefined]);
    expect(alert.explanation).toContain(
      'Why it throttled us is not known: its limit may be lower, it may count in a shorter window, or somebody else may use the same credential.',
    );
    await world.close();
  });

  test('starts that bunched as never before, refused with a hint of that length, speak for a shorter window', async () => {
    const limits = [limit(60), { limit: 3, windowMs: 1_000, isHidden: true }];
    const world = new Diagnosed(SIXTY, { limits });
    await world.run(5_000, 2 * MINUTE);
    expect(world.alerts).toEqual([]);
    await world.run(20_000, MINUTE, { batch: 6, until: 'QuotaModelWrong' });
    expect(world.first('QuotaModelWrong')).toMatchObject({
      hypothesis: 'hidden-window',
      suggestion: { to: ['60/minute', '3/second'] },
    });
    await world.close();
  });
});
