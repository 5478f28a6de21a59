import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { PolicyError, type PolicyProblem } from '../base/errors.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import type { Policy } from './input.ts';
import { deepFreeze, type Path, pathText } from './paths.ts';
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

/** Lines by path, as problems spell it. */
type Lines = ReadonlyMap<string, number>;

/** JSON is read by the same parser: it knows lines, and says where a key stands twice. */
function parsePolicy(text: string, file: string): { readonly policy: unknown; readonly lines: Lines } {
  const counter = new LineCounter();
  const isJson = file.endsWith('.json');
  const document = parseDocument(isJson ? text.replaceAll('\t', ' ') : text, {
    lineCounter: counter,
    prettyErrors: false,
    schema: isJson ? 'json' : 'core',
  });
  const problems = [...document.errors, ...document.warnings].map((error): PolicyProblem => {
    const { line, col } = counter.linePos(error.pos[0]);
    return { path: `line ${line}, column ${col}`, message: error.message };
  });
  if (problems.length > 0) throw new PolicyError(problems, file);
  const lines = new Map<string, number>();
  collectLines(document.contents, [], counter, lines);
  return { policy: document.toJS(), lines };
}

function collectLines(node: unknown, path: Path, counter: LineCounter, lines: Map<string, number>): void {
  if (isMap(node)) {
    for (const item of node.items) {
      if (!isPair(item) || !isScalar(item.key)) continue;
      const inner = [...path, String(item.key.value)];
      noteLine(item.key as Node, inner, counter, lines);
      collectLines(item.value, inner, counter, lines);
    }
  } else if (isSeq(node)) {
    node.items.forEach((item, index) => {
      const inner = [...path, index];
      noteLine(item as Node, inner, counter, lines);
      collectLines(item, inner, counter, lines);
    });
  }
}

function noteLine(node: Node, path: Path, counter: LineCounter, lines: Map<string, number>): void {
  if (node.range) lines.set(pathText(path), counter.linePos(node.range[0]).line);
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
