import { execFileSync, type StdioOptions } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');
const TSC = join(ROOT, 'node_modules', '.bin', 'tsc');

/** An empty project that has installed what `npm pack` made. No network: dependencies are links. */
export interface Installed {
  readonly project: string;
  /** The installed package: `node_modules/penstock`. */
  readonly home: string;
  readonly tarball: string;
  /** Output of a program run in the project; throws with what it wrote where it fails. */
  readonly run: (command: string, args: readonly string[]) => string;
  /** Compiles one file of the project; returns the compiler's complaints. */
  readonly complaints: (text: string, module: 'nodenext' | 'bundler') => string;
  readonly remove: () => void;
}

interface Manifest {
  readonly version: string;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly exports: Readonly<Record<string, unknown>>;
}

export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/** Packs a copy of the sources (`prepack` builds), so that a `dist` in use is left alone. */
export function installPacked(): Installed {
  const folder = mkdtempSync(join(tmpdir(), 'penstock-package-'));
  const tarball = pack(join(folder, 'source'));
  const project = join(folder, 'project');
  mkdirSync(project);
  const manifest = manifestOf(ROOT);
  const needed = [...Object.keys(manifest.dependencies), '@opentelemetry/api'];
  const dependencies = { penstock: `file:${tarball}`, ...linked(needed) };
  const rest = { name: 'empty', version: '1.0.0', private: true, type: 'module' };
  writeFileSync(join(project, 'package.json'), JSON.stringify({ ...rest, dependencies }));
  execute('npm', ['install', '--offline', '--no-audit', '--no-fund', '--ignore-scripts'], project);
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(project, 'node_modules', '@types'));
  return {
    project,
    home: join(project, 'node_modules', 'penstock'),
    tarball,
    run: (command, args) => execute(command, args, project),
    complaints: (text, module) => compile(project, text, module),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function pack(source: string): string {
  mkdirSync(source);
  const { files } = manifestOf(ROOT);
  for (const name of ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'src', ...files]) {
    if (name !== 'dist' && existsSync(join(ROOT, name)))
      cpSync(join(ROOT, name), join(source, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'));
  execute('npm', ['pack', '--offline', '--pack-destination', dirname(source)], source);
  const made = readdirSync(dirname(source)).find((name) => name.endsWith('.tgz'));
  if (made === undefined) throw new Error('npm pack made nothing');
  return join(dirname(source), made);
}

function linked(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, `file:${join(ROOT, 'node_modules', name)}`]));
}

function compile(project: string, text: string, module: 'nodenext' | 'bundler'): string {
  const file = join(project, `use-${module}.ts`);
  writeFileSync(file, text);
  const options =
    module === 'bundler' ? ['--module', 'esnext', '--moduleResolution', 'bundler'] : ['--module', 'nodenext'];
  const strict = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--ignoreConfig'];
  const lib = ['--lib', 'es2023,esnext.disposable,dom', '--types', 'node'];
  try {
    return execute(TSC, [...strict, ...lib, ...options, file], project);
  } catch (error) {
    return (error as Error).message;
  }
}

function execute(command: string, args: readonly string[], cwd: string): string {
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe'];
  try {
    return execFileSync(command, args, { cwd, stdio, encoding: 'utf8', timeout: 100_000 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')}\n${stdout ?? ''}${stderr ?? ''}`);
  }
}
