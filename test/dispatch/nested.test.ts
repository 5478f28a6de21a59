import { describe, expect, it } from 'vitest';
import type { Call } from '../../src/dispatch/context.ts';
import { bare, quotaOf } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

/** fn that makes so many nested calls, two at a time, and notes each start. */
function nesting(pairs: number, started: string[]) {
  return async ({ run }: Call): Promise<void> => {
    const nested = (): Promise<number> => run(() => started.push('nested'));
    for (let i = 0; i < pairs; i++) await Promise.all([nested(), nested()]);
  };
}

describe('Nested calls', () => {
  it('leave every fifth start to the others while a place is free', async () => {
    const rig = new Rig(quotaOf(60, 60_000, { utilization: 1, burst: 1, maxConcurrent: 2 }));
    const started: string[] = [];
    rig.call({ fn: nesting(20, started) });
    await rig.settle();
    Array.from({ length: 10 }, () => rig.call({ fn: () => started.push('other') }));
    await rig.to(20_000);
    expect(started).toHaveLength(20);
    expect(started.filter((one) => one === 'other')).toHaveLength(4);
    await rig.to(60_000);
    await rig.rest({ otherCalls: 40 });
  });

  it('leave none where no place is free: those that wait could not start', async () => {
    const rig = new Rig(quotaOf(60, 60_000, { utilization: 1, burst: 1, maxConcurrent: 1 }));
    const started: string[] = [];
    rig.call({ fn: nesting(5, started) });
    await rig.settle();
    rig.call({ fn: () => started.push('other') });
    await rig.to(20_000);
    expect(started).toEqual([...Array.from({ length: 10 }, () => 'nested'), 'other']);
    await rig.rest({ otherCalls: 10 });
  });

  it.each([
    ['during close({ drain })', (rig: Rig) => void rig.dispatcher.close({ drain: true })],
    ['during close()', (rig: Rig) => void rig.dispatcher.close()],
    ['after unregister()', (rig: Rig) => rig.dispatcher.unregister('api')],
  ])('of a running call pass %s: it may finish', async (_, end) => {
    const rig = new Rig(quotaOf(60, 60_000, { utilization: 1, burst: 1, maxConcurrent: 1 }));
    rig.watch.otherTimers = 1;
    const call = rig.call({
      fn: async ({ run }) => {
        const early = run(() => 'early');
        await rig.sleep(1_500);
        return [await early, await run(() => 'late')];
      },
    });
    await rig.settle();
    const refused = rig.callMany(1, { runMs: 10 });
    end(rig);
    refused.push(rig.call());
    await rig.clock.advance(3_000);
    expect(call).toMatchObject({ state: 'fulfilled', value: ['early', 'late'], endedMs: 2_000 });
    expect(refused[1]?.error).toMatchObject({ started: false });
    await rig.clock.advance(20_000);
    expect(rig.calls.every((one) => one.isSettled)).toBe(true);
    expect(rig.record.faults).toEqual([]);
  });

  it('are refused, and their call with them, when the time for closing is up', async () => {
    const rig = new Rig(bare({ minInterval: '1m' }));
    const call = rig.call({ fn: ({ run }) => run(() => 'too late') });
    await rig.settle();
    const closing = rig.dispatcher.close({ within: '10s' });
    await rig.clock.advance(10_000);
    expect(call.result).toBe('DISPATCHER_CLOSED');
    expect(await closing).toMatchObject({ refused: 1 });
  });
});
