import { describe, expect, it } from 'vitest';
import { windowMax } from '../../src/testing/window-max.ts';

describe('windowMax', () => {
  const rows: [string, number[], number][] = [
    ['nothing', [], 0],
    ['one start', [5], 1],
    ['exactly one window apart is not in one window', [0, 1_000], 1],
    ['a microsecond short of a window is rounding', [0, 999.9995], 1],
    ['two microseconds short are in one window', [0, 999.998], 2],
    ['windows begin anywhere', [0, 900, 1_100, 1_899], 3],
    ['starts in any order', [1_899, 0, 1_100, 900], 3],
    ['several at one instant', [7, 7, 7, 1_007], 3],
  ];
  it.each(rows)('%s', (_, starts, most) => {
    expect(windowMax(starts, 1_000)).toBe(most);
  });

  it('sums costs', () => {
    expect(windowMax([{ atMs: 0, cost: 400 }, { atMs: 10 }, 20, { atMs: 1_000, cost: 5 }], 1_000)).toBe(402);
  });

  it('holds the start itself however short the window is', () => {
    expect(windowMax([1, 2, 3], 0.000_1)).toBe(1);
  });
});
