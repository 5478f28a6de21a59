import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import { fakeTimers, KINDS, Stage } from './support.ts';

fakeTimers();

const refused = (code: string, more: object = {}): object => expect.objectContaining({ code, started: false, ...more });

describe.each(KINDS)('admission by $name', (kind) => {
  test('a call that nothing holds back starts and comes back unchanged', async () => {
    const stage = new Stage(kind, { quota: '60/minute' });
    const value = { any: 'thing' };
    const seen = stage.call({ fn: () => value });
    expect(seen.startedAt).toBeUndefined();
    await stage.pass(kind.slackMs);
    expect(seen.end).toBe(value);
    expect(seen.startedAt).toBeLessThanOrEqual(kind.slackMs);
  });

  test('what fn throws comes back unchanged, at once or later', async () => {
    const stage = new Stage(kind, { maxConcurrent: 3 });
    const thrown = new TypeError('own');
    const sync = stage.call({
      fn: () => {
        throw thrown;
      },
    });
    const later = stage.call({ fn: () => Promise.reject(thrown) });
    const odd = stage.call({ fn: () => Promise.reject(undefined) });
    await stage.pass(kind.slackMs);
    expect(sync.end).toBe(thrown);
    expect(later.end).toBe(thrown);
    expect(odd.end).toBeUndefined();
    expect(odd.endedAt).toBeDefined();
  });

  test('order of arrival within a class, and the higher class first', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1, lowerShare: 0 });
    const order: string[] = [];
    const make = (name: string, priority: 'interactive' | 'normal' | 'batch') =>
      stage.call({ priority, fn: () => new Promise((done) => setTimeout(done, 10, order.push(name))) });
    make('first', 'normal');
    await stage.pass(5);
    make('b1', 'batch');
    make('n1', 'normal');
    make('i1', 'interactive');
    make('n2', 'normal');
    make('i2', 'interactive');
    await stage.pass(6 * (10 + kind.slackMs));
    expect(order).toEqual(['first', 'i1', 'i2', 'n1', 'n2', 'b1']);
  });

  test('runs take turns', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const order: string[] = [];
    const make = (runId: string) =>
      stage.call({ runId, fn: () => new Promise((done) => setTimeout(done, 10, order.push(runId))) });
    for (const runId of ['a', 'a', 'a', 'a', 'b', 'b']) make(runId);
    await stage.pass(6 * (10 + kind.slackMs));
    expect(order.slice(0, 5).filter((runId) => runId === 'b')).toHaveLength(2);
  });

  test('no window holds more than the quota', async () => {
    const stage = new Stage(kind, { quota: '10/1s', utilization: 1 });
    stage.calls(45);
    await stage.pass(6_000 + 45 * kind.slackMs);
    expect(stage.starts).toHaveLength(45);
    for (const from of stage.starts) {
      expect(stage.starts.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(10);
    }
  });

  test('no more in flight than maxConcurrent, and at least minInterval between two starts', async () => {
    const stage = new Stage(kind, { maxConcurrent: 2, minInterval: 30 });
    let inFlight = 0;
    let most = 0;
    const fn = async (): Promise<void> => {
      most = Math.max(most, ++inFlight);
      await new Promise((done) => setTimeout(done, 100));
      inFlight--;
    };
    const calls = Array.from({ length: 8 }, () => stage.call({ fn }));
    await stage.pass(1_000 + 8 * kind.slackMs);
    expect(calls.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
    expect(most).toBe(2);
    const gaps = stage.starts.slice(1).map((at, i) => at - stage.starts[i]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(30 - 0.01);
  });

  test('every kind of refusal at entry, in the fixed order, at once', async () => {
    const stage = new Stage(kind, { quota: '5/minute', burst: 1 });
    const aborted = AbortSignal.abort(new Error('gone'));
    const past = stage.in(-1_000);
    const ends = [
      stage.call({ signal: aborted, deadline: past, cost: 9 }),
      stage.call({ cost: -1 as never, deadline: past }),
      stage.call({ deadline: past, cost: 9 }),
      stage.call({ cost: 9 }),
    ];
    stage.dispatcher.pause('api', { for: '1h', reason: 'maintenance' });
    ends.push(stage.call());
    const unknown = stage.dispatcher.callDownstream('apu' as 'api', () => 1).catch((error: unknown) => error);
    await stage.pass(0);
    expect(ends.map(({ end }) => end)).toEqual([
      aborted.reason,
      refused('INVALID_CALL'),
      refused('DEADLINE_EXCEEDED', { phase: 'entry' }),
      refused('COST_EXCEEDS_QUOTA', { retryable: false }),
      refused('RATE_LIMITED', { retryAfterMs: 3_600_000 }),
    ]);
    expect(await unknown).toEqual(refused('UNKNOWN_DOWNSTREAM'));
    expect(stage.starts).toEqual([]);
  });

  test('maxQueueDepth: what runs does not count, what waits does', async () => {
    const stage = new Stage(kind, { maxConcurrent: 2, maxQueueDepth: 1 });
    const calls = stage.calls(5, { runMs: 200 });
    await stage.pass(150);
    expect(calls.map(({ startedAt }) => startedAt !== undefined)).toEqual([true, true, false, false, false]);
    expect(calls.slice(2).map(({ end }) => end)).toEqual([
      undefined,
      refused('RATE_LIMIT_QUEUE_FULL'),
      refused('RATE_LIMIT_QUEUE_FULL'),
    ]);
    await stage.pass(500);
    expect(calls[2]!.end).toBe('done');
  });

  test('maxQueueDepth 0: what cannot start at once is refused', async () => {
    const stage = new Stage(kind, { quota: '2/minute', utilization: 1, burst: 1, maxQueueDepth: 0 });
    const calls = stage.calls(3);
    await stage.pass(200);
    expect(calls.map(({ end }) => end)).toEqual([
      'done',
      refused('RATE_LIMIT_QUEUE_FULL'),
      refused('RATE_LIMIT_QUEUE_FULL'),
    ]);
  });

  test('fn runs in the async context of its caller', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const store = new AsyncLocalStorage<string>();
    const calls = ['a', 'b', 'c'].map((name) => store.run(name, () => stage.call({ fn: () => store.getStore() })));
    await stage.pass(3 * kind.slackMs);
    expect(calls.map(({ end }) => end)).toEqual(['a', 'b', 'c']);
  });

  test('nested calls run in the place of their outer call', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const value = stage.dispatcher.callDownstream('api', (call) => call.run(() => call.run(() => 'inner')));
    const other = stage.call();
    await stage.pass(4 * kind.slackMs);
    await expect(value).resolves.toBe('inner');
    expect(other.end).toBe('done');
  });

  test('a lease holds its place until it is released', async () => {
    const stage = new Stage(kind, { maxConcurrent: 1 });
    const leased = stage.dispatcher.acquire('api');
    await stage.pass(kind.slackMs);
    const lease = await leased;
    const next = stage.call();
    await stage.pass(1_000);
    expect(next.startedAt).toBeUndefined();
    lease.release();
    await stage.pass(kind.slackMs);
    expect(next.end).toBe('done');
  });

  test('accounts do not wait for each other', async () => {
    const stage = new Stage(kind, { minInterval: '10s' });
    const one = stage.calls(2, { account: 'one' });
    const two = stage.call({ account: 'two' });
    await stage.pass(100);
    expect(one.map(({ end }) => end)).toEqual(['done', undefined]);
    expect(two.end).toBe('done');
    await stage.pass(10_000);
    expect(one[1]!.end).toBe('done');
  });
});
