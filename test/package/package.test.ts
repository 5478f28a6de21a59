import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadedWith, lostImports } from './graph.ts';
import { type Installed, installPacked, manifestOf, ROOT } from './installed.ts';

let installed: Installed;
beforeAll(() => {
  installed = installPacked();
});
afterAll(() => installed?.remove());

const PROGRAM = `
  import { type AdmissionError, createDispatcher, type Dispatcher, isAdmissionError } from 'penstock';
  import { ManualClock } from 'penstock/testing';
  const dispatcher = createDispatcher({ downstreams: { carrier: { quota: '60/minute' } } }, { clock: new ManualClock() });
  export const named: Dispatcher<'carrier'> = dispatcher;
  export const answer: Promise<number> = dispatcher.callDownstream('carrier', ({ waitedMs }) => waitedMs);
  export const when = (error: AdmissionError): number | undefined => error.retryAfterMs;
  export const refused: boolean = isAdmissionError(new Error());
`;

describe('installed into an empty project', () => {
  test.each(['nodenext', 'bundler'] as const)('every export resolves for TypeScript (%s)', (module) => {
    expect(installed.complaints(PROGRAM, module)).toBe('');
  });

  test('a wrong name is a complaint, so the types are really there', () => {
    const wrong = PROGRAM.replace("callDownstream('carrier'", "callDownstream('carrie'");
    expect(installed.complaints(wrong, 'nodenext')).toMatch(/"carrie"/);
    expect(installed.complaints(PROGRAM.replace('retryAfterMs', 'retryAfter'), 'nodenext')).toMatch(/retryAfter'/);
  });

  test('every export resolves at run time', () => {
    for (const name of Object.keys(manifestOf(ROOT).exports)) {
      const specifier = JSON.stringify(name.replace('.', 'penstock'));
      const attributes = name.endsWith('.json') ? ", { with: { type: 'json' } }" : '';
      const program = `const found = await import(${specifier}${attributes}); console.log(Object.keys(found).length > 0)`;
      expect(installed.run('node', ['--no-warnings', '--input-type=module', '-e', program]), name).toBe('true\n');
    }
  });

  test('a call runs and the process then ends by itself', () => {
    const program = `
      import { createDispatcher } from 'penstock';
      const { callDownstream } = createDispatcher({ downstreams: { carrier: { quota: '60/minute' } } });
      console.log(await callDownstream('carrier', async () => 'answered'));
    `;
    expect(installed.run('node', ['--input-type=module', '-e', program])).toBe('answered\n');
  });

  test('the command runs', () => {
    const command = join(installed.project, 'node_modules', '.bin', 'penstock');
    expect(installed.run(command, ['--version']).trim()).toBe(manifestOf(ROOT).version);
    expect(installed.run(command, ['--help'])).toMatch(/penstock check/);
  });

  test('the package holds what users need and nothing else', () => {
    const top = readdirSync(installed.home).sort();
    expect(top).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'config', 'dist', 'docs', 'package.json']);
    const files = readdirSync(join(installed.home, 'dist'), { recursive: true, encoding: 'utf8' });
    expect(files.filter((file) => /\.test\.|\.map$|(?<!\.d)\.ts$/.test(file))).toEqual([]);
  });

  test('publint finds nothing', async () => {
    const { messages, pkg } = await publint({ pkgDir: installed.home, level: 'suggestion', strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  test('declarations import only declarations that are there', () => {
    const dist = join(installed.home, 'dist');
    const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.d.ts'));
    expect(files.length).toBeGreaterThan(10);
    expect(files.flatMap((file) => lostImports(join(dist, file)))).toEqual([]);
  });
});

test('whoever installs penstock alone gets no package that an adapter is for', () => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = manifestOf(ROOT);
  const optional = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional === true);
  const adapted = ['@langchain/core', '@modelcontextprotocol/sdk', '@openai/agents', 'ai', 'undici'];
  expect(optional).toEqual(expect.arrayContaining(adapted));
  const kinds = ['dev', 'peer', 'optional'].map((kind) => `--omit=${kind}`);
  const listed = execFileSync('npm', ['ls', '--all', '--parseable', ...kinds], { cwd: ROOT, encoding: 'utf8' });
  const names = listed
    .trim()
    .split('\n')
    .map((path) => path.split('node_modules/').at(-1) ?? '');
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)));
  expect(names.filter((name) => [...optional, 'openai', '@anthropic-ai/sdk'].includes(name))).toEqual([]);
});

describe('the core runs wherever JavaScript does', () => {
  test('loading it loads no node: module', () => {
    const { packages, files } = loadedWith(join(installed.home, 'dist'), 'index.js');
    expect(files.length).toBeGreaterThan(10);
    expect(packages.filter((name) => name.startsWith('node:'))).toEqual([]);
  });

  test('it loads only what package.json declares', () => {
    const { dependencies, peerDependencies } = manifestOf(ROOT);
    const declared = [...Object.keys(dependencies), ...Object.keys(peerDependencies)];
    for (const entry of ['index.js', 'testing.js', 'telemetry.js', 'cli/main.js']) {
      const { packages } = loadedWith(join(installed.home, 'dist'), entry);
      const outside = packages.filter((name) => !name.startsWith('node:')).map(packageOf);
      expect(
        outside.filter((name) => !declared.includes(name)),
        entry,
      ).toEqual([]);
    }
  });

  test('it reaches neither the command line nor the status page, nor what starts an SDK', () => {
    const { files } = loadedWith(join(installed.home, 'dist'), 'index.js');
    expect(files.filter((file) => /^(?:cli|status|telemetry\/start)/.test(file))).toEqual([]);
  });
});

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
