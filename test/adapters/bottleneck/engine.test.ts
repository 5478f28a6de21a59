import Bottleneck from 'bottleneck';
import { describe, expect, test, vi } from 'vitest';
import { derive } from '../../../src/adapters/bottleneck/derived.ts';
import { bottleneckEngine, type GroupLike, type LimiterLike } from '../../../src/adapters/bottleneck.ts';
import { PolicyError } from '../../../src/base/errors.ts';
import { createDispatcher, type Dispatcher } from '../../../src/dispatcher.ts';
import { resolveDownstream } from '../../../src/policy/resolve.ts';
import { fakeTimers } from '../../contract/support.ts';

fakeTimers();

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

interface Made {
  readonly dispatcher: Dispatcher;
  readonly starts: number[];
  readonly call: (ctx?: Parameters<Dispatcher['callDownstream']>[2], fn?: () => unknown) => Promise<unknown>;
}

function made(limiter: LimiterLike | GroupLike, policy: object = {}): Made {
  const dispatcher = createDispatcher(
    { downstreams: { api: policy } },
    { alertSinks: [], env: {}, engines: { api: bottleneckEngine(limiter) } },
  ) as Dispatcher;
  const starts: number[] = [];
  const zero = performance.now();
  const call: Made['call'] = (ctx, fn = () => 'done') =>
    dispatcher
      .callDownstream(
        'api',
        () => {
          starts.push(performance.now() - zero);
          return fn();
        },
        ctx,
      )
      .catch((error: unknown) => error);
  return { dispatcher, starts, call };
}

const gapsOf = (starts: readonly number[]): number[] => starts.slice(1).map((at, i) => at - starts[i]!);

describe('a limiter that is handed in', () => {
  test('keeps its own pace, its counts and its other users', async () => {
    const limiter = new Bottleneck({ minTime: 100, maxConcurrent: 4 });
    const { call, starts } = made(limiter);
    const calls = [call(), call(), call()];
    const legacy = limiter.schedule(() => Promise.resolve('legacy'));
    await pass(0);
    const { RECEIVED, QUEUED } = limiter.counts();
    expect(RECEIVED + QUEUED).toBe(4);
    await pass(1_000);
    await expect(Promise.all([...calls, legacy])).resolves.toEqual(['done', 'done', 'done', 'legacy']);
    expect(Math.min(...gapsOf(starts))).toBeGreaterThanOrEqual(99);
    expect(limiter.counts()).toMatchObject({ RECEIVED: 0, QUEUED: 0, RUNNING: 0, EXECUTING: 0 });
  });

  test('counts a call as running until it settles', async () => {
    const limiter = new Bottleneck({ maxConcurrent: 1 });
    const { call } = made(limiter);
    const first = call({}, () => new Promise((done) => setTimeout(done, 300, 'slow')));
    await pass(50);
    const legacy = limiter.schedule(() => Promise.resolve('legacy'));
    let isOver = false;
    void legacy.then(() => {
      isOver = true;
    });
    await pass(200);
    expect([limiter.counts().EXECUTING, isOver]).toEqual([1, false]);
    await pass(200);
    expect([await first, isOver]).toEqual(['slow', true]);
  });

  test('a call that was abandoned still takes its permit, or leaves it to whoever comes', async () => {
    const limiter = new Bottleneck({ minTime: 100 });
    const { call, starts } = made(limiter);
    const controller = new AbortController();
    const ends = [call(), call({ signal: controller.signal }), call({ signal: controller.signal })];
    await pass(20);
    controller.abort('left');
    expect((await Promise.all(ends)).slice(1)).toEqual(['left', 'left']);
    // One comes before the turns of those that have left: it takes the first of them.
    const next = call();
    await pass(90);
    await expect(next).resolves.toBe('done');
    await pass(1_000);
    expect(starts).toHaveLength(2);
    expect(limiter.counts()).toMatchObject({ RECEIVED: 0, QUEUED: 0, RUNNING: 0, EXECUTING: 0 });
  });

  test('what comes out of it during a pause starts after it, at the pace at which it came', async () => {
    for (const places of [null, 1, 3]) {
      const { call, starts, dispatcher } = made(new Bottleneck({ minTime: 100, maxConcurrent: places }), {
        whilePaused: 'wait',
      });
      void call();
      await pass(150);
      dispatcher.pause('api', { for: '10m' });
      const waiting = Array.from({ length: 8 }, () => call());
      await pass(2_000);
      expect(starts).toHaveLength(1);
      dispatcher.resume('api');
      await pass(3_000);
      await expect(Promise.all(waiting)).resolves.toHaveLength(8);
      expect(Math.min(...gapsOf(starts.slice(1)))).toBeGreaterThanOrEqual(90);
    }
  });

  test.each([
    ['OVERFLOW', Bottleneck.strategy.OVERFLOW],
    ['LEAK', Bottleneck.strategy.LEAK],
    ['BLOCK', Bottleneck.strategy.BLOCK],
  ])('what it drops by %s is refused, whether it rejects or not', async (_, strategy) => {
    for (const rejectOnDrop of [true, false]) {
      const limiter = new Bottleneck({ maxConcurrent: 1, highWater: 1, strategy, rejectOnDrop, penalty: 100 });
      const { call } = made(limiter);
      const running = call({}, () => new Promise((done) => setTimeout(done, 100, 'ran')));
      await pass(20);
      const more = [call(), call(), call()];
      await pass(1_000);
      const ends = await Promise.all(more);
      expect(await running).toBe('ran');
      expect(ends.every((end) => end === 'done' || (end as { code?: string }).code === 'RATE_LIMIT_QUEUE_FULL')).toBe(
        true,
      );
      expect(ends.filter((end) => end === 'done').length).toBeLessThan(3);
    }
  });

  test('one that was stopped refuses every call, with its own words', async () => {
    const limiter = new Bottleneck();
    const { call } = made(limiter);
    void limiter.stop();
    const end = call();
    await pass(50);
    expect(await end).toMatchObject({ code: 'RATE_LIMIT_QUEUE_FULL', message: expect.stringContaining('stopped') });
  });

  test('a group gives each account the limiter of its key', async () => {
    const group = new Bottleneck.Group({ minTime: 1_000 });
    const { call } = made(group);
    const ends = [call({ account: 'a' }), call({ account: 'b' }), call()];
    await pass(50);
    await expect(Promise.all(ends)).resolves.toEqual(['done', 'done', 'done']);
    expect(group.keys().sort()).toEqual(['', 'a', 'b']);
  });

  test('a call that weighs more than the limiter ever lets pass still starts, alone', async () => {
    const { call } = made(new Bottleneck({ maxConcurrent: 2 }));
    const end = call({ cost: 5 });
    await pass(50);
    expect(await end).toBe('done');
  });

  test('is not asked where the policy says penstock, nor in observe', async () => {
    const limiter = new Bottleneck();
    const asked = vi.spyOn(limiter, 'schedule');
    const { call, dispatcher } = made(limiter, { engine: 'penstock' });
    expect(await call()).toBe('done');
    dispatcher.apply({ downstreams: { api: { mode: 'observe' } } });
    expect(await call()).toBe('done');
    expect(asked).not.toHaveBeenCalled();
    dispatcher.apply({ downstreams: { api: {} } });
    const end = call();
    await pass(50);
    expect([await end, asked.mock.calls.length]).toEqual(['done', 1]);
  });

  test('is left alone when the dispatcher closes', async () => {
    const limiter = new Bottleneck();
    const { dispatcher } = made(limiter);
    await dispatcher.close();
    const own = limiter.schedule(() => Promise.resolve('still there'));
    await pass(20);
    await expect(own).resolves.toBe('still there');
  });

  test('what is no limiter, and a name that there is not, is an error that names it', () => {
    for (const wrong of [undefined, null, {}, 'x', { schedule: 1 }, new Bottleneck.Batcher()]) {
      expect(() => bottleneckEngine(wrong as never)).toThrow(PolicyError);
    }
    const engine = bottleneckEngine(new Bottleneck());
    const policy = { downstreams: { carrier: {}, free: { unlimited: true } } };
    const options = { carier: engine, carrier: new Bottleneck() as never, free: engine };
    expect(() => createDispatcher(policy, { engines: options })).toThrow(
      /options.engines.carier[\s\S]*carrier\?[\s\S]*options.engines.carrier[\s\S]*options.engines.free/,
    );
    expect(() => createDispatcher({ downstreams: { a: { unlimited: true, engine: 'bottleneck' } } })).toThrow(/engine/);
  });
});

