import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Node, parseSync, visitorKeys } from 'oxc-parser';

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** `import()` inside code: loaded only when it runs. */
  readonly isDynamic: boolean;
  /** Vanishes when types are stripped. */
  readonly isType: boolean;
  readonly isStarExport: boolean;
}

/** A parsed file. Paths are relative to the root of the repository, with `/`. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly program: Node;
  readonly imports: readonly Import[];
  readonly lineOf: (offset: number) => number;
}

const ROOT = join(import.meta.dirname, '..', '..');

/** Parses a text as the file of that path. Throws with the path where it does not parse. */
export function parse(path: string, text: string): Source {
  const { program, module, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors.map((error) => error.message).join('; ')}`);
  const lineOf = lineFinder(text);
  const imports: Import[] = [];
  const add = (specifier: string, start: number, more: Partial<Import> = {}) =>
    imports.push({
      specifier,
      line: lineOf(start),
      isDynamic: false,
      isType: false,
      isStarExport: false,
      ...more,
    });
  for (const { moduleRequest, entries, start } of module.staticImports) {
    add(moduleRequest.value, start, { isType: entries.length > 0 && entries.every((entry) => entry.isType) });
  }
  for (const { entries, start } of module.staticExports) {
    for (const { moduleRequest, importName, isType } of entries) {
      if (moduleRequest === null) continue;
      add(moduleRequest.value, start, { isType, isStarExport: importName.kind.startsWith('All') });
    }
  }
  walk(program, (node) => {
    if (node.type === 'ImportExpression') add(literal(node.source), node.start, { isDynamic: true });
    if (node.type === 'TSImportType') add(literal(node.source), node.start, { isType: true });
  });
  return { path, text, program, imports, lineOf };
}

/** Visits every node, parents first. */
export function walk(node: Node, visit: (node: Node, parents: readonly Node[]) => void): void {
  const parents: Node[] = [];
  const step = (current: Node): void => {
    visit(current, parents);
    parents.push(current);
    for (const key of visitorKeys[current.type] ?? []) {
      const child = (current as unknown as Record<string, unknown>)[key];
      for (const one of Array.isArray(child) ? child : [child]) if (isNode(one)) step(one);
    }
    parents.pop();
  };
  step(node);
}

/** Paths of the repository's files below `folder` whose names end so. */
export function list(folder: string, ends: readonly string[]): string[] {
  const found = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile() && ends.some((end) => entry.name.endsWith(end)))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(ROOT.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
}

export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Every TypeScript file below the folder, parsed. */
export function parseAll(folder: string): Source[] {
  return list(folder, ['.ts']).map((path) => parse(path, read(path)));
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function literal(node: Node): string {
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : '(computed)';
}

function lineFinder(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => starts.findLastIndex((start) => start <= offset) + 1;
}
