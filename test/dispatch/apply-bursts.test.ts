import { describe, expect, it } from 'vitest';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { windowMax } from '../../src/testing.ts';
import { Lab } from './support/lab.ts';

describe('no change of quota is worth a free burst', () => {
  const LIMITED: DownstreamPolicyInput = { quota: '60/minute' };
  const others: Record<string, DownstreamPolicyInput> = {
    'a quota taken out and put back in one turn': {},
    'unlimited and back in one turn': { unlimited: true },
    'another window': { quota: '600/hour' },
    'a shorter window': { quota: '1/second' },
    'a larger burst': { quota: '60/minute', burst: 12 },
    'other workers': { quota: '240/minute', workers: 4 },
    'a second quota': { quota: ['60/minute', '600/hour'] },
    'another unit': { quota: '100 tokens/minute', defaultCost: { tokens: 10 } },
  };
  it.each(Object.entries(others))('%s, every 100 ms', async (_what, other) => {
    const lab = new Lab({ api: LIMITED });
    lab.make(1_000);
    await lab.clock.advance(0);
    expect(lab.starts).toHaveLength(6);
    for (let n = 0; n < 300; n++) {
      lab.apply({ api: other });
      lab.apply({ api: LIMITED });
      await lab.clock.advance(100);
    }
    // 30 s at 0.8 a second.
    expect(lab.starts.length).toBeLessThanOrEqual(6 + 24);
    expect(lab.starts.length).toBeGreaterThanOrEqual(6 + 23);
    expect(lab.errors).toEqual([]);
  });

  it.each(['60/minute', '1/second', '600/hour'])(
    'from %s to another window and back, time passing in both',
    async (quota) => {
      const lab = new Lab({ api: { quota } });
      lab.make(2_000);
      await lab.clock.advance(0);
      const burst = lab.starts.length;
      for (let n = 0; n < 200; n++) {
        lab.apply({ api: { quota: ['90/minute', '2/second', '30/30s'][n % 3]! } });
        await lab.clock.advance(100);
        lab.apply({ api: { quota } });
        await lab.clock.advance(100);
      }
      const fastest = 1.6;
      expect(lab.starts.length).toBeLessThanOrEqual(burst + 1 + 40 * fastest);
    },
  );

  it('tokens: a quota of tokens taken out and put back remembers what was taken', async () => {
    const tokens: DownstreamPolicyInput = {
      quota: ['1000/minute', '1000 tokens/minute'],
      defaultCost: { tokens: 100 },
    };
    const lab = new Lab({ api: tokens });
    lab.make(100, { cost: { tokens: 100 } });
    await lab.clock.advance(0);
    const first = lab.starts.length;
    for (let n = 0; n < 50; n++) {
      lab.apply({ api: { quota: '1000/minute' } });
      lab.apply({ api: tokens });
      await lab.clock.advance(10);
    }
    expect(lab.starts.length).toBe(first);
    await lab.clock.advance(60_000);
    expect(windowMax(lab.starts, 60_000)).toBeLessThanOrEqual(1_000);
  });

  it('a lower limit binds at once, a higher one is used at its pace; maxConcurrent below what runs starts nothing', async () => {
    const lab = new Lab({ api: { quota: '600/minute', maxConcurrent: 50 } });
    lab.make(10_000, {}, 'api', 5_000);
    await lab.clock.advance(10_000);
    lab.apply({ api: { quota: '600/minute', maxConcurrent: 2 } });
    const before = lab.starts.length;
    expect(lab.snap()!.running).toBeGreaterThan(2);
    await lab.clock.advance(4_000);
    expect(lab.starts.length).toBe(before);
    await lab.clock.advance(10_000);
    expect(lab.snap()!.running).toBe(2);
    lab.apply({ api: { quota: '60/minute' } });
    await lab.clock.advance(120_000);
    expect(lab.since(60_000)).toBeLessThanOrEqual(53);
    lab.apply({ api: { quota: '600/minute' } });
    await lab.clock.advance(0);
    expect(lab.since(1)).toBeLessThanOrEqual(1);
    await lab.clock.advance(120_000);
    expect(lab.since(60_000)).toBeGreaterThan(470);
    expect(windowMax(lab.starts, 60_000)).toBeLessThanOrEqual(600);
    lab.apply({ api: { unlimited: true } });
    await lab.clock.advance(5_000);
    expect(lab.settled + lab.snap()!.running).toBe(10_000);
    expect(lab.errors).toEqual([]);
  });

  it('keeps no more of old limits than matters, however often it is edited', async () => {
    const lab = new Lab({ api: { quota: '1000/day' } });
    const started = performance.now();
    for (let n = 0; n < 5_000; n++) {
      lab.apply({ api: { quota: `${1_000 + (n % 7)}/day` } });
      await lab.clock.advance(1);
    }
    lab.make(10);
    await lab.clock.advance(0);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(lab.starts.length).toBe(10);
  });
});
