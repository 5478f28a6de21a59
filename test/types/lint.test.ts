import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allBlocks, type Block, ROOT } from '../docs/support/pages.ts';
import { NEIGHBOURS } from './given.ts';

/** The rules about promises that people switch on and that look at types. */
const CONFIG = {
  root: true,
  linter: {
    rules: { preset: 'none', nursery: { noFloatingPromises: 'error', noMisusedPromises: 'error' } },
  },
};

const folder = mkdtempSync(join(tmpdir(), 'penstock-lint-'));
const blocks = allBlocks('ts');
const nameOf = (block: Block): string => `${block.page.replaceAll(/\W+/g, '-')}-${block.line}.ts`;
let said = '';

/** The linter follows relative imports only: the package is copied beside the block. */
function moduleOf(block: Block): string {
  const given = block.given.map((name) => `declare const ${name}: import('./test/types/given.ts').Given['${name}'];`);
  const code = block.code
    .replaceAll("'penstock'", "'./src/index.ts'")
    .replaceAll("'penstock/telemetry'", "'./src/telemetry.ts'")
    .replaceAll("'penstock/testing'", "'./src/testing.ts'");
  return `${given.join(' ')} export {};\n${code}\n`;
}

beforeAll(async () => {
  cpSync(join(ROOT, 'src'), join(folder, 'src'), { recursive: true });
  cpSync(join(ROOT, 'test/types/given.ts'), join(folder, 'test/types/given.ts'), { recursive: true });
  writeFileSync(join(folder, 'biome.json'), JSON.stringify(CONFIG));
  for (const [name, text] of Object.entries(NEIGHBOURS)) writeFileSync(join(folder, name), text);
  for (const block of blocks) writeFileSync(join(folder, nameOf(block)), moduleOf(block));
  const wrong =
    "import { createDispatcher } from './src/index.ts';\nconst d = createDispatcher({ downstreams: { a: {} } });\n";
  writeFileSync(join(folder, 'wrong.ts'), `${wrong}d.callDownstream('a', () => 1);\n`);
  const files = [...blocks.map(nameOf), 'wrong.ts'];
  const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  said = await new Promise((resolve) => {
    execFile(process.execPath, [biome, 'lint', '--reporter=github', ...files], { cwd: folder }, (_, out, err) =>
      resolve(`${out}${err}`),
    );
  });
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(blocks.map((block) => [`${block.page}:${block.line}`, block] as const))(
  '%s leaves no promise alone',
  (_, block) => {
    expect(said.split('\n').filter((line) => line.includes(nameOf(block)))).toEqual([]);
  },
);

test('one that is left alone would be found', () => {
  expect(said).toMatch(/noFloatingPromises.*wrong\.ts/);
});
