import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { entries } from '../../scripts/api.ts';
import { createDispatcher } from '../../src/index.ts';
import { allBlocks, type Block, ROOT } from '../docs/support/pages.ts';
import { NEIGHBOURS } from './given.ts';

/** In node_modules: packages are found from there, and nobody commits it. */
const FOLDER = join(ROOT, 'node_modules', '.cache', `penstock-types-${process.pid}`);

/** Every entry of the package, as its source. */
const sources = Object.fromEntries(
  entries().map(([name, file]) => [name.replace('.', 'penstock'), [join(ROOT, 'src', file.replace('.d.ts', '.ts'))]]),
);

/** Stricter than many a reader's: what compiles here compiles there. */
const CONFIG = {
  extends: join(ROOT, 'tsconfig.json'),
  compilerOptions: {
    paths: sources,
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: false,
    noPropertyAccessFromIndexSignature: true,
    noImplicitReturns: true,
    typeRoots: [join(ROOT, 'node_modules/@types')],
  },
  include: ['*.ts', '*.mts'],
};

const blocks = allBlocks('ts');
const nameOf = (block: Block): string => `${block.page.replaceAll(/\W+/g, '-')}-${block.line}.ts`;

/** A block as a module of its own, with what its page takes for granted declared. */
function moduleOf(block: Block): string {
  const given = block.given.map(
    (name) =>
      `declare const ${name}: import('${ROOT}/test/types/given.ts').GivenIn<${JSON.stringify(`${block.page} ${block.title}`)}>['${name}'];`,
  );
  return `${given.join(' ')} export {};\n${block.code}\n`;
}

/** Lines of what the compiler says; empty if it is content. */
function compile(files: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = join(FOLDER, String(Math.random()).slice(2));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  return new Promise((resolve) => {
    execFile(process.execPath, [tsc, '-p', folder, '--noEmit', '--pretty', 'false'], { cwd: folder }, (_, out, err) =>
      resolve(`${out}${err}`.split('\n').filter((line) => line !== '')),
    );
  });
}

afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

describe('code in README and docs compiles: strict, exactOptionalPropertyTypes', () => {
  let said: string[] = [];
  beforeAll(async () => {
    const files = Object.fromEntries(blocks.map((block) => [nameOf(block), moduleOf(block)]));
    said = await compile({
      ...files,
      ...NEIGHBOURS,
      'api.ts': `export * from '${ROOT}/test/types/api.ts';`,
      'wrong.ts':
        "import { createDispatcher } from 'penstock';\ncreateDispatcher({ downstreams: { a: { quotas: '1/second' } } });\n",
    });
  }, 60_000);

  test.each(blocks.map((block) => [`${block.page}:${block.line}`, block] as const))('%s', (_, block) => {
    expect(said.filter((line) => line.startsWith(nameOf(block)))).toEqual([]);
  });

  test('what the compiler must accept and refuse of the API', () => {
    expect(said.filter((line) => /^\S*api\.ts\(/.test(line))).toEqual([]);
  });

  test('a block that is wrong would be found', () => {
    expect(said.filter((line) => line.startsWith('wrong.ts(2,')).join()).toContain('quotas');
  });
});

describe('at run time', () => {
  test('members of a dispatcher work without it', async () => {
    const {
      callDownstream,
      acquire,
      with: within,
      wrap,
      names,
      snapshot,
      close,
    } = createDispatcher({ downstreams: { carrier: { quota: '60/minute' } } }, { alertSinks: [], env: {} });
    expect(await callDownstream('carrier', () => 1)).toBe(1);
    const { release } = await acquire('carrier');
    release();
    expect(await within({ tool: 'a' }).callDownstream('carrier', async () => 2)).toBe(2);
    expect(await wrap('carrier', (n: number) => n + 1)(2)).toBe(3);
    expect(names()).toEqual(['carrier']);
    expect(snapshot().downstreams).toHaveLength(1);
    expect((await close()).refused).toBe(0);
  });
});
