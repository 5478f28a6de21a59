import { parseSync } from 'oxc-parser';
import { transformWithOxc } from 'vite';
import type { Clock } from '../../../src/index.ts';
import type { Block } from './pages.ts';

/** What a block of code can import: the package by its own name, and what its page says to install. */
const PACKAGES: Readonly<Record<string, () => Promise<object>>> = {
  penstock: () => import('../../../src/index.ts'),
  'penstock/status': () => import('../../../src/status.ts'),
  'penstock/testing': () => import('../../../src/testing.ts'),
  cockatiel: () => import('cockatiel'),
  'node:assert/strict': () => import('node:assert/strict'),
  'node:http': () => import('node:http'),
};

/** What a run is given besides the names that the page says are there. */
export interface Surroundings {
  /** `Date.now()` in the block is this clock's. Default: the machine's. */
  readonly clock?: Clock;
  /** Values of the names in `<!-- given: ... -->`, and instead of `fetch`, `setTimeout`, `process` or a package. */
  readonly given?: Readonly<Record<string, unknown>>;
  readonly packages?: Readonly<Record<string, object>>;
}

export interface Ran<Exports> {
  /** What the block exports. */
  readonly exports: Exports;
  /** What it has written with `console.log`; grows while it goes on. */
  readonly printed: readonly string[];
}

/** What every block may use that a test may want to be its own. */
const REPLACEABLE = ['fetch', 'setTimeout', 'process'];

/** Runs a block of TypeScript as the body of a module, in this process, with the real package. */
export async function runBlock<Exports = Record<string, unknown>>(
  block: Block,
  { clock, given = {}, packages = {} }: Surroundings = {},
): Promise<Ran<Exports>> {
  const missing = block.given.filter((name) => !(name in given));
  const unasked = Object.keys(given).filter((name) => !block.given.includes(name) && !REPLACEABLE.includes(name));
  if (missing.length + unasked.length > 0) {
    const where = `${block.page}:${block.line}`;
    throw new Error(
      `${where}: not given: ${missing.join(', ') || 'none'}; not asked for: ${unasked.join(', ') || 'none'}`,
    );
  }
  const printed: string[] = [];
  const names: Record<string, unknown> = {
    console: { log: (...parts: unknown[]) => printed.push(parts.map(shown).join(' ')) },
    Date: clock === undefined ? Date : dateOf(clock),
    imported: async (name: string) => packages[name] ?? known(name)(),
    ...given,
  };
  const body = await asFunctionBody(block);
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
  const run = new AsyncFunction(...Object.keys(names), body);
  const exports = (await run(...Object.values(names))) as Exports;
  return { exports, printed };
}

function known(name: string): () => Promise<object> {
  const load = PACKAGES[name];
  if (load === undefined) throw new Error(`a block imports ${name}; it may import ${Object.keys(PACKAGES).join(', ')}`);
  return load;
}

/** Plain JavaScript in which imports are looked up with `imported` and exports are returned. */
async function asFunctionBody(block: Block): Promise<string> {
  const { code } = await transformWithOxc(block.code, `${block.title.replaceAll(/\W+/g, '-')}.ts`, {
    target: 'es2022',
  });
  const { program, errors } = parseSync('block.js', code);
  if (errors.length > 0) throw new Error(`${block.page}:${block.line}: ${errors[0]?.message}`);
  const exported: string[] = [];
  let body = '';
  for (const statement of program.body) {
    const text = code.slice(statement.start, statement.end);
    if (statement.type === 'ImportDeclaration') {
      const [names, source] = [statement.specifiers.map(binding).join(', '), statement.source.value];
      body += `const { ${names} } = await imported('${source}');\n`;
    } else if (statement.type === 'ExportNamedDeclaration' && statement.declaration !== null) {
      const { declaration } = statement;
      body += `${code.slice(declaration.start, declaration.end)}\n`;
      if (declaration.type === 'FunctionDeclaration') exported.push(declaration.id?.name ?? '');
      if (declaration.type === 'VariableDeclaration') {
        for (const { id } of declaration.declarations) exported.push(...namesIn(code.slice(id.start, id.end)));
      }
    } else if (!text.startsWith('export {}')) body += `${text}\n`;
  }
  return `'use strict';\n${body}return { ${exported.join(', ')} };`;
}

function binding(specifier: { type: string; local: { name: string }; imported?: unknown }): string {
  const { local } = specifier;
  if (specifier.type === 'ImportDefaultSpecifier') return `default: ${local.name}`;
  const { name } = (specifier.imported ?? local) as { name: string };
  return name === local.name ? name : `${name}: ${local.name}`;
}

/** Names of a simple binding or of a flat pattern. */
function namesIn(pattern: string): string[] {
  return pattern.match(/\w+/g) ?? [];
}

function dateOf(clock: Clock): DateConstructor {
  return class extends Date {
    static override now(): number {
      return clock.wallNow();
    }
  } as unknown as DateConstructor;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
