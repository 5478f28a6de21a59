import type { Comment } from './parse.ts';

/** `penstock-allow: reason` in a comment. */
export interface Exemption {
  /** Where the comment stands. */
  readonly line: number;
  /** The lines that it is for. */
  readonly lines: readonly number[];
  /** Empty where none was given: then it exempts nothing. */
  readonly reason: string;
}

const MARK = /(?:^|[\s*])penstock-allow\b\s*:?[ \t]*(.*)/;

/** The exemptions of a file: for their own line, or, standing alone, for the next line that is no comment. */
export function exemptionsOf(comments: readonly Comment[], text: string): Exemption[] {
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/);
  return comments.flatMap((comment) => {
    const found = MARK.exec(comment.text);
    if (found === null) return [];
    const reason = (found[1] ?? '').trim();
    const line = comment.startLine;
    const isAlone = /^\s*\{?\s*\/[/*]/.test(lines[line - 1] ?? '') && standsAlone(comment, lines);
    return [{ line, lines: isAlone ? [line, nextCode(comment, comments, lines)] : [line, comment.endLine], reason }];
  });
}

/** Whether no code follows the comment on its last line. */
function standsAlone({ endLine }: Comment, lines: readonly string[]): boolean {
  const last = lines[endLine - 1] ?? '';
  const end = last.lastIndexOf('*/');
  return end < 0 || /^\s*\}?\s*$/.test(last.slice(end + 2));
}

function nextCode(comment: Comment, comments: readonly Comment[], lines: readonly string[]): number {
  let line = comment.endLine + 1;
  // A reason may take more than one line of comment.
  for (let more = true; more; ) {
    const next = comments.find(({ startLine }) => startLine === line);
    more = next !== undefined && /^\s*\/[/*]/.test(lines[line - 1] ?? '') && standsAlone(next, lines);
    if (more && next !== undefined) line = next.endLine + 1;
  }
  return line;
}
