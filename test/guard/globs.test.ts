import { expect, test } from 'vitest';
import { glob, ignores } from '../../src/guard/globs.ts';

test('a brace without its other half stands for itself', () => {
  expect(glob('src/{a.ts')('src/{a.ts')).toBe(true);
  expect(glob('src/{a.ts')('src/a.ts')).toBe(false);
  expect(glob('{a,b}}.ts')('b}.ts')).toBe(true);
  expect(glob('{a,{b,c}}.ts')('c.ts')).toBe(true);
});

test('a set that is turned round means nothing, and takes nothing else with it', () => {
  expect(glob('[z-a].ts')('b.ts')).toBe(false);
  const isIgnored = ignores('[z-a].ts\nbuilt/\n');
  expect(isIgnored('built', true)).toBe(true);
});
