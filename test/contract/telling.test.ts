import { describe, expect, test } from 'vitest';
import { MetricLab, SpanLab } from '../telemetry/harness.ts';
import { EXCEPTIONS, fakeTimers, KINDS, Stage } from './support.ts';

fakeTimers();

describe.each(KINDS)('what is told by $name', (kind) => {
  test('metrics and spans of waits, refusals and what runs', async () => {
    const metrics = new MetricLab();
    const spans = new SpanLab();
    const telemetry = { meterProvider: metrics.provider, tracerProvider: spans.provider };
    const stage = new Stage(kind, { maxConcurrent: 1, maxWait: 400 }, { telemetry });
    stage.call({ runMs: 300, tool: 'a' });
    await stage.pass(kind.slackMs);
    stage.call({ runMs: 300, tool: 'b' });
    stage.call({ tool: 'c' });
    await stage.pass(320);
    const running = await collected(stage, metrics, 'downstream.in_flight');
    expect(Object.values(running)).toEqual([1]);
    await stage.pass(700);
    const admissions = await collected(stage, metrics, 'downstream.admissions');
    const count = (outcome: string): number =>
      Object.entries(admissions).reduce((sum, [key, value]) => sum + (key.includes(outcome) ? value : 0), 0);
    expect(count('=started') + count('=admitted') + count('=queued')).toBeGreaterThan(0);
    expect(count('RATE_LIMIT_QUEUE_TIMEOUT')).toBe(1);
    const byOutcome = (outcome: string) =>
      spans.waits.filter(({ attributes }) => attributes['downstream.outcome'] === outcome);
    const waited = byOutcome('started').map(({ attributes }) => attributes['downstream.wait_ms'] as number);
    expect(Math.max(...waited)).toBeGreaterThan(250);
    expect(Math.max(...waited)).toBeLessThanOrEqual(300 + 2 * kind.slackMs);
    expect(spans.open).toBe(0);
  });

  test('the snapshot shows what waits, runs and holds', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1, whilePaused: 'wait' });
    stage.call({ runMs: 200 });
    await stage.pass(kind.slackMs);
    stage.calls(2, { priority: 'batch' });
    await stage.pass(100);
    stage.dispatcher.pause('api', { for: '10m', reason: 'maintenance' });
    const [shown] = stage.dispatcher.snapshot().downstreams;
    expect(shown).toMatchObject({ queued: 2, running: 1, maxConcurrent: 1, isPaused: true, limitedBy: 'hold' });
    expect(shown!.classes.batch).toMatchObject({ length: 2 });
    expect(shown!.oldestWaitMs).toBeGreaterThanOrEqual(99);
  });

  test('a forecast says no more than is known', async () => {
    const stage = new Stage(kind, { quota: '60/minute', utilization: 1, whilePaused: 'wait' });
    const free = stage.dispatcher.forecast('api', { calls: 11 });
    expect(free.firstStartInMs).toBe(0);
    expect(free.lastStartInMs).toBe(kind.predicts ? 10_000 : 0);
    stage.dispatcher.pause('api', { for: '10m' });
    const held = stage.dispatcher.forecast('api', { calls: 2, deadline: stage.in(60_000) });
    expect(held).toMatchObject({ firstStartInMs: 600_000, fits: 0 });
    expect(held.limitedBy).toBe('hold');
    let told: { expectedMs?: number | undefined } | undefined;
    stage.call({ onWait: (wait) => (told ??= wait) });
    await stage.pass(10);
    expect(told?.expectedMs).toBe(600_000);
  });

  test('every step of a call is an event: queued and started at most once, one end', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    stage.call({ runMs: 50 });
    await stage.pass(kind.slackMs);
    stage.call();
    await stage.pass(100);
    const second = stage.record.events.filter((event) => 'callId' in event && event.callId === 2);
    expect(second.map(({ type }) => type)).toEqual(['queued', 'started', 'settled']);
  });
});

test('the exceptions are few, and each says two things', () => {
  for (const { what, bottleneck } of EXCEPTIONS)
    expect([what, bottleneck].every((text) => text.length > 20)).toBe(true);
  expect(new Set(EXCEPTIONS.map(({ what }) => what)).size).toBe(EXCEPTIONS.length);
});

/** The reader of metrics waits for timers of its own. */
async function collected(stage: Stage, lab: MetricLab, name: string): Promise<Record<string, number>> {
  const points = lab.points(name);
  await stage.pass(1);
  return points;
}
