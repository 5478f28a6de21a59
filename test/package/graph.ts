import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'oxc-parser';

export interface Graph {
  /** Built files that are loaded at once with the entry, relative to `dist`. */
  readonly files: readonly string[];
  /** Packages and `node:` modules that are loaded at once with it. */
  readonly packages: readonly string[];
}

/** What loading a built file loads: static imports only, what `import()` asks for comes later. */
export function loadedWith(dist: string, entry: string): Graph {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (path: string): void => {
    if (files.has(path)) return;
    files.add(path);
    for (const specifier of importsOf(join(dist, path))) {
      if (specifier.startsWith('.')) visit(join(dirname(path), specifier));
      else packages.add(specifier);
    }
  };
  visit(entry);
  return { files: [...files].sort(), packages: [...packages].sort() };
}

/** Relative specifiers of a declaration file that lead nowhere (`./a.js` and `./a.ts` both mean `./a.d.ts`). */
export function lostImports(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const found = text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g);
  return [...found]
    .map((match) => match[1] ?? '')
    .filter((specifier) => !existsSync(join(dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts'))))
    .map((specifier) => `${file}: ${specifier}`);
}

function importsOf(file: string): string[] {
  const { module } = parseSync(file, readFileSync(file, 'utf8'));
  const passedOn = module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
  );
  return [...module.staticImports.map(({ moduleRequest }) => moduleRequest.value), ...passedOn];
}
