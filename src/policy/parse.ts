import { type Document, isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { PolicyError, type PolicyProblem } from '../base/errors.ts';
import { messageOf } from '../base/text.ts';
import { type Path, pathText } from './paths.ts';

/** Lines by path, as problems spell it. */
export type Lines = ReadonlyMap<string, number>;

/** One file, read. */
export interface Parsed {
  readonly policy: unknown;
  readonly lines: Lines;
  /** Paths with nothing behind their colon: YAML reads that as null, but nobody has written null. */
  readonly blanks: ReadonlySet<string>;
}

/** JSON is read by the same parser: it knows lines, and says where a key stands twice. */
export function parsePolicy(text: string, file: string): Parsed {
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
  const blanks = new Set<string>();
  collectLines(document.contents, [], counter, { lines, blanks });
  return { policy: plainOf(document, file), lines, blanks };
}

function plainOf(document: Document, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    // An alias of an alias of an alias: a few lines that are meant to become very many.
    throw new PolicyError([{ path: file, message: messageOf(error) }], file);
  }
}

interface Places {
  readonly lines: Map<string, number>;
  readonly blanks: Set<string>;
}

function collectLines(node: unknown, path: Path, counter: LineCounter, places: Places): void {
  if (isMap(node)) {
    for (const item of node.items) {
      if (!isPair(item) || !isScalar(item.key)) continue;
      const inner = [...path, String(item.key.value)];
      noteLine(item.key as Node, inner, counter, places.lines);
      if (isBlank(item.value)) places.blanks.add(pathText(inner));
      collectLines(item.value, inner, counter, places);
    }
  } else if (isSeq(node)) {
    node.items.forEach((item, index) => {
      const inner = [...path, index];
      noteLine(item as Node, inner, counter, places.lines);
      collectLines(item, inner, counter, places);
    });
  }
}

function isBlank(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null && (node.source ?? '') === '');
}

function noteLine(node: Node, path: Path, counter: LineCounter, lines: Map<string, number>): void {
  if (node.range) lines.set(pathText(path), counter.linePos(node.range[0]).line);
}