describe('a limiter made from a policy', () => {
  test.each([
    [{}, { counts: undefined, minTime: 0 }],
    [{ minInterval: 250 }, { counts: undefined, minTime: 250 }],
    [{ quota: '1/3s' }, { counts: 0, minTime: 3_750 }],
    [{ quota: '60/minute' }, { counts: 0, minTime: 0, reservoir: { amount: 1, intervalMs: 1_250, maximum: 6 } }],
    [{ quota: '600/s' }, { counts: 0, minTime: 0, reservoir: { amount: 24, intervalMs: 50, maximum: 60 } }],
    [
      { quota: ['10/s', '60/minute'] },
      { counts: 1, minTime: 0, reservoir: { amount: 1, intervalMs: 1_250, maximum: 6 } },
    ],
    [
      { quota: '1/day', utilization: 0.001 },
      { counts: 0, minTime: 2_147_483_647 },
    ],
  ])('%o', (policy, settings) => {
    expect(derive(resolveDownstream('api', policy))).toEqual(settings);
  });

  test('the rate of the policy is kept, and used', async () => {
    const dispatcher = createDispatcher(
      { downstreams: { api: { quota: '600/minute', engine: 'bottleneck' } } },
      { env: {} },
    );
    let count = 0;
    for (let i = 0; i < 1_200; i++) void dispatcher.callDownstream('api', () => count++);
    await pass(120_000);
    // 480 a minute, and the burst of 60 once; Bottleneck's timers cost some of it.
    expect(count).toBeGreaterThan(0.93 * 960);
    expect(count).toBeLessThanOrEqual(960 + 60);
  });

  test.each(['close', 'unregister'] as const)('nothing is left of it after %s', async (end) => {
    const set = vi.spyOn(globalThis, 'setInterval');
    const cleared = vi.spyOn(globalThis, 'clearInterval');
    const policy = { quota: '600/minute', engine: 'bottleneck' } as const;
    const dispatcher = createDispatcher({ downstreams: { api: policy } }, { env: {} });
    const calls = Array.from({ length: 100 }, () => dispatcher.callDownstream('api', () => 1).catch(() => 0));
    await pass(100);
    if (end === 'close') await dispatcher.close();
    else dispatcher.unregister('api');
    await Promise.all(calls);
    await pass(5_000);
    expect(set).toHaveBeenCalledTimes(1);
    expect(cleared).toHaveBeenCalledWith(set.mock.results[0]!.value);
  });
});
