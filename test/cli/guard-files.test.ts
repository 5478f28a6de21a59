import { symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { GuardFolder } from './support/guard.ts';

const folder = new GuardFolder();
const { write, writeAll, guard, found } = folder;

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
    writeAll([...out, ...tests, 'src/a.ts']);
    expect(await found()).toEqual(['src/a.ts:1']);
    expect(await found('--include-tests')).toEqual([...tests, 'src/a.ts'].map((name) => `${name}:1`).sort());
  });

  test('a package that is named, of which there is only what was built', async () => {
    writeAll(['node_modules/a/dist/a.js', 'node_modules/a/node_modules/b/b.js', 'dist/c.js', '.git/x']);
    write({ '.gitignore': 'node_modules/\ndist/\n' });
    const { out } = await guard(`${folder.path}/node_modules/a`, '--json');
    expect(JSON.parse(out)).toMatchObject({ read: 1, findings: [{ line: 1 }] });
    expect((await guard(folder.path)).err).toContain('are read where they are named');
    expect((await guard(`${folder.path}/dist`)).code).toBe(1);
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
    const { out } = await guard(join(folder.path, 'src'));
    expect(out).toContain('1 place in 1 file passes no gate; 1 file read.');
  });

  test('what is named is read, wherever it lies', async () => {
    write({ 'node_modules/a/index.js': 'fetch(1);', 'dist/a.js': 'fetch(1);', 'a.test.ts': 'fetch(1);' });
    const roots = ['node_modules/a', 'dist', 'a.test.ts'].map((name) => join(folder.path, name));
    expect((await guard(...roots)).out).toContain('3 places in 3 files pass no gate; 3 files read.');
  });

  test('twice named, once read; a link is followed to a file only', async () => {
    write({ 'a.ts': 'fetch(1);' });
    symlinkSync(folder.path, join(folder.path, 'self'));
    symlinkSync(join(folder.path, 'a.ts'), join(folder.path, 'b.ts'));
    symlinkSync(join(folder.path, 'gone.ts'), join(folder.path, 'c.ts'));
    const { out } = await guard(folder.path, join(folder.path, 'a.ts'), relative(process.cwd(), folder.path));
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
    expect(await found('--allow', join(folder.path, 'src'))).toEqual(['lib/http.ts:1']);
    expect(await found('--allow', relative(process.cwd(), join(folder.path, 'lib')))).toEqual(but('lib/http.ts'));
  });
});
