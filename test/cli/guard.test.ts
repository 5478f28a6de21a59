import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { run } from '../../src/cli/run.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-guard-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

async function guard(...args: string[]) {
  let out = '';
  let err = '';
  const io = { env: {}, out: (text: string) => (out += text), err: (text: string) => (err += text) };
  const code = await run(['guard', ...args], io);
  const short = (text: string) => text.replaceAll(`${folder}/`, '').replaceAll(folder, '.');
  return { code, out: short(out), err: short(err) };
}

const found = async (...args: string[]) => {
  const { out } = await guard(folder, '--json', ...args);
  return (JSON.parse(out) as { findings: { file: string; line: number }[] }).findings.map(
    ({ file, line }) => `${file}:${line}`,
  );
};

describe('what it prints', () => {
  beforeEach(() => void vi.spyOn(process, 'cwd').mockReturnValue(folder));
  afterEach(() => void vi.restoreAllMocks());

  test('places, the fix once for those that have the same, and a count', async () => {
    write({
      'src/carrier.ts':
        "import axios from 'axios';\n\nexport const a = () => fetch('u');\nexport const b = () => axios.get('u');\n",
      'src/llm.ts': "import OpenAI from 'openai';\nexport const openai = new OpenAI({ apiKey: 'k' });\n",
      'src/plain.ts': 'export const a = 1;\n',
      'src/z.ts': "\n  fetch('u');\n",
    });
    const { code, out, err } = await guard(folder);
    expect(err).toBe('');
    expect(out).toBe(`src/carrier.ts:3:24  fetch(...)  passes no gate.
src/z.ts:2:3  fetch(...)  passes no gate.
  Fix: call it inside dispatcher.callDownstream(name, fn), or use the fetch that
  createFetch(dispatcher) of penstock/fetch returns.

src/carrier.ts:4:24  axios.get(...)  passes no gate.
  Fix: call it inside dispatcher.callDownstream(name, fn), or create it with {
  adapter: 'fetch', env: { fetch: createFetch(dispatcher) } }.

src/llm.ts:2:23  new OpenAI(...)  has no gated transport.
  Fix: pass { fetch: gatedFetch }, made with createFetch(dispatcher) of
  penstock/fetch, and maxRetries: 0.

4 places in 3 files pass no gate; 4 files read.
`);
    expect(code).toBe(1);
  });

  test('nothing found: how much was read', async () => {
    write({ 'a.ts': 'export {};', 'b/c.mjs': 'gated(1);', 'http.ts': 'fetch(1);', 'a.test.ts': 'fetch(1);' });
    expect(await guard(folder, '--allow', 'http.ts')).toEqual({
      code: 0,
      out: 'Nothing passes by the gate: 2 files read, 1 file allowed, 1 test file passed\nover.\n',
      err: '',
    });
  });

  test('long paths and long lines stay readable', async () => {
    write({ [`src/${'deep/'.repeat(10)}a.ts`]: "export const fetch2 = require('node-fetch');\n" });
    const { out } = await guard(folder);
    expect(out.split('\n').slice(0, 2)).toEqual([
      `src/${'deep/'.repeat(10)}a.ts:1:23`,
      "    export of require('node-fetch')  hands on what passes no gate.",
    ]);
  });

  test('colours on a terminal only, and not against NO_COLOR', async () => {
    write({ 'a.ts': 'fetch(1);' });
    const painted = async (isTTY: boolean, env = {}) => {
      let out = '';
      const terminal = { input: process.stdin, output: { ...process.stdout, isTTY } as never };
      await run(['guard', folder], { env, out: (text) => (out += text), err: () => undefined, terminal });
      return out.includes('\u001b[');
    };
    expect([await painted(true), await painted(false), await painted(true, { NO_COLOR: '1' })]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test('as JSON', async () => {
    write({
      'a.ts': "fetch('u');\nfetch('v'); // penstock-allow: health check\n// penstock-allow: left behind\n",
      'b.ts': 'fetch((;',
    });
    const { code, out } = await guard(folder, '--json', '--allow', 'none.ts');
    expect(code).toBe(1);
    const fetchFix =
      'call it inside dispatcher.callDownstream(name, fn), or use the fetch that createFetch(dispatcher) of penstock/fetch returns';
    const place = { kind: 'request', what: 'fetch(...)', problem: 'passes no gate', fix: fetchFix };
    expect(JSON.parse(out)).toEqual({
      schema: 1,
      read: 2,
      tests: 0,
      allowed: 0,
      findings: [{ file: 'a.ts', line: 1, column: 1, ...place }],
      exempted: [{ file: 'a.ts', line: 2, column: 1, ...place, reason: 'health check' }],
      problems: [{ file: 'b.ts', problem: expect.stringMatching(/^Unexpected token/) }],
      unusedExemptions: [{ file: 'a.ts', line: 3 }],
      unusedAllow: ['none.ts'],
    });
  });

  test('notes: what was allowed for nothing', async () => {
    write({ 'a.ts': '// penstock-allow: left behind\ngated(1);' });
    const { code, out } = await guard(folder, '--allow', 'src/htp.ts');
    expect(code).toBe(0);
    expect(out.split('\n').slice(0, 2)).toEqual([
      'Note: --allow src/htp.ts means no file that was read.',
      'Note: a.ts:1  penstock-allow exempts nothing here.',
    ]);
  });
});

describe('files', () => {
  test('all endings, and no declarations', async () => {
    const endings = ['ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs'];
    const others = ['a.d.ts', 'b.d.mts', 'c.d.cts', 'd.json', 'e.md', 'f.vue'];
    write(
      Object.fromEntries([...endings.map((ending) => `a.${ending}`), ...others].map((name) => [name, 'fetch(1);'])),
    );
    expect(await found()).toEqual(endings.map((ending) => `a.${ending}:1`).sort());
  });

  test('each in its own language', async () => {
    write({
      'a.ts': 'const a = <Type>b; const f = <T>(x: T) => fetch(x);',
      'b.tsx': 'const a = <A<string> b={() => fetch(1)} />;',
      'c.jsx': 'const a = <A b={() => fetch(1)} />;',
      'd.js': '// @flow\nconst f = (a: string): ?number => fetch(a); type A = {| a: 1 |};',
      'e.cjs': '#!/usr/bin/env node\nif (a) return; with (b) fetch(1);',
      'f.mts': '\uFEFFawait using a = b; import c from "d" with { type: "json" }; enum E { a } fetch(1);',
      'g.ts': '@Injectable() export class A { constructor(@Inject() private a: B) { fetch(1); } accessor x = 1; }',
    });
    expect(await found()).toEqual(['a.ts:1', 'b.tsx:1', 'c.jsx:1', 'd.js:2', 'e.cjs:2', 'f.mts:1', 'g.ts:1']);
  });

  test('not those of others, and not tests', async () => {
    const out = ['node_modules/a/a.js', 'dist/a.js', '.git/a.js', 'pkg/node_modules/a.js', 'pkg/dist/a.js'];
    const tests = ['a.test.ts', 'b.spec.tsx', 'test/a.ts', 'pkg/tests/a.ts', 'pkg/__tests__/a.ts', '__mocks__/a.ts'];
    write(Object.fromEntries([...out, ...tests, 'src/a.ts'].map((name) => [name, 'fetch(1);'])));
    expect(await found()).toEqual(['src/a.ts:1']);
    expect(await found('--include-tests')).toEqual([...tests, 'src/a.ts'].map((name) => `${name}:1`).sort());
  });

  test('not what .gitignore names', async () => {
    write({
      '.gitignore': '# built\n/build\n*.gen.ts\nout/\n!keep.gen.ts\n',
      'pkg/.gitignore': 'local.ts\n!b.gen.ts\n',
      ...Object.fromEntries(
        [
          'build/a.ts',
          'pkg/build/a.ts',
          'a.gen.ts',
          'keep.gen.ts',
          'pkg/b.gen.ts',
          'pkg/out/a.ts',
          'out.ts',
          'pkg/local.ts',
          'local.ts',
        ].map((name) => [name, 'fetch(1);']),
      ),
    });
    expect(await found()).toEqual(
      ['keep.gen.ts', 'local.ts', 'out.ts', 'pkg/b.gen.ts', 'pkg/build/a.ts'].map((name) => `${name}:1`),
    );
  });

  test('what the .gitignore of the repository says counts for a folder in it', async () => {
    write({ '.git/HEAD': '', '.gitignore': 'src/gen\n', 'src/gen/a.ts': 'fetch(1);', 'src/a.ts': 'fetch(1);' });
    const { out } = await guard(join(folder, 'src'));
    expect(out).toContain('1 place in 1 file passes no gate; 1 file read.');
  });

  test('what is named is read, wherever it lies', async () => {
    write({ 'node_modules/a/index.js': 'fetch(1);', 'dist/a.js': 'fetch(1);', 'a.test.ts': 'fetch(1);' });
    const roots = ['node_modules/a', 'dist', 'a.test.ts'].map((name) => join(folder, name));
    expect((await guard(...roots)).out).toContain('3 places in 3 files pass no gate; 3 files read.');
  });

  test('twice named, once read; a link is followed to a file only', async () => {
    write({ 'a.ts': 'fetch(1);' });
    symlinkSync(folder, join(folder, 'self'));
    symlinkSync(join(folder, 'a.ts'), join(folder, 'b.ts'));
    symlinkSync(join(folder, 'gone.ts'), join(folder, 'c.ts'));
    const { out } = await guard(folder, join(folder, 'a.ts'), relative(process.cwd(), folder));
    expect(out).toContain('2 places in 2 files pass no gate; 2 files read.');
  });

  test('the current folder, unless another is named', async () => {
    const { out } = await guard('--json', '--allow', '**');
    expect(JSON.parse(out)).toMatchObject({ read: 0, findings: [] });
    expect((JSON.parse(out) as { allowed: number }).allowed).toBeGreaterThan(100);
  });
});

describe('--allow', () => {
  beforeEach(() =>
    write(
      Object.fromEntries(
        ['src/http.ts', 'src/gate/a.ts', 'src/gate/b/c.ts', 'src/gate.ts', 'lib/http.ts'].map((name) => [
          name,
          'fetch(1);',
        ]),
      ),
    ),
  );
  const all = ['lib/http.ts', 'src/gate.ts', 'src/gate/a.ts', 'src/gate/b/c.ts', 'src/http.ts'];
  const but = (...names: string[]) => all.filter((name) => !names.includes(name)).map((name) => `${name}:1`);

  test.each<[string[], string[]]>([
    [['src/http.ts'], ['src/http.ts']],
    [['./src/http.ts'], ['src/http.ts']],
    [['src/gate'], ['src/gate/a.ts', 'src/gate/b/c.ts']],
    [['src/gate/'], ['src/gate/a.ts', 'src/gate/b/c.ts']],
    [['src/gate/*'], ['src/gate/a.ts', 'src/gate/b/c.ts']],
    [['src/gate/*.ts'], ['src/gate/a.ts']],
    [['src/**/*.ts'], ['src/http.ts', 'src/gate.ts', 'src/gate/a.ts', 'src/gate/b/c.ts']],
    [['**/http.ts'], ['src/http.ts', 'lib/http.ts']],
    [['{src,lib}/http.ts'], ['src/http.ts', 'lib/http.ts']],
    [
      ['src/http.ts', 'lib'],
      ['src/http.ts', 'lib/http.ts'],
    ],
    [['src/gat?.ts'], ['src/gate.ts']],
    [['src/[gh]*.ts'], ['src/http.ts', 'src/gate.ts']],
    [['src/http'], []],
    [['http.ts'], []],
    [['src/h.tp.ts'], []],
  ])('%j', async (patterns, allowed) => {
    expect(await found(...patterns.flatMap((pattern) => ['--allow', pattern]))).toEqual(but(...allowed));
  });

  test('absolute, and from where one stands', async () => {
    expect(await found('--allow', join(folder, 'src'))).toEqual(['lib/http.ts:1']);
    expect(await found('--allow', relative(process.cwd(), join(folder, 'lib')))).toEqual(but('lib/http.ts'));
  });
});

describe('options', () => {
  test('--strict, --gate, --fetch-is-gated', async () => {
    write({
      'a.ts': "import OpenAI from 'openai';\nexport const a = new OpenAI(options);",
      'b.ts': "import { carrier } from './gate.ts';\ncarrier(() => fetch(1));",
      'c.ts': "import OpenAI from 'openai'; import axios from 'axios';\nnew OpenAI();\nfetch(1);\naxios(1);",
    });
    expect(await found()).toEqual(['b.ts:2', 'c.ts:2', 'c.ts:3', 'c.ts:4']);
    expect(await found('--strict')).toEqual(['a.ts:2', 'b.ts:2', 'c.ts:2', 'c.ts:3', 'c.ts:4']);
    expect(await found('--gate', 'carrier')).toEqual(['c.ts:2', 'c.ts:3', 'c.ts:4']);
    expect(await found('--fetch-is-gated')).toEqual(['c.ts:4']);
  });
});

describe('exit codes', () => {
  test('a file that cannot be read stops no other, and is no success', async () => {
    write({ 'a.ts': 'fetch(((;', 'b.ts': 'gated(1);' });
    const { code, out } = await guard(folder);
    expect(code).toBe(2);
    expect(out).toMatch(/^a\.ts\n {4}could not be read to its end: Unexpected token \(1:9\)\n/);
    expect(out).toContain('Nothing passes by the gate: 2 files read, 1 file not read to the end.');
    write({ 'b.ts': 'fetch(1);' });
    expect((await guard(folder)).code).toBe(1);
  });

  test.each([
    [['--alow', 'a'], "penstock guard: Unknown option '--alow'"],
    [['--allow'], "penstock guard: Option '--allow <value>' argument missing"],
    [['--allow='], 'penstock guard: --allow: expected a file, a folder or a pattern; found ""'],
    [['no/such/path'], 'penstock guard: no/such/path is no file and no folder'],
  ])('%j is not understood', async (args, message) => {
    const { code, out, err } = await guard(...args);
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: `${message}\nTry: penstock guard --help\n` });
  });

  test('where there is nothing to read, nothing was proved', async () => {
    write({ 'a.md': '', 'a.test.ts': 'fetch(1)' });
    expect(await guard(folder)).toEqual({
      code: 2,
      out: '',
      err: 'penstock guard: no file to read in .; 1 of tests (--include-tests reads them)\nTry: penstock guard --help\n',
    });
  });

  test('--help', async () => {
    const { code, out } = await guard('--help');
    expect(code).toBe(0);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    expect(out).toContain('--allow <pattern>');
  });
});
