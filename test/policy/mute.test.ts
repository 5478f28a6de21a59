import { describe, expect, test } from 'vitest';
import { createDispatcher } from '../../src/index.ts';
import { describePolicy } from '../../src/policy/describe.ts';
import { muteEnd } from '../../src/policy/mute.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';
import { ManualClock } from '../../src/testing.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 0, 1, 12);
const resolved = (until: string, extra: object = {}) =>
  resolvePolicy(
    { downstreams: { carrier: { mute: { until, reason: ' migration ' } } }, ...extra },
    { env: {}, now: NOW },
  );

describe('until', () => {
  test.each([
    ['2026-02-01', Date.UTC(2026, 1, 2)],
    ['2026-02-01T08:00Z', Date.UTC(2026, 1, 1, 8)],
    ['2026-02-01T08:00:00.500Z', Date.UTC(2026, 1, 1, 8, 0, 0, 500)],
    ['2026-02-01t08:00:00z', Date.UTC(2026, 1, 1, 8)],
    ['2026-02-01 08:00:00+02:00', Date.UTC(2026, 1, 1, 6)],
    ['2026-02-01T08:00:00-0530', Date.UTC(2026, 1, 1, 13, 30)],
    ['2028-02-29', Date.UTC(2028, 2, 1)],
  ])('%s', (text, end) => expect(muteEnd(text)).toBe(end));

  test.each([
    '2026-02-30',
    '2026-02-29',
    '2026-13-01',
    '2026-02-01T25:00Z',
    '2026-02-01T08:00',
    '1.2.2026',
    'tomorrow',
    '2026',
    '',
  ])('%j is none', (text) => {
    expect(muteEnd(text)).toBeUndefined();
    expect(() => resolved(text)).toThrow(/downstreams\.carrier\.mute\.until: .*2026-02-01T08:00:00Z/);
  });
});

test('a mute is planned as an instant, with its reason', () => {
  expect(resolved('2026-02-01').downstreams.get('carrier')?.mute).toEqual({
    until: Date.UTC(2026, 1, 2),
    reason: 'migration',
  });
});

describe('ninety days', () => {
  test('are the most, and the answer names the last day', () => {
    expect(() => resolved('2026-04-01')).toThrow('use 2026-03-31 or an earlier day');
    expect(() => resolved('2026-03-31')).not.toThrow();
    expect(() => resolved(new Date(NOW + 90 * DAY_MS).toISOString())).not.toThrow();
    expect(() => resolved(new Date(NOW + 90 * DAY_MS + 1).toISOString())).toThrow('90 days at most');
  });

  test('are counted by the clock of the dispatcher, for downstreams that come later too', async () => {
    const mute = { until: '2026-03-15', reason: 'x' };
    const clock = new ManualClock();
    const dispatcher = createDispatcher({ downstreams: { a: { mute } } }, { clock, env: {}, alertSinks: [] });
    expect(() => dispatcher.register('b', { mute })).not.toThrow();
    expect(() => dispatcher.register('c', { mute: { ...mute, until: '2026-05-01' } })).toThrow(
      'downstreams.c.mute.until',
    );
    await dispatcher.close();
  });
});

test('a mute that is over is no problem, and check says so', () => {
  const over = describePolicy(resolved('2025-12-24'), { now: NOW });
  expect(over[0]?.sentence).not.toContain('mute');
  expect(over[0]?.warnings).toEqual([
    'its mute ended at 2025-12-25 00:00 UTC, so that sinks hear of it again; remove mute, or renew it',
  ]);
  const [lasts] = describePolicy(resolved('2026-02-01'), { now: NOW });
  expect(lasts?.sentence).toContain('muted until 2026-02-02 00:00 UTC (migration)');
  expect(lasts?.warnings).toEqual([]);
});

test('defaults and the environment reach it too', () => {
  const mute = { until: '2026-02-01', reason: 'migration' };
  const all = resolvePolicy({ defaults: { mute }, downstreams: { a: {}, b: {} } }, { env: {}, now: NOW });
  expect([...all.downstreams.values()].map((plan) => plan.mute?.reason)).toEqual(['migration', 'migration']);
  const env = { PENSTOCK__A__MUTE__UNTIL: '2026-02-03' };
  const one = resolvePolicy({ downstreams: { a: { mute } } }, { env, now: NOW });
  expect(one.downstreams.get('a')?.mute?.until).toBe(Date.UTC(2026, 1, 4));
  expect(() => resolvePolicy({ downstreams: { a: {} } }, { env, now: NOW })).toThrow('downstreams.a.mute.reason');
});
