import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CallContext } from '../../src/dispatch/context.ts';
import { Ranks } from '../../src/dispatch/top-ranks.ts';
import { createDispatcher, type Dispatcher } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../src/policy/input.ts';
import { ManualClock } from '../../src/testing.ts';

function lab(api: DownstreamPolicyInput) {
  const clock = new ManualClock();
  const policy: PolicyInput = { downstreams: { api } };
  const dispatcher: Dispatcher = createDispatcher(policy, { clock, alertSinks: [], env: {} });
  const call = (ctx: CallContext, count = 1): void => {
    for (let i = 0; i < count; i++) void dispatcher.callDownstream('api', () => undefined, ctx).catch(() => undefined);
  };
  const top = () => dispatcher.snapshot().downstreams[0]!.top;
  return { clock, dispatcher, call, top };
}

describe('top', () => {
  it('names who takes most permits and who waits most, accounts added up', async () => {
    const { clock, call, top } = lab({ quota: '600/minute', fairness: 'off' });
    expect(top()).toEqual({ windowMs: 60_000, runs: [], tools: [] });
    call({ runId: 'a', tool: 'read' }, 20);
    call({ runId: 'b', cost: 30 });
    call({ account: 'x', runId: 'a', tool: 'write' }, 5);
    call({}, 50);
    await clock.advance(0);
    call({ runId: 'c', tool: 'read' }, 7);
    await clock.advance(0);
    expect(top()).toEqual({
      windowMs: 60_000,
      runs: [
        { name: 'b', waiting: 0, permits: 30 },
        { name: 'a', waiting: 0, permits: 25 },
        { name: 'c', waiting: 7, permits: 0 },
      ],
      tools: [
        { name: 'read', waiting: 7, permits: 20 },
        { name: 'write', waiting: 0, permits: 5 },
      ],
    });
  });

  it('forgets what is older than the window, and keeps the later half of it for certain', async () => {
    const { clock, dispatcher, call, top } = lab({ quota: ['10/second', '600/minute'] });
    call({ runId: 'a' });
    await clock.advance(29_000);
    expect(top().runs).toEqual([{ name: 'a', waiting: 0, permits: 1 }]);
    call({ runId: 'b' });
    await clock.advance(30_000);
    expect(top().runs[0]).toEqual({ name: 'a', waiting: 0, permits: 1 });
    call({ runId: 'c' });
    await clock.advance(2_000);
    expect(top().runs.map(({ name }) => name)).toEqual(['c']);
    await clock.advance(60_000);
    expect(top().runs).toEqual([]);
    dispatcher.apply({ downstreams: { api: { quota: '10000/day' } } });
    expect(top().windowMs).toBe(3_600_000);
    dispatcher.apply({ downstreams: { api: { quota: '10000 tokens/day', defaultCost: { tokens: 1 } } } });
    expect(top().windowMs).toBe(60_000);
  });

  it('forgets waiters that are aborted, expire, or are refused', async () => {
    const { clock, dispatcher, call, top } = lab({ quota: '60/minute' });
    const abort = new AbortController();
    call({}, 6);
    call({ runId: 'aborted', signal: abort.signal }, 3);
    call({ runId: 'late', deadline: clock.wallNow() + 20_000 }, 3);
    call({ runId: 'cancelled' }, 3);
    await clock.advance(0);
    expect(top().runs.map(({ name, waiting }) => [name, waiting])).toEqual([
      ['aborted', 3],
      ['cancelled', 3],
      ['late', 3],
    ]);
    abort.abort();
    dispatcher.cancel({ runId: 'cancelled' }, 'x');
    dispatcher.pause('api', { for: '1m' });
    await clock.advance(21_000);
    expect(top().runs).toEqual([]);
  });

  it('shows whoever waits most even where ten others take permits', async () => {
    const { clock, call, top } = lab({ quota: '100000/minute', burst: 100 });
    for (let i = 0; i < 30; i++) call({ runId: `r${String(i).padStart(2, '0')}` }, i < 10 ? 2 : 1);
    call({}, 60);
    await clock.advance(0);
    call({ runId: 'monster' }, 500);
    await clock.advance(0);
    const names = top().runs.map(({ name }) => name);
    expect(names).toHaveLength(10);
    expect(names).toContain('monster');
    expect(names.slice(0, 5)).toEqual(['r00', 'r01', 'r02', 'r03', 'r04']);
  });

  it('finds the heavy one among 100,000 runs in bounded memory, and says no more of it than is true', async () => {
    const { clock, call, top } = lab({});
    for (let i = 0; i < 100_000; i++) {
      call({ runId: `run-${i}` });
      if (i % 30 === 0) call({ runId: 'heavy' });
      if (i % 1_000 === 0) await clock.advance(0);
    }
    await clock.advance(0);
    const [first, ...rest] = top().runs;
    expect(first?.name).toBe('heavy');
    expect(first?.permits).toBeLessThanOrEqual(3_334);
    expect(first?.permits).toBeGreaterThan(2_400);
    for (const { permits } of rest) expect(permits).toBeLessThanOrEqual(1);
  });

  it('costs a snapshot less than a millisecond with 100,000 waiters in 100,000 runs', async () => {
    const { clock, call, dispatcher } = lab({ quota: '60/minute' });
    for (let i = 0; i < 100_000; i++) call({ runId: `run-${i}`, tool: `tool-${i % 1_000}` });
    await clock.advance(0);
    const took = Array.from({ length: 30 }, () => {
      const from = performance.now();
      dispatcher.snapshot();
      return performance.now() - from;
    });
    expect(Math.min(...took)).toBeLessThan(1);
  });
});

describe('ranks', () => {
  it('say what sorting says, whatever is counted up and down', () => {
    const steps = fc.array(
      fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd', 'e'), by: fc.integer({ min: -3, max: 5 }) }),
    );
    fc.assert(
      fc.property(steps, (all) => {
        const ranks = new Ranks();
        const plain = new Map<string, number>();
        for (const { name, by } of all) {
          ranks.add(name, by);
          const count = (plain.get(name) ?? 0) + by;
          if (count > 0) plain.set(name, count);
          else plain.delete(name);
          const counts = [...plain.values()].sort((a, b) => b - a);
          expect(ranks.best(9).map((entry) => entry.count)).toEqual(counts);
          expect(ranks.lowest?.count).toBe(counts.at(-1));
          for (const entry of ranks.best(9)) expect(plain.get(entry.name)).toBe(entry.count);
        }
      }),
    );
  });
});
