import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeExports, listApi } from '../../scripts/api.ts';
import { read } from './source.ts';

test('api.txt lists the public names as they are (npm run api rewrites it)', () => {
  expect(listApi()).toBe(read('api.txt'));
});

test('the listing follows re-exports, keeps members and drops what users cannot see', () => {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-surface-'));
  const files = {
    'index.d.ts': "export { Gate as Door, type Ways, open } from './gate.js';\nexport declare const limit: number;",
    'gate.d.ts':
      "import type { Ways } from './ways.js';\nexport type { Ways };\n/** Text. */\nexport declare class Gate<T> extends Error {\n  #hidden;\n  /** Text. */\n  readonly width: number;\n  open(at?: number): void;\n}\nexport declare function open(): void;\nexport declare function open(gate: Gate<1>): void;",
    'ways.d.ts': 'export interface Ways {\n  left: 1 | /* why */ 2;\n}',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  try {
    expect(describeExports(join(folder, 'index.d.ts')).split('\n')).toEqual([
      'class Gate<T> extends Error',
      '  readonly width: number',
      '  open(at?: number): void',
      'interface Ways',
      '  left: 1 | 2',
      'const limit: number',
      'function open(): void',
      'function open(gate: Gate<1>): void',
      '',
    ]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
