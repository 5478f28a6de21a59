import { type ParserPlugin, parse } from '@babel/parser';
import { messageOf } from '../base/text.ts';
import type { Syntax } from './syntax.ts';

/** A comment of the file, without its marks. */
export interface Comment {
  readonly text: string;
  readonly start: number;
  readonly startLine: number;
  readonly endLine: number;
}

export interface Parsed {
  readonly program: Syntax;
  readonly comments: readonly Comment[];
  /** What the parser stumbled over and read on behind; undefined where there was nothing. */
  readonly stumbled: string | undefined;
}

/** File endings that the guard reads. */
export const ENDINGS = ['.ts', '.tsx', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs'] as const;

/** Rules that a program may break, and some old scripts do, without a doubt about what is written. */
const READ_ALL_THE_SAME =
  /^(?:Strict|Duplicate|VarRedeclaration|PrivateNameRedeclaration|InvalidPrivateFieldResolution)/;

/** The syntax tree of a file; throws where the text cannot be read at all. */
export function parseText(path: string, text: string): Parsed {
  const tree = parse(text, {
    sourceType: 'unambiguous',
    errorRecovery: true,
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
    allowSuperOutsideMethod: true,
    allowNewTargetOutsideFunction: true,
    allowUndeclaredExports: true,
    plugins: pluginsFor(path, text),
  });
  const first = tree.errors?.find(({ reasonCode }) => !READ_ALL_THE_SAME.test(reasonCode));
  return {
    program: tree.program as unknown as Syntax,
    comments: (tree.comments ?? []).map(({ value, start, loc }) => ({
      text: value,
      start: start ?? 0,
      startLine: loc?.start.line ?? 1,
      endLine: loc?.end.line ?? 1,
    })),
    stumbled: first === undefined ? undefined : problemOf(first),
  };
}

/** What the parser says, with a column that counts from 1 as all others do. */
export function problemOf(error: unknown): string {
  if (error instanceof RangeError) return 'it is nested too deep';
  return messageOf(error).replace(/\((\d+):(\d+)\)$/, (_, line, column) => `(${line}:${Number(column) + 1})`);
}

function pluginsFor(path: string, text: string): ParserPlugin[] {
  // The older decorators are the ones that may stand at parameters, as Nest and Angular write them.
  const always: ParserPlugin[] = [
    'decorators-legacy',
    'decoratorAutoAccessors',
    'explicitResourceManagement',
    'importAttributes',
  ];
  if (/\.[cm]?ts$/.test(path)) return ['typescript', ...always];
  if (path.endsWith('.tsx')) return ['typescript', 'jsx', ...always];
  return /@flow\b/.test(text.slice(0, 2_000)) ? ['flow', 'jsx', ...always] : ['jsx', ...always];
}
