import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadedWith, lostImports } from './graph.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-graph-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

test('a node: module is seen through re-exports, one that is asked for later is not', () => {
  write({
    'index.js': "export { a } from './deep/a.js';\nexport const load = () => import('node:fs');",
    'deep/a.js': "import 'node:net';\nimport { b } from '../b.js';\nexport const a = b;",
    'b.js': "import z from 'zod';\nexport const b = z;",
  });
  expect(loadedWith(folder, 'index.js')).toEqual({
    files: ['b.js', 'deep/a.js', 'index.js'],
    packages: ['node:net', 'zod'],
  });
});

test('a declaration that leads nowhere is found', () => {
  write({
    'a.d.ts': "export { b } from './b.ts';\nexport type C = import('./c.js').C;\nimport 'zod';",
    'b.d.ts': 'export declare const b: 1;',
  });
  expect(lostImports(join(folder, 'a.d.ts'))).toEqual([`${join(folder, 'a.d.ts')}: ./c.js`]);
});
