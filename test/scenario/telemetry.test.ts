import { describe, expect, it } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import { ManualClock } from '../../src/testing.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { MetricLab, SpanLab, series } from '../telemetry/harness.ts';

describe('Telemetry', () => {
  it('B107: 100,000 calls with ids of their own leave as many series as the policy and the fixed lists have', async () => {
    const [metrics, spans] = [new MetricLab(), new SpanLab()];
    const policy = { quota: '100000000/second', maxQueueDepth: 100, maxConcurrent: 50 };
    const names = ['carrier', 'mail', 'warehouse'];
    const clock = new ManualClock();
    const dispatcher = createDispatcher(
      { downstreams: Object.fromEntries(names.map((name) => [name, policy])) },
      { clock, env: {}, telemetry: { meterProvider: metrics.provider, tracerProvider: spans.provider } },
    );
    const priorities = ['interactive', 'normal', 'batch'] as const;
    let ended = 0;
    for (let n = 0; n < 100_000; ) {
      const batch: Promise<unknown>[] = [];
      for (let k = 0; k < 500; k += 1, n += 1) {
        const id = n;
        const fn = async (): Promise<void> => {
          if (id % 10 === 0) throw new Error(`random ${id * 7919} https://shop.example/orders/${id}`);
        };
        const ctx = {
          runId: `run-${id}`,
          account: id % 2_000 === 0 ? `customer-${id}` : undefined,
          tool: `tool-${id % 50}`,
          priority: priorities[id % 3],
        };
        batch.push(dispatcher.callDownstream(id % 1_000 === 7 ? `typo-${id}` : names[id % 3]!, fn, ctx));
      }
      const done = Promise.allSettled(batch);
      await clock.advance(1);
      ended += (await done).length;
    }
    expect(ended).toBe(100_000);
    const exported = await metrics.collect();
    const lines = (name: string): number => exported.get(name)?.dataPoints.length ?? 0;
    // By three outcomes at most, and for the call its own six.
    expect(lines('downstream.wait_ms')).toBeLessThanOrEqual(3 * 3 * 3 + 3);
    expect(lines('downstream.call_ms')).toBeLessThanOrEqual(3 * 6);
    expect(lines('downstream.admissions')).toBeLessThanOrEqual(3 * (2 + 8) + 1);
    const all = [...exported.values()].flatMap(({ dataPoints }) => [...dataPoints].map(series));
    const told = all.join('\n');
    expect(told).not.toMatch(/run-|tool-|customer-|typo-|random|https/);
    expect(all.length).toBeLessThan(200);
    expect(spans.waits.length).toBeGreaterThan(1_000);
    expect(spans.open).toBe(0);
    await dispatcher.close();
  }, 120_000);

  it('B109: what the snapshot and the gauges say of a lane that stands still is what a call is then told', async () => {
    const metrics = new MetricLab();
    const config = configS({ maxConcurrent: 5, warm: { for: '1s', rateFactor: 1 } });
    const rig = new Rig(config, { telemetry: { meterProvider: metrics.provider } });
    rig.callMany(2, { runMs: 60_000 });
    await rig.settle();
    await rig.drain();
    rig.dispatcher.report('api', { status: 429, retryAfterMs: 20_000 });
    rig.callMany(10);
    await rig.settle();
    const until = rig.clock.wallNow() + 20_000;
    const first = rig.snap();
    expect(first).toMatchObject({
      queued: 10,
      running: 2,
      isPaused: false,
      heldUntil: until,
      holds: [{ cause: 'retry-after', leftMs: 20_000, until }],
      limitedBy: 'hold',
      inARow: 1,
      lastThrottledAt: rig.clock.wallNow(),
      totals: { throttled: 1 },
    });
    expect(first.quotas[0]?.permits).toBeLessThan(1);
    expect(Math.abs(first.expectedWaitMs - 30_000)).toBeLessThanOrEqual(1_000);

    const plain = JSON.stringify(rig.dispatcher.snapshot());
    const before = performance.now();
    for (let n = 0; n < 100_000; n += 1) rig.dispatcher.snapshot();
    expect((performance.now() - before) / 100_000).toBeLessThan(1);
    expect(JSON.stringify(rig.dispatcher.snapshot())).toBe(plain);
    expect(JSON.parse(plain)).toEqual(rig.dispatcher.snapshot());
    expect(plain).not.toMatch(/NaN|Infinity|null/);

    expect(await metrics.points('downstream.expected_wait_ms')).toEqual({ 'downstream=api': first.expectedWaitMs });
    let toldMs: number | undefined;
    const next = rig.call({ onWait: ({ expectedMs }) => (toldMs ??= expectedMs) });
    await rig.settle();
    expect(toldMs).toBe(first.expectedWaitMs);

    await rig.to(10_000);
    expect(rig.snap()).toMatchObject({ queued: 11, running: 2, holds: [{ leftMs: 10_000 }] });
    await rig.to(21_000);
    expect(rig.snap()).toMatchObject({ running: 2, holds: [] });
    expect(rig.snap().queued).toBeLessThan(11);
    await rig.to(80_000);
    expect(Math.abs(next.startedMs! - first.expectedWaitMs)).toBeLessThanOrEqual(1_000);
    expect(rig.snap()).toMatchObject({ queued: 0, running: 0, expectedWaitMs: 0, totals: { started: 14 } });
    await rig.rest();
  });

  it('B109: a snapshot of 100,000 waiters takes less than a millisecond', async () => {
    const clock = new ManualClock();
    const dispatcher = createDispatcher({ downstreams: { api: configS().policy } }, { clock, env: {} });
    const calls = Promise.allSettled(
      Array.from({ length: 100_007 }, () => dispatcher.callDownstream('api', async () => {})),
    );
    await clock.advance(0);
    expect(dispatcher.snapshot().downstreams[0]?.queued).toBe(100_000);
    const took = Array.from({ length: 100 }, () => {
      const from = performance.now();
      dispatcher.snapshot();
      return performance.now() - from;
    });
    expect(Math.min(...took)).toBeLessThan(1);
    const closing = dispatcher.close();
    await clock.advance(10_000);
    await Promise.all([closing, calls]);
  });
});
