/**
 * Writes `api.txt`: every name that the entry points export, with its kind and, where it has
 * any, its members, read from the declarations that users get. `--write` updates the file; without
 * it the listing goes to stdout.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Node, parseSync } from 'oxc-parser';

const ROOT = join(import.meta.dirname, '..');

/** Every entry that the manifest exports with types, and its declarations below `dist`. */
export function entries(): [string, string][] {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return Object.entries(exports).flatMap(([name, target]): [string, string][] =>
    typeof target === 'string' ? [] : [[name, target.types.replace('./dist/', '')]],
  );
}

/** The listing of the sources as they are now. Compiles the declarations into a temporary folder. */
export function listApi(): string {
  const out = mkdtempSync(join(tmpdir(), 'penstock-api-'));
  try {
    const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
    const options = ['-p', 'tsconfig.build.json', '--emitDeclarationOnly', '--outDir', out];
    execFileSync(tsc, options, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
    return entries()
      .map(([name, file]) => `${name}\n\n${describeExports(join(out, file))}`)
      .join('\n');
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** The exports of one declaration file, sorted by name. */
export function describeExports(file: string): string {
  const named = exportsOf(file).map(({ name, local, from }) => ({ name, text: describe(from, local, name) }));
  return named
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ text }) => `${text}\n`)
    .join('');
}

interface Exported {
  readonly name: string;
  readonly local: string;
  readonly from: string;
}

function exportsOf(file: string): Exported[] {
  const { module } = parsed(file);
  return module.staticExports.flatMap(({ entries }) =>
    entries.map((entry) => {
      const name = entry.exportName.name ?? 'default';
      if (entry.moduleRequest === null) return { name, local: entry.localName.name ?? name, from: file };
      return { name, local: entry.importName.name ?? name, from: neighbour(file, entry.moduleRequest.value) };
    }),
  );
}

/** Follows a name to where it is declared, through re-exports and imports. */
function describe(file: string, local: string, name: string): string {
  const { program, module } = parsed(file);
  const found = program.body.flatMap((statement) => {
    const node = (statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement) as Node | null;
    return node !== null && declares(node, local) ? [node] : [];
  });
  if (found.length > 0) return found.map((node) => render(file, node)).join('\n');
  for (const { moduleRequest, entries } of module.staticImports) {
    const entry = entries.find(({ localName }) => localName.value === local);
    if (entry !== undefined)
      return describe(neighbour(file, moduleRequest.value), entry.importName.name ?? local, name);
  }
  const passedOn = exportsOf(file).find((exported) => exported.name === local && exported.from !== file);
  if (passedOn !== undefined) return describe(passedOn.from, passedOn.local, name);
  throw new Error(`${file}: ${local} is declared nowhere`);
}

function declares(node: Node, name: string): boolean {
  if (node.type === 'VariableDeclaration') {
    return node.declarations.some(({ id }) => id.type === 'Identifier' && id.name === name);
  }
  return 'id' in node && node.id?.type === 'Identifier' && node.id.name === name;
}

function render(file: string, node: Node): string {
  if (node.type !== 'ClassDeclaration' && node.type !== 'TSInterfaceDeclaration')
    return textOf(file, node.start, node.end);
  const members = (node.body.body as Node[]).filter((member) => !isPrivate(member));
  const head = textOf(file, node.start, node.body.start);
  return [head, ...members.map((member) => `  ${textOf(file, member.start, member.end)}`)].join('\n');
}

function isPrivate(member: Node): boolean {
  return 'key' in member && member.key?.type === 'PrivateIdentifier';
}

/** One line without comments. */
function textOf(file: string, start: number, end: number): string {
  const { text, comments } = parsed(file);
  let kept = '';
  let at = start;
  for (const comment of comments.filter((one) => one.start >= start && one.end <= end)) {
    kept += text.slice(at, comment.start);
    at = comment.end;
  }
  const line = (kept + text.slice(at, end)).replaceAll(/\s+/g, ' ').replace(/^(?:export )?(?:declare )?/, '');
  return line.replace(/[;\s]+$/, '');
}

type Parsed = ReturnType<typeof parseSync> & { readonly text: string };
const files = new Map<string, Parsed>();

function parsed(file: string): Parsed {
  const known = files.get(file);
  if (known !== undefined) return known;
  const text = readFileSync(file, 'utf8');
  const { program, module, comments, errors } = parseSync(file, text);
  const result = { text, program, module, comments, errors } as Parsed;
  files.set(file, result);
  return result;
}

function neighbour(file: string, specifier: string): string {
  return join(dirname(file), specifier.replace(/\.js$/, '.d.ts').replace(/(?<!\.d)\.ts$/, '.d.ts'));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const listing = listApi();
  if (process.argv.includes('--write')) writeFileSync(join(ROOT, 'api.txt'), listing);
  else process.stdout.write(listing);
}
