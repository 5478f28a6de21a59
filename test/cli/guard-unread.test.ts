import { expect, test, vi } from 'vitest';
import { GuardFolder } from './support/guard.ts';

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  return {
    ...real,
    // Whoever runs the tests may be allowed to read everything.
    readdir: (path: string, options: { withFileTypes: true }) =>
      path.endsWith('locked')
        ? Promise.reject(new Error(`EACCES: permission denied, scandir '${path}'`))
        : real.readdir(path, options),
  };
});

const folder = new GuardFolder();
const { write, writeAll, guard } = folder;

test('a folder that cannot be read stops no other, and does not pass for success', async () => {
  write({ 'src/a.ts': 'fetch(1);', 'src/locked/b.ts': 'fetch(1);' });
  const { code, out } = await guard(folder.path);
  expect(code).toBe(1);
  expect(out).toContain('src/a.ts:1:1');
  expect(out).toContain('src/locked\n    could not be read to its end: EACCES');
});

test('it is the answer where nothing was found', async () => {
  write({ 'src/a.ts': 'gated(1);', 'src/locked/b.ts': 'fetch(1);' });
  expect((await guard(folder.path)).code).toBe(2);
});

test('or where there is nothing else', async () => {
  writeAll(['locked/b.ts']);
  expect(await guard(`${folder.path}/locked`)).toMatchObject({ code: 2, err: expect.stringContaining('EACCES') });
});
