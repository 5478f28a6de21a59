import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { PolicyError, type PolicyProblem } from '../base/errors.ts';
import { type Path, pathText } from './paths.ts';

/** Lines by path, as problems spell it. */
export type Lines = ReadonlyMap<string, number>;

/** JSON is read by the same parser: it knows lines, and says where a key stands twice. */
export function parsePolicy(text: string, file: string): { readonly policy: unknown; readonly lines: Lines } {
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
