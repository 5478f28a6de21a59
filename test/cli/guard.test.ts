import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { run } from '../../src/cli/run.ts';
import { GuardFolder } from './support/guard.ts';

const folder = new GuardFolder();
const { write, guard, found } = folder;

describe('what it prints', () => {
  beforeEach(() => void vi.spyOn(process, 'cwd').mockReturnValue(folder.path));
  afterEach(() => void vi.restoreAllMocks());

  test('places, the fix once for those that have the same, and a count', async () => {
    write({
      'src/carrier.ts':
        "import axios from 'axios';\n\nexport const a = () => fetch('u');\nexport const b = () => axios.get('u');\n",
      'src/llm.ts': "import OpenAI from 'openai';\nexport const openai = new OpenAI({ apiKey: 'k' });\n",
      'src/plain.ts': 'export const a = 1;\n',
      'src/z.ts': "\n  fetch('u');\n",
    });
    const { code, out, err } = await guard(folder.path);
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
    expect(await guard(folder.path, '--allow', 'http.ts')).toEqual({
      code: 0,
      out: 'Nothing passes by the gate: 2 files read, 1 file allowed, 1 test file passed\nover.\n',
      err: '',
    });
  });

  test('long paths and long lines stay readable', async () => {
    write({ [`src/${'deep/'.repeat(10)}a.ts`]: "export const fetch2 = require('node-fetch');\n" });
    const { out } = await guard(folder.path);
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
      await run(['guard', folder.path], { env, out: (text) => (out += text), err: () => undefined, terminal });
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
    const { code, out } = await guard(folder.path, '--json', '--allow', 'none.ts');
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
    const { code, out } = await guard(folder.path, '--allow', 'src/htp.ts');
    expect(code).toBe(0);
    expect(out.split('\n').slice(0, 2)).toEqual([
      'Note: --allow src/htp.ts means no file that was read.',
      'Note: a.ts:1  penstock-allow exempts nothing here.',
    ]);
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
    const { code, out } = await guard(folder.path);
    expect(code).toBe(2);
    expect(out).toMatch(/^a\.ts\n {4}could not be read to its end: Unexpected token \(1:9\)\n/);
    expect(out).toContain('Nothing passes by the gate: 2 files read, 1 file not read to the end.');
    write({ 'b.ts': 'fetch(1);' });
    expect((await guard(folder.path)).code).toBe(1);
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
    expect(await guard(folder.path)).toEqual({
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
