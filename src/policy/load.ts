import { PolicyError, type PolicyProblem } from '../base/errors.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import type { Policy } from './input.ts';
import type { Lines } from './parse.ts';
import { deepFreeze } from './paths.ts';
import { resolvePolicy } from './resolve.ts';

/**
 * Reads a policy from a YAML file, or a JSON file where the name ends in `.json`, with the
 * environment's overrides (`env`, default `process.env`) in place. The result is deep-frozen and
 * goes into `createDispatcher`. Names of downstreams are only known to the compiler where they are
 * given: `loadPolicy<DownstreamName>(path)`, with the type that `penstock types` writes.
 *
 * @throws {PolicyError} with every problem at once and the line of each; also where the file
 * cannot be read.
 */
export async function loadPolicy<Name extends string = string>(
  path: string | URL,
  options?: { readonly env?: Environment | undefined },
): Promise<Policy<Name>> {
  // Imported here, so that whoever passes an object needs neither Node nor the YAML parser.
  const { fileURLToPath } = await import('node:url');
  const { parsePolicy } = await import('./parse.ts');
  const file = typeof path === 'string' ? path : fileURLToPath(path);
  const text = await readText(file);
  const env = options?.env ?? process.env;
  const { policy, lines } = parsePolicy(text, file);
  try {
    resolvePolicy(policy, { env, where: file });
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new PolicyError(
      error.problems.map((problem) => withLine(problem, lines)),
      file,
    );
  }
  return deepFreeze(applyEnvironment(policy, env).policy) as Policy<Name>;
}

async function readText(file: string): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    const reason =
      code === 'ENOENT'
        ? 'there is no such file'
        : code === 'EISDIR'
          ? 'this is a directory, not a file'
          : `the file cannot be read (${String(code)})`;
    throw new PolicyError([{ path: file, message: reason }], 'policy');
  }
}

/** The line of the option, or of the nearest section around it that stands in the file. */
function withLine(problem: PolicyProblem, lines: Lines): PolicyProblem {
  let path = problem.path;
  while (path !== '') {
    const line = lines.get(path);
    if (line !== undefined) return { ...problem, message: `${problem.message} (line ${line})` };
    path = path.slice(0, Math.max(path.lastIndexOf('.'), path.lastIndexOf('['), 0));
  }
  return problem;
}
