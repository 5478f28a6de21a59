import { describe, expect, test } from 'vitest';
import { fileSize, functionSize, time } from './rules-code.ts';
import { cycles, direction, extensions, node, orphans, packages, type Rule, starExports } from './rules-imports.ts';
import { machines, reminders, switches, type TextRule } from './rules-text.ts';
import { parse } from './source.ts';

type Files = Record<string, string>;

/** What the rule says about files that do not exist. */
function judged(rule: Rule, files: Files): string[] {
  return rule(Object.entries(files).map(([path, text]) => parse(path, text)));
}

const blank = (count: number) => '\n'.repeat(count);

describe('a file that breaks a rule is caught', () => {
  const broken: [string, Rule, Files][] = [
    ['base imports model', direction, { 'src/base/a.ts': "import '../model/b.ts';" }],
    ['model imports a type of dispatch', direction, { 'src/model/a.ts': "import type { B } from '../dispatch/b.ts';" }],
    ['telemetry imports alerts', direction, { 'src/telemetry/a.ts': "export { b } from '../alerts/b.ts';" }],
    ['the dispatcher imports the public names', direction, { 'src/dispatcher.ts': "import './index.ts';" }],
    ['the dispatcher imports cli', direction, { 'src/dispatcher.ts': "import './cli/b.ts';" }],
    ['a type written inline', direction, { 'src/model/a.ts': "export type A = import('../policy/b.ts').B;" }],
    [
      'an import inside a function',
      direction,
      { 'src/model/a.ts': "export const a = () => import('../policy/b.ts');" },
    ],
    ['a room without a row', direction, { 'src/attic/a.ts': "import '../base/b.ts';" }],
    ['model imports zod', packages, { 'src/model/a.ts': "import { z } from 'zod';" }],
    ['a path inside a scoped package', packages, { 'src/model/a.ts': "import '@opentelemetry/api/x';" }],
    ['the core imports a node: module', node, { 'src/dispatch/a.ts': "import { setTimeout } from 'node:timers';" }],
    ['the loader imports node:fs at once', node, { 'src/policy/load.ts': "import { readFile } from 'node:fs';" }],
    ['an import without its file', extensions, { 'src/base/a.ts': "import './b.ts';" }],
    ['an import without .ts', extensions, { 'src/base/a.ts': "import './b';", 'src/base/b.ts': '' }],
    ['a circle of two', cycles, { 'src/a.ts': "import './b.ts';", 'src/b.ts': "import type { A } from './a.ts';" }],
    ['a file that imports itself', cycles, { 'src/a.ts': "import './a.ts';" }],
    [
      'a file that nobody imports',
      orphans,
      { 'src/index.ts': "export { b } from './b.ts';", 'src/b.ts': '', 'src/c.ts': '' },
    ],
    ['export *', starExports, { 'src/index.ts': "export * from './b.ts';" }],
    ['export * as', starExports, { 'src/index.ts': "export * as b from './b.ts';" }],
    ['a file of 301 lines', fileSize, { 'src/a.ts': blank(301) }],
    ['a function of 61 lines', functionSize, { 'src/a.ts': `export function a() {${blank(60)}}` }],
    ['a method of 61 lines', functionSize, { 'src/a.ts': `export class A { a() {${blank(60)}} }` }],
    ['Date.now()', time, { 'src/a.ts': 'export const a = Date.now();' }],
    ['new Date()', time, { 'src/a.ts': 'export const a = new Date();' }],
    ['Date taken apart', time, { 'src/a.ts': 'export const { now } = Date;' }],
    ['performance', time, { 'src/a.ts': 'export const a = performance.now();' }],
    ['a timer', time, { 'src/a.ts': 'setTimeout(() => {}, 1);' }],
    ['a timer handed on', time, { 'src/a.ts': 'export const timers = { setTimeout };' }],
    ['a timer by another name', time, { 'src/a.ts': 'globalThis.setTimeout(() => {}, 1);' }],
    ['a timer of a signal', time, { 'src/a.ts': 'export const a = AbortSignal.timeout(1);' }],
    ["the processor's counter", time, { 'src/a.ts': 'export const a = process.hrtime();' }],
  ];
  test.each(broken)('%s', (_, rule, files) => expect(judged(rule, files)).toHaveLength(1));

  const text: [string, TextRule, string][] = [
    ['a reminder', reminders, `// ${'TO'}DO: later`],
    ['a test that is switched off', switches, `  it.${'sk'}ip('x', () => {});`],
    ['a breakpoint', switches, `  ${'debug'}ger;`],
    ['a path of one machine', machines, `see /${'ho'}me/me/x`],
    ['a registry', machines, `https://registry${'.'}npmjs.org/x`],
  ];
  test.each(text)('%s', (_, rule, line) => expect(rule([{ path: 'a', text: line }])).toHaveLength(1));
});

describe('a file that keeps the rules is left in peace', () => {
  const kept: [string, Rule, Files][] = [
    ['model imports base', direction, { 'src/model/a.ts': "import { b } from '../base/b.ts';" }],
    ['the dispatcher imports dispatch', direction, { 'src/dispatcher.ts': "import { b } from './dispatch/b.ts';" }],
    ['a room imports itself', direction, { 'src/alerts/a.ts': "import { b } from './b.ts';" }],
    ['policy imports zod', packages, { 'src/policy/a.ts': "import { z } from 'zod';" }],
    [
      'the loader asks for node:fs when called',
      node,
      { 'src/policy/load.ts': "export const a = () => import('node:fs');" },
    ],
    ['a file of 300 lines', fileSize, { 'src/a.ts': blank(300) }],
    [
      'a diamond is no circle',
      cycles,
      {
        'src/a.ts': "import './b.ts';\nimport './c.ts';",
        'src/b.ts': "import './d.ts';",
        'src/c.ts': "import './d.ts';",
        'src/d.ts': '',
      },
    ],
    [
      'the type Date',
      time,
      { 'src/a.ts': 'export interface A { readonly at: number | Date; readonly setTimeout: number }' },
    ],
    ['a Date that was handed in', time, { 'src/a.ts': 'export const a = (b: unknown) => b instanceof Date;' }],
    ['an instant as text', time, { 'src/a.ts': 'export const a = (b: number) => new Date(b).toISOString();' }],
    ['an instant from text', time, { 'src/a.ts': 'export const a = (b: string) => Date.parse(b);' }],
    ['the clock', time, { 'src/base/clock.ts': 'export const now = () => Date.now();' }],
    [
      'a method called setTimeout',
      time,
      { 'src/a.ts': 'export const a = (b: { setTimeout(): void }) => b.setTimeout();' },
    ],
  ];
  test.each(kept)('%s', (_, rule, files) => expect(judged(rule, files)).toEqual([]));
});
