import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run } from '../../src/cli/run.ts';

async function penstock(args: readonly string[], env: Record<string, string> = {}) {
  let out = '';
  let err = '';
  const code = await run(args, { env, out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'penstock-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('check', () => {
  test('says what the policy that ships means', async () => {
    const { code, out, err } = await penstock(['check']);
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out.split('\n')[0]).toBe(
      'carrier: they allow 60 per minute; Penstock starts at most 6 at once and 48 a minute, never more than 53 in any minute; calls without a deadline may wait without end',
    );
    expect(out).toMatch(/config\/downstreams\.yaml: 5 downstreams, no problems \(policy [0-9a-f]{16}\)\n$/);
    expect(out).not.toContain('warning');
  });

  test('puts warnings below the downstream', async () => {
    const path = file('warns.yaml', 'downstreams:\n  slow: { quota: 1/minute }\n');
    const { code, out } = await penstock(['check', path]);
    expect(code).toBe(0);
    expect(out.split('\n')[1]).toMatch(/^ {2}warning: 1\/minute: once the burst is spent/);
    expect(out).toContain('1 downstream, no problems');
  });

  test('tells every problem of a bad file, with exit code 1 and no stack trace', async () => {
    const path = file('bad.yaml', 'downstreams:\n  carrier: { quota: 60/minute, burst: 20, maxWiat: 3s }\n');
    const { code, out, err } = await penstock(['check', path]);
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).toContain(
      `${path}: 2 problems\n  downstreams.carrier.maxWiat: unknown option; did you mean maxWait? (line 2)`,
    );
    expect(err).not.toContain('    at ');
  });

  test('names a file that is not there', async () => {
    const { code, err } = await penstock(['check', 'nowhere.yaml']);
    expect({ code, err }).toEqual({
      code: 1,
      err: 'policy: 1 problem\n  nowhere.yaml: there is no such file\n',
    });
  });

  test('takes overrides from the environment', async () => {
    const { out } = await penstock(['check'], { PENSTOCK__CARRIER__MAX_WAIT: '20s' });
    expect(out.split('\n')[0]).toContain('no call waits longer than 20 s');
  });
});

describe('types', () => {
  test('prints a module with the names', async () => {
    const { code, out } = await penstock(['types']);
    expect(code).toBe(0);
    expect(out).toContain('export const downstreams = [\n  "carrier",\n  "warehouse",\n');
    expect(out).toContain('export type DownstreamName = (typeof downstreams)[number];');
  });

  test('quotes whatever a name may hold', async () => {
    const path = file('names.json', JSON.stringify({ downstreams: { 'a"b\\c\n*/': {} } }));
    const { out } = await penstock(['types', path]);
    expect(out).toContain('  "a\\"b\\\\c\\n*/",\n');
  });
});

test('schema prints what ships', async () => {
  const { out } = await penstock(['schema']);
  expect(JSON.parse(out)).toMatchObject({ title: 'Penstock policy', required: ['downstreams'] });
});

describe('what was not understood', () => {
  test.each([
    [['chekc'], 'penstock: no command "chekc"; did you mean check?\nTry: penstock help\n'],
    [['frobnicate'], 'penstock: no command "frobnicate"\nTry: penstock help\n'],
    [['--fast'], "penstock: Unknown option '--fast'\nTry: penstock help\n"],
    [['check', 'a', 'b'], 'penstock: check takes one file\nTry: penstock help\n'],
  ])('%j', async (args, expected) => {
    expect(await penstock(args)).toEqual({ code: 2, out: '', err: expected });
  });
});

test('help and --version', async () => {
  for (const args of [[], ['help'], ['--help'], ['-h', 'check']]) {
    const { code, out } = await penstock(args);
    expect(code).toBe(0);
    expect(out).toContain('penstock check [file]');
  }
  expect((await penstock(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test('the tool itself prints and sets the exit code', () => {
  const tool = ['--import', 'tsx', 'src/cli/main.ts'];
  const { PATH = '' } = process.env;
  expect(execFileSync(process.execPath, [...tool, '--version'], { encoding: 'utf8' })).toMatch(/^\d/);
  expect(() =>
    execFileSync(process.execPath, [...tool, 'check', 'nowhere.yaml'], { stdio: 'pipe', env: { PATH } }),
  ).toThrow(expect.objectContaining({ status: 1 }));
});
