import { describe, expect, it } from 'vitest';
import type { Made } from '../support/made.ts';
import { ALL_ANSWERED_MS, CALLS, MINUTE, SYNC_EVERY_MS, tell } from '../support/story.ts';
import { MetricLab, SpanLab } from '../telemetry/harness.ts';

const INTERVAL_MS = 1_250;

describe('800 calls at a server that a nightly sync shares', () => {
  it.each([0, 1, 1_234.5, 4_500, 8_999])(
    'a sliding window (sync %d ms into it): no 429 for anybody, all answered in 16.8 minutes',
    async (syncPhaseMs) => {
      const { rig, server, answeredMs } = await tell({ syncPhaseMs });
      expect(server.count({ status: 429 })).toBe(0);
      expect(answeredMs).toHaveLength(CALLS);
      expect(answeredMs.at(-1)).toBeLessThanOrEqual(ALL_ANSWERED_MS);
      expect(server.maxInAnyWindow(MINUTE)).toBeLessThanOrEqual(60);
      expect(server.maxInAnyWindow(MINUTE, 'us')).toBeLessThanOrEqual(53);
      expect(server.count({ consumer: 'nightly sync' })).toBeGreaterThan(130);
      expect(rig.alerts).toEqual([]);
      await rig.rest();
    },
  );

  it.each([0, 1, 7_500, 14_999, 30_000, 44_444.4, 59_000, 59_999])(
    'a fixed window that begins %d ms in: the same',
    async (phaseMs) => {
      const { rig, server, answeredMs } = await tell({ server: { kind: 'fixed', phaseMs } });
      expect(server.count({ status: 429 })).toBe(0);
      expect(answeredMs).toHaveLength(CALLS);
      expect(answeredMs.at(-1)).toBeLessThanOrEqual(ALL_ANSWERED_MS);
      await rig.rest();
    },
  );

  it.each([
    ['all of them start', {}],
    ['most are refused', { deadlineIn: 120_000 }],
  ])('the audit is one subscribe: 800 ends, their waits the sum of the histogram (%s)', async (_, ask) => {
    const metrics = new MetricLab();
    const spans = new SpanLab();
    const telemetry = { meterProvider: metrics.provider, tracerProvider: spans.provider };
    const { rig } = await tell({ options: { telemetry }, ask: () => ask });
    const { ends } = rig.record;
    expect(ends).toHaveLength(CALLS);
    expect(new Set(ends.map((end) => end.callId)).size).toBe(CALLS);
    const histogram = Object.values(await metrics.histogram('downstream.wait_ms'));
    expect(histogram.reduce((count, point) => count + point.count, 0)).toBe(CALLS);
    const told = ends.reduce((sum, end) => sum + end.waitedMs, 0);
    const counted = histogram.reduce((sum, point) => sum + (point.sum ?? 0), 0);
    const seen = rig.calls.reduce((sum, call) => sum + (call.waitedMs ?? 0), 0);
    expect(counted).toBeCloseTo(told, 3);
    expect(told).toBeCloseTo(seen, 0);
    expect(spans.open).toBe(0);
    await rig.rest();
  });
});

describe('somebody else’s call while the fan-out runs', () => {
  async function others(ask: object, fanOut: object): Promise<Made[]> {
    const made: Made[] = [];
    const { rig, server, answeredMs } = await tell({
      ask: () => fanOut,
      untilMs: 40 * MINUTE,
      meanwhile: {
        everyMs: 3_000,
        act: (rig, server, answered) => {
          if (answered === CALLS) return;
          made.push(rig.call({ to: 'carrier', fn: () => server.call(), deadlineIn: 10_000, ...ask }));
        },
      },
    });
    expect(answeredMs).toHaveLength(CALLS);
    expect(server.count({ status: 429 })).toBe(0);
    await rig.rest();
    return made;
  }

  it('an interactive call every 3 s, the fan-out a batch: all answered, p99 within two permits', async () => {
    const made = await others({ priority: 'interactive', runId: 'customer' }, { priority: 'batch', runId: 'sync' });
    expect(made.length).toBeGreaterThan(300);
    expect(made.every((call) => call.state === 'fulfilled')).toBe(true);
    expect(
      percentile(
        made.map((call) => call.waitedMs!),
        0.99,
      ),
    ).toBeLessThanOrEqual(2 * INTERVAL_MS);
  });

  it('no priority set anywhere: a single call of a second run waits at most two permits', async () => {
    const made = await others({ runId: 'customer' }, { runId: 'fan-out' });
    expect(made.every((call) => call.state === 'fulfilled')).toBe(true);
    expect(Math.max(...made.map((call) => call.waitedMs!))).toBeLessThanOrEqual(2 * INTERVAL_MS);
  });
});

describe('after a 429', () => {
  it.each([
    ['one Retry-After: 60', 1, { 'retry-after': '60' }],
    ['five in a row without a hint', 5, {}],
  ])('%s: all 800 are still answered, later', async (_, times, headers) => {
    const { rig, server, answeredMs } = await tell({
      before: (_rig, one) => one.answerNext(times, 429, headers as Record<string, string>),
      untilMs: 40 * MINUTE,
    });
    expect(answeredMs).toHaveLength(CALLS);
    expect(server.count({ consumer: 'us', status: 429 })).toBe(times);
    expect(server.count({ consumer: 'nightly sync', status: 429 })).toBe(0);
    expect(rig.alerts.filter((alert) => alert.name === 'QuotaModelWrong' && alert.status === 'firing')).toHaveLength(
      times,
    );
    await rig.rest();
  });
});

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1]!;
}

it('percentile: 99 of 100 are at or below it', () => {
  const values = Array.from({ length: 100 }, (_, n) => n);
  expect([percentile(values, 0.99), percentile(values, 1), percentile([7], 0.99)]).toEqual([98, 99, 7]);
});

it('the sync makes 400 calls an hour', () => expect(3_600_000 / SYNC_EVERY_MS).toBe(400));
