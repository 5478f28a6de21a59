import { posix } from 'node:path';
import { ENTRIES, MAY_IMPORT_NODE, MAY_LOAD_NODE, ROOMS } from './rooms.ts';
import type { Import, Source } from './source.ts';

/** Looks at all files of `src` and says what is wrong, one line per finding. */
export type Rule = (sources: readonly Source[]) => string[];

/** Rooms import only the rooms that their row names. */
export const direction: Rule = (sources) =>
  eachImport(sources, (source, used) => {
    const target = resolved(source, used);
    if (target === undefined) return undefined;
    const from = roomOf(source.path);
    const to = roomOf(target);
    const row = ROOMS[from];
    if (row === undefined) return `${from} has no row in test/house/rooms.ts`;
    if (from === to) return undefined;
    return row.rooms.includes(to) ? undefined : `${from} must not import ${to} (${used.specifier})`;
  });

/** Rooms import only the packages that their row names. */
export const packages: Rule = (sources) =>
  eachImport(sources, (source, used) => {
    if (used.specifier.startsWith('.') || used.specifier.startsWith('node:')) return undefined;
    const name = used.specifier
      .split('/')
      .slice(0, used.specifier.startsWith('@') ? 2 : 1)
      .join('/');
    const isAllowed = ROOMS[roomOf(source.path)]?.packages?.includes(name) ?? false;
    return isAllowed ? undefined : `${roomOf(source.path)} must not import the package ${name}`;
  });

/** The core imports no `node:` module. */
export const node: Rule = (sources) =>
  eachImport(sources, (source, used) => {
    if (!used.specifier.startsWith('node:')) return undefined;
    if (MAY_IMPORT_NODE.some((start) => source.path.startsWith(start))) return undefined;
    const isLazy = used.isDynamic || used.isType;
    if (isLazy && MAY_LOAD_NODE.some((start) => source.path.startsWith(start))) return undefined;
    return `${used.specifier} is out of place here`;
  });

/** Relative imports name an existing `.ts` file. */
export const extensions: Rule = (sources) => {
  const known = new Set(sources.map((source) => source.path));
  return eachImport(sources, (source, used) => {
    const target = resolved(source, used);
    return target === undefined || known.has(target) ? undefined : `${used.specifier} is no file of src`;
  });
};

/** What is exported is listed one by one. */
export const starExports: Rule = (sources) =>
  eachImport(sources, (_, used) => (used.isStarExport ? `export * from ${used.specifier}` : undefined));

/** No circle of imports, types included. */
export const cycles: Rule = (sources) => {
  const graph = graphOf(sources);
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(path);
    if (seenAt >= 0) found.push([...trail.slice(seenAt), path].join(' -> '));
    if (seenAt >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return found;
};

/** Every file is reached from an entry point. */
export const orphans: Rule = (sources) => {
  const graph = graphOf(sources);
  const reached = new Set<string>();
  const queue = ENTRIES.filter((entry) => graph.has(entry));
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    queue.push(...(graph.get(path) ?? []));
  }
  return [...graph.keys()].filter((path) => !reached.has(path)).map((path) => `${path}: no entry point imports it`);
};

function eachImport(sources: readonly Source[], judge: (source: Source, used: Import) => string | undefined): string[] {
  return sources.flatMap((source) =>
    source.imports.flatMap((used) => {
      const finding = judge(source, used);
      return finding === undefined ? [] : [`${source.path}:${used.line}: ${finding}`];
    }),
  );
}

function graphOf(sources: readonly Source[]): Map<string, string[]> {
  return new Map(
    sources.map((source) => [
      source.path,
      source.imports.flatMap((used) => resolved(source, used) ?? []).filter((path) => path !== ''),
    ]),
  );
}

function resolved(source: Source, used: Import): string | undefined {
  if (!used.specifier.startsWith('.')) return undefined;
  return posix.join(posix.dirname(source.path), used.specifier);
}

function roomOf(path: string): string {
  return path.split('/')[1]?.replace(/\.ts$/, '') ?? '';
}
