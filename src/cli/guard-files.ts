import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { messageOf } from '../base/text.ts';
import { ignores } from '../guard/globs.ts';
import { ENDINGS } from '../guard/parse.ts';

/** Folders that hold no code of this program. */
const NOT_OURS = new Set(['node_modules', 'dist', '.git']);
/** In a package that was named there is nothing else to read than what was built. */
const NOT_OF_PACKAGE = new Set(['node_modules', '.git']);
const TEST_FOLDERS = new Set(['test', 'tests', '__tests__', '__mocks__']);
const TEST_FILE = /\.(?:test|spec)\.\w+$/;
const DECLARATION = /\.d\.(?:\w+\.)?[cm]?ts$/;

/** A file to read. */
export interface GuardFile {
  /** To open it with. */
  readonly path: string;
  /** As people see it: from the current folder where it lies in it. */
  readonly shown: string;
  /** From the path that was named. */
  readonly below: string;
}

export interface GuardFiles {
  readonly files: readonly GuardFile[];
  /** Files of tests that were passed over. */
  readonly tests: number;
  /** Folders that could not be read; what else there is was. */
  readonly unread: readonly { readonly shown: string; readonly problem: string }[];
}

/** A folder that was named. */
interface From {
  readonly root: string;
  /** Folders in it that are not read. */
  readonly passed: ReadonlySet<string>;
}

type Ignores = (path: string, isFolder: boolean) => boolean | undefined;

/** The files below the named paths, in order and once each. Rejects where a path is not there. */
export async function filesBelow(roots: readonly string[], hasTests: boolean): Promise<GuardFiles> {
  const walk = new Walk(hasTests);
  for (const root of roots) await walk.root(root);
  const byPath = new Map(walk.files.map((file) => [resolve(file.path), file]));
  const files = [...byPath.values()].sort((a, b) => (a.shown < b.shown ? -1 : 1));
  return { files, tests: walk.tests, unread: walk.unread };
}

class Walk {
  readonly files: GuardFile[] = [];
  readonly unread: { shown: string; problem: string }[] = [];
  tests = 0;
  readonly #hasTests: boolean;

  constructor(hasTests: boolean) {
    this.#hasTests = hasTests;
  }

  /** What is named is read, whatever is said of it elsewhere. */
  async root(root: string): Promise<void> {
    const found = await stat(root).catch(() => undefined);
    if (found === undefined) throw new Error(`${root} is no file and no folder`);
    if (!found.isDirectory()) {
      this.files.push({ path: root, shown: shownAs(root), below: basename(root) });
      return;
    }
    const path = resolve(root);
    // What this repository ignores says nothing of what lies in a package.
    const isPackage = path.split(sep).includes('node_modules');
    const passed = isPackage ? NOT_OF_PACKAGE : NOT_OURS;
    await this.#folder({ root: path, passed }, path, isPackage ? [] : await ignoredAbove(path), false);
  }

  async #folder(from: From, folder: string, above: readonly Ignores[], isTest: boolean): Promise<void> {
    const rules = [...above, ...(await ignoredIn(folder))];
    for (const entry of await this.#entries(folder)) {
      const path = join(folder, entry.name);
      const isFolder = entry.isDirectory();
      if (isFolder ? from.passed.has(entry.name) : !isCode(entry.name)) continue;
      if (isIgnored(rules, path, isFolder)) continue;
      const isOfTests = isTest || (isFolder ? TEST_FOLDERS.has(entry.name) : TEST_FILE.test(entry.name));
      if (isFolder) await this.#folder(from, path, rules, isOfTests);
      else if (entry.isFile() || (entry.isSymbolicLink() && (await isFileAt(path))))
        this.#file(from.root, path, isOfTests);
    }
  }

  async #entries(folder: string): Promise<Dirent[]> {
    try {
      return await readdir(folder, { withFileTypes: true });
    } catch (error) {
      this.unread.push({ shown: shownAs(folder), problem: messageOf(error) });
      return [];
    }
  }

  #file(root: string, path: string, isTest: boolean): void {
    if (isTest && !this.#hasTests) this.tests += 1;
    else this.files.push({ path, shown: shownAs(path), below: slashed(relative(root, path)) });
  }
}

function isCode(name: string): boolean {
  return ENDINGS.some((ending) => name.endsWith(ending)) && !DECLARATION.test(name);
}

async function isFileAt(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

function shownAs(path: string): string {
  const fromHere = relative(process.cwd(), resolve(path));
  return slashed(fromHere.startsWith('..') ? resolve(path) : fromHere);
}

/** A path as it is written in patterns. */
export function slashed(path: string): string {
  return sep === '/' ? path : path.replaceAll(sep, '/');
}

function isIgnored(rules: readonly Ignores[], path: string, isFolder: boolean): boolean {
  // The rule nearest to the file has the last word.
  for (const rule of [...rules].reverse()) {
    const said = rule(path, isFolder);
    if (said !== undefined) return said;
  }
  return false;
}

/** What the `.gitignore` of a folder says. */
async function ignoredIn(folder: string): Promise<Ignores[]> {
  try {
    const rule = ignores(await readFile(join(folder, '.gitignore'), 'utf8'));
    return [(path, isFolder) => rule(slashed(relative(folder, path)), isFolder)];
  } catch {
    return [];
  }
}

/** What the folders above say, up to the root of the repository; nothing outside of one. */
async function ignoredAbove(folder: string): Promise<Ignores[]> {
  const above: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    if (await isThere(join(at, '.git'))) break;
    if (dirname(at) === at) return [];
    above.unshift(dirname(at));
  }
  return (await Promise.all(above.map(ignoredIn))).flat();
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
