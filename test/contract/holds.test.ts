import { describe, expect, test } from 'vitest';
import { fakeTimers, KINDS, Stage } from './support.ts';

fakeTimers();

const throttled = (retryAfter?: string): object => ({
  status: 429,
  headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
});

describe.each(KINDS)('holds by $name', (kind) => {
  test('an operator pause holds every start; then they come at the pace of the policy, not all at once', async () => {
    const stage = new Stage(kind, { quota: '10/1s', whilePaused: 'wait' });
    await stage.pass(1_000);
    stage.dispatcher.pause('api', { for: '1h', reason: 'maintenance' });
    stage.calls(12);
    await stage.pass(5_000);
    expect(stage.starts).toEqual([]);
    stage.dispatcher.resume('api');
    const from = stage.t;
    await stage.pass(400);
    expect(stage.starts.length).toBeGreaterThan(0);
    expect(stage.starts.length).toBeLessThanOrEqual(5);
    await stage.pass(3_000);
    expect(stage.starts).toHaveLength(12);
    expect(Math.min(...stage.starts)).toBeGreaterThanOrEqual(from);
  });

  test('a 429 that names a time: nothing starts before it, one incident, one alert', async () => {
    const stage = new Stage(kind, { quota: '60/minute', utilization: 1, burst: 1 });
    const first = stage.call({ fn: () => Promise.reject(throttled('7')) });
    await stage.pass(kind.slackMs);
    expect(first.end).toEqual(throttled('7'));
    const waiting = stage.calls(3);
    await stage.pass(6_900);
    expect(stage.starts).toHaveLength(1);
    await stage.pass(20_000);
    expect(waiting.every(({ end }) => end === 'done')).toBe(true);
    expect(stage.starts[1]! - stage.starts[0]!).toBeGreaterThanOrEqual(7_000);
    for (const [i, at] of stage.starts.slice(2).entries()) expect(at - stage.starts[i + 1]!).toBeGreaterThan(900);
    expect(stage.alerts.map(({ name }) => name)).toEqual(['QuotaModelWrong']);
    expect(stage.count('hold')).toBeGreaterThanOrEqual(0);
  });

  test('a 429 without a time: the cooldown of the policy, doubling while it goes on', async () => {
    const stage = new Stage(kind, { minInterval: 10, cooldown: { base: '2s', max: '60s' } });
    for (let i = 0; i < 3; i++) stage.call({ fn: () => Promise.reject(throttled()) });
    await stage.pass(60_000);
    const gaps = stage.starts.slice(1).map((at, i) => at - stage.starts[i]!);
    expect(stage.starts).toHaveLength(3);
    expect(gaps[0]).toBeGreaterThanOrEqual(2_000);
    expect(gaps[1]).toBeGreaterThan(gaps[0]!);
    expect(stage.alerts.length).toBeGreaterThan(0);
  });

  test('a hold that lasts beyond a deadline refuses the waiter at once, with the time to come back', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const running = stage.call({ fn: () => new Promise((_, fail) => setTimeout(() => fail(throttled('30')), 100)) });
    await stage.pass(kind.slackMs);
    const waiting = stage.call({ deadline: stage.in(5_000) });
    const patient = stage.call({ deadline: stage.in(60_000) });
    await stage.pass(200);
    expect(running.end).toEqual(throttled('30'));
    expect(waiting.end).toMatchObject({ code: 'DEADLINE_EXCEEDED', limitedBy: 'hold', started: false });
    expect((waiting.end as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(20_000);
    await stage.pass(31_000);
    expect(patient.end).toBe('done');
  });

  test('a pause refuses what waits without a deadline, and takes calls again after it', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1, pauseAbove: '5m' });
    stage.call({ runMs: 100 });
    await stage.pass(kind.slackMs);
    const waiting = stage.call();
    stage.dispatcher.pause('api', { for: '10m' });
    await stage.pass(10);
    const more = stage.call();
    await stage.pass(10);
    expect([waiting.end, more.end]).toEqual([
      expect.objectContaining({ code: 'RATE_LIMITED' }),
      expect.objectContaining({ code: 'RATE_LIMITED' }),
    ]);
    await stage.pass(600_000);
    const later = stage.call();
    await stage.pass(100);
    expect(later.end).toBe('done');
  });

  test('what the server has counted holds back what starts', async () => {
    const stage = new Stage(kind, { quota: '100/minute' });
    const headers = { 'x-ratelimit-limit': '100', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '20' };
    stage.call({ fn: () => ({ status: 200, headers }) });
    await stage.pass(kind.slackMs);
    const next = stage.call();
    await stage.pass(15_000);
    expect(next.startedAt).toBeUndefined();
    await stage.pass(10_000);
    expect(next.end).toBe('done');
  });
});
