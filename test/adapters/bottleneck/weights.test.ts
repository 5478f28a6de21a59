import Bottleneck from 'bottleneck';
import { describe, expect, test, vi } from 'vitest';
import { bottleneckEngine } from '../../../src/adapters/bottleneck.ts';
import type { Call, CallContext } from '../../../src/dispatch/context.ts';
import { createDispatcher } from '../../../src/dispatcher.ts';
import type { DownstreamPolicyInput } from '../../../src/policy/input.ts';
import { fakeTimers } from '../../contract/support.ts';

fakeTimers();

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** Calls through a limiter, each with what it costs; `ends` in the order in which they come. */
class Stage {
  readonly starts: { readonly at: number; readonly cost: number }[] = [];
  readonly ends: unknown[] = [];
  readonly #zero = performance.now();
  readonly dispatcher;

  constructor(limiter: Bottleneck | undefined, policy: DownstreamPolicyInput = {}) {
    const engines = limiter === undefined ? {} : { api: bottleneckEngine(limiter) };
    this.dispatcher = createDispatcher({ downstreams: { api: policy } }, { alertSinks: [], env: {}, engines });
  }

  call(ctx: CallContext & { readonly cost?: number } = {}, fn: (call: Call) => unknown = () => 'done'): void {
    const run = (call: Call): unknown => {
      this.starts.push({ at: performance.now() - this.#zero, cost: ctx.cost ?? 1 });
      return fn(call);
    };
    const end = (value: unknown): unknown => this.ends.push(value);
    this.dispatcher.callDownstream('api', run, ctx).then(end, end);
  }

  get cost(): number {
    return this.starts.reduce((sum, { cost }) => sum + cost, 0);
  }
}

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

describe('nested calls in a limiter that counts places', () => {
  test('do not wait for the turn of somebody who has left', async () => {
    const stage = new Stage(new Bottleneck({ maxConcurrent: 1 }));
    stage.call({}, async (call) => {
      await sleep(100);
      return call.run(() => 'inner');
    });
    await pass(20);
    const controller = new AbortController();
    stage.call({ signal: controller.signal });
    await pass(20);
    controller.abort('left');
    await pass(1_000);
    expect(stage.ends).toEqual(['left', 'inner']);
  });

  test('never let those pass that wait for their place, however many there are', async () => {
    const stage = new Stage(new Bottleneck({ maxConcurrent: 1 }), { lowerShare: 1 });
    stage.call({}, async (call) => {
      for (let i = 0; i < 20; i++) await call.run(() => sleep(5));
      return 'outer';
    });
    await pass(10);
    for (let i = 0; i < 3; i++) stage.call();
    await pass(5_000);
    expect(stage.ends).toEqual(['outer', 'done', 'done', 'done']);
  });

  test('that are given up leave no place to others', async () => {
    const stage = new Stage(new Bottleneck({ maxConcurrent: 1, minTime: 300 }));
    stage.call({ runId: 'a' }, async (call) => {
      void call.run(() => 'inner').catch(() => undefined);
      stage.dispatcher.cancel({ runId: 'a' }, 'not wanted');
      await sleep(1_000);
    });
    await pass(50);
    stage.call();
    await pass(800);
    expect(stage.starts).toHaveLength(1);
    await pass(1_000);
    expect(stage.starts).toHaveLength(2);
  });
});

describe('what calls cost', () => {
  test('is taken from the limiter, whoever has left before', async () => {
    const stage = new Stage(new Bottleneck({ reservoir: 10 }));
    const controller = new AbortController();
    for (let i = 0; i < 4; i++) stage.call({ signal: controller.signal });
    controller.abort('left');
    for (let i = 0; i < 4; i++) stage.call({ cost: 5 });
    await pass(1_000);
    expect(stage.cost).toBe(10);
  });

  test('more than the reservoir ever holds is waited for in parts', async () => {
    const limiter = new Bottleneck({ reservoir: 3, reservoirRefreshAmount: 3, reservoirRefreshInterval: 1_000 });
    const stage = new Stage(limiter);
    stage.call({ cost: 5 });
    stage.call();
    await pass(500);
    expect(stage.starts).toEqual([]);
    await pass(1_500);
    expect(stage.ends).toEqual(['done', 'done']);
  });

  test('nothing is lost where the order of the line is not that of the limiter', async () => {
    const limiter = new Bottleneck({ reservoir: 120, minTime: 10 });
    const stage = new Stage(limiter);
    for (let i = 0; i < 20; i++) stage.call({ runId: 'a' });
    for (let i = 0; i < 20; i++) stage.call({ runId: 'b', cost: 5 });
    await pass(5_000);
    expect(stage.ends).toHaveLength(40);
    expect(stage.starts.slice(0, 10).filter(({ cost }) => cost === 5).length).toBeGreaterThanOrEqual(4);
    const gaps = stage.starts.slice(1).map(({ at }, i) => at - stage.starts[i]!.at);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(9);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('never more than the reservoir, and everybody starts (%i)', async (seed) => {
    let state = seed * 7_919;
    const draw = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return state % below;
    };
    const size = 6 + draw(5);
    const limiter = new Bottleneck({
      maxConcurrent: draw(2) === 0 ? null : 4 + draw(4),
      minTime: draw(3) * 20,
      reservoir: size,
      reservoirRefreshAmount: size,
      reservoirRefreshInterval: 1_000,
    });
    const stage = new Stage(limiter, { lowerShare: draw(3) / 4 });
    const from = performance.now();
    for (let i = 0; i < 60; i++) {
      const controller = new AbortController();
      const priority = (['interactive', 'normal', 'batch'] as const)[draw(3)]!;
      stage.call({ cost: 1 + draw(4), priority, runId: `r${draw(3)}`, signal: controller.signal }, () =>
        sleep(draw(80)),
      );
      if (draw(4) === 0) setTimeout(() => controller.abort('left'), draw(3_000));
      await pass(draw(30));
      if (draw(20) === 0) stage.dispatcher.pause('api', { for: 500 });
    }
    for (let second = 0; second < 300; second++) {
      await pass(1_000);
      expect(stage.cost).toBeLessThanOrEqual(size * (2 + Math.floor((performance.now() - from) / 1_000)));
      if (stage.ends.length === 60) break;
    }
    expect(stage.ends).toHaveLength(60);
    // Jobs of those that have left are still there.
    await pass(30_000);
    expect(limiter.counts()).toMatchObject({ QUEUED: 0, EXECUTING: 0 });
    expect(stage.dispatcher.snapshot().downstreams[0]).toMatchObject({ queued: 0, running: 0 });
    void limiter.disconnect();
  });

  test('a turn in hand that is not enough does not keep away the one that is', async () => {
    const stage = new Stage(new Bottleneck({ maxConcurrent: 5 }), { whilePaused: 'wait' });
    stage.dispatcher.pause('api', { for: '10m' });
    stage.call({ priority: 'batch' }, () => 'light');
    await pass(50);
    stage.call({ priority: 'interactive', cost: 5 }, () => 'heavy');
    await pass(50);
    stage.dispatcher.resume('api');
    await pass(1_000);
    expect(stage.ends).toEqual(['heavy', 'light']);
  });

  test('another policy hands out no burst a second time', async () => {
    const policy = { quota: '100/minute', utilization: 0.5, burst: 20, engine: 'bottleneck' } as const;
    const stage = new Stage(undefined, policy);
    for (let i = 0; i < 100; i++) stage.call();
    await pass(500);
    expect(stage.starts.length).toBeLessThanOrEqual(21);
    for (const burst of [21, 22, 23]) {
      stage.dispatcher.apply({ downstreams: { api: { ...policy, burst } } });
      await pass(500);
    }
    // 50 a minute: two in these two seconds, and one each time that a policy is changed at most.
    expect(stage.starts.length).toBeLessThanOrEqual(20 + 2 + 3);
    await stage.dispatcher.close({ within: 0 });
  });

  test('sets the pace of a limiter made from a policy, with a burst or without', async () => {
    for (const burst of [1, 2]) {
      const stage = new Stage(undefined, { quota: '20/1s', utilization: 0.5, burst, engine: 'bottleneck' });
      for (let i = 0; i < 12; i++) stage.call({ cost: 5 });
      await pass(5_100);
      // 10 permits a second: two such calls.
      expect(stage.starts.length).toBeGreaterThanOrEqual(8);
      expect(stage.starts.length).toBeLessThanOrEqual(11);
    }
  });
});
