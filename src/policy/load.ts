import { PolicyError, type PolicyProblem } from '../base/errors.ts';
import type { PolicyPlan } from '../base/plan.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import type { Policy } from './input.ts';
import { type Layer, layPolicies, type Origin, withOrigin } from './overlay.ts';
import { deepFreeze } from './paths.ts';
import { resolvePolicy } from './resolve.ts';

/** A policy's file, or a base and what is laid over it. */
export type PolicyFiles = string | URL | readonly (string | URL)[];

/** One file's text. */
export interface PolicyText {
  readonly file: string;
  readonly text: string;
}

/** A policy that was read and accepted, with the origin of everything in it. */
export interface ReadPolicy {
  readonly policy: Policy;
  readonly plan: PolicyPlan;
  readonly origins: ReadonlyMap<string, Origin>;
  /** Which variable of the environment set the option at a path. */
  readonly sources: ReadonlyMap<string, string>;
}

/**
 * Reads a policy from a YAML file, or a JSON file where the name ends in `.json`, with the
 * environment's overrides (`env`, default `process.env`) in place. Of several files each is laid over
 * those before it: objects are merged key by key, lists and scalars are replaced, and `null` takes an
 * option or a downstream out. The result is deep-frozen and goes into `createDispatcher`. Names of
 * downstreams are only known to the compiler where they are given: `loadPolicy<DownstreamName>(path)`,
 * with the type that `penstock types` writes.
 *
 * @throws {PolicyError} with every problem at once and the file and line of each; also where a file
 * cannot be read.
 * @example
 * await loadPolicy(['config/downstreams.yaml', 'config/downstreams.prod.yaml']);
 */
export async function loadPolicy<Name extends string = string>(
  path: PolicyFiles,
  options?: { readonly env?: Environment | undefined },
): Promise<Policy<Name>> {
  const { policy } = await readPolicy(path, options?.env);
  return policy as Policy<Name>;
}

/** The same with the origin of every value. */
export async function readPolicy(path: PolicyFiles, env: Environment = process.env): Promise<ReadPolicy> {
  return composePolicy(await readTexts(await filesOf(path)), env);
}

/** The names of the files, as they were given. */
export async function filesOf(path: PolicyFiles): Promise<string[]> {
  // Imported here, so that whoever passes an object needs neither Node nor the YAML parser.
  const { fileURLToPath } = await import('node:url');
  const paths = typeof path === 'string' || path instanceof URL ? [path] : [...path];
  if (paths.length === 0) throw new PolicyError([{ path: 'policy', message: 'expected a file, found an empty list' }]);
  return paths.map((one) => (typeof one === 'string' ? one : fileURLToPath(one)));
}

/** @throws {PolicyError} that names every file that cannot be read. */
export async function readTexts(files: readonly string[]): Promise<PolicyText[]> {
  const { readFile } = await import('node:fs/promises');
  const read = await Promise.allSettled(files.map((file) => readFile(file, 'utf8')));
  const problems = read.flatMap((result, i): PolicyProblem[] =>
    result.status === 'fulfilled' ? [] : [{ path: files[i]!, message: unreadable(result.reason) }],
  );
  if (problems.length > 0) throw new PolicyError(problems, 'policy');
  return read.map((result, i) => ({ file: files[i]!, text: result.status === 'fulfilled' ? result.value : '' }));
}

function unreadable(reason: unknown): string {
  const { code } = reason as { code?: unknown };
  if (code === 'ENOENT') return 'there is no such file';
  if (code === 'EISDIR') return 'this is a directory, not a file';
  return `the file cannot be read (${String(code)})`;
}

/** The policy that texts make, the first one being the base. @throws {PolicyError} */
export async function composePolicy(texts: readonly PolicyText[], env: Environment): Promise<ReadPolicy> {
  const where = texts.map(({ file }) => file).join(' + ');
  const { policy, origins, problems } = layPolicies(await parseAll(texts, where));
  const lineOf = ({ file, line }: Origin): string => (texts.length === 1 ? `line ${line}` : `${file}:${line}`);
  let plan: PolicyPlan | undefined;
  const found = [...problems];
  try {
    plan = resolvePolicy(policy, { env, where });
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    found.push(...error.problems.map((problem) => withOrigin(problem, origins, lineOf)));
  }
  if (plan === undefined || found.length > 0) throw new PolicyError(found, where);
  const applied = applyEnvironment(policy, env);
  return { policy: deepFreeze(applied.policy) as Policy, plan, origins, sources: applied.sources };
}

async function parseAll(texts: readonly PolicyText[], where: string): Promise<Layer[]> {
  const { parsePolicy } = await import('./parse.ts');
  const problems: PolicyProblem[] = [];
  const layers = texts.flatMap(({ file, text }): Layer[] => {
    try {
      return [{ file, ...parsePolicy(text, file) }];
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      const inFile = texts.length === 1 ? '' : `${file}: `;
      problems.push(...error.problems.map((one) => ({ ...one, path: `${inFile}${one.path}` })));
      return [];
    }
  });
  if (problems.length > 0) throw new PolicyError(problems, where);
  return layers;
}
