import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fileSize, functionSize, time } from './rules-code.ts';
import { cycles, direction, extensions, node, orphans, packages, starExports } from './rules-imports.ts';
import { machines, reminders, switches, type TextFile } from './rules-text.ts';
import { list, parseAll, read } from './source.ts';

const FOLDERS = ['src', 'test', 'benchmarks', 'demo', 'scripts'].filter((folder) => existsSync(folder));
const src = parseAll('src');
const all = FOLDERS.flatMap(parseAll);
const texts: TextFile[] = [...FOLDERS, 'docs', 'config', '.ci']
  .flatMap((folder) => list(folder, ['.ts', '.md', '.yaml', '.yml', '.json', 'run']))
  .concat(['README.md', 'CHANGELOG.md', 'package.json', 'package-lock.json'].filter((path) => existsSync(path)))
  .map((path) => ({ path, text: read(path) }));

test('rooms import only what stands below them', () => expect(direction(src)).toEqual([]));
test('rooms import only their own packages', () => expect(packages(src)).toEqual([]));
test('the core imports no node: module', () => expect(node(src)).toEqual([]));
test('relative imports name an existing file of src', () => expect(extensions(src)).toEqual([]));
test('no import goes in a circle', () => expect(cycles(src)).toEqual([]));
test('every file is reached from an entry point', () => expect(orphans(src)).toEqual([]));
test('exports are listed one by one', () => expect(starExports(all)).toEqual([]));
test('no file holds two ideas', () => expect(fileSize(all)).toEqual([]));
test('no function holds two ideas', () => {
  // A test's cases stand in one describe on purpose.
  expect(functionSize(all.filter(({ path }) => !path.startsWith('test/')))).toEqual([]);
});
test('only the clock touches the time', () => expect(time(src)).toEqual([]));
test('no reminder is left behind', () => expect(reminders(texts)).toEqual([]));
test('no test is switched off', () => expect(switches(texts)).toEqual([]));
test('nothing names a machine', () => expect(machines(texts)).toEqual([]));
