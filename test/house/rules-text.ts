/** A text file of the repository. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

export type TextRule = (files: readonly TextFile[]) => string[];

// Written in pieces, or this file would be its own first finding.
const REMINDERS = new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', 'HA' + 'CK'].join('|')})\\b`);
const SWITCHES = new RegExp(`\\b(?:it|test|describe)\\.(?:${'on' + 'ly'}|${'sk' + 'ip'})\\(|^\\s*${'debug' + 'ger'};`);
const MACHINES = new RegExp(
  `(?<![\\w.])/(?:${['wo' + 'rk', 'ro' + 'ot', 'ho' + 'me', 'Us' + 'ers'].join('|')})/|${'registry' + '\\.'}npm`,
);

/** What somebody meant to do later is an issue, not a comment. */
export const reminders: TextRule = (files) => matches(files, REMINDERS, 'a reminder left behind');

/** No test is switched off, or switches the others off; no breakpoint. */
export const switches: TextRule = (files) => matches(files, SWITCHES, 'a switch left behind');

/** Nothing names the machine it was written on. */
export const machines: TextRule = (files) => matches(files, MACHINES, 'names a machine');

function matches(files: readonly TextFile[], pattern: RegExp, finding: string): string[] {
  return files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1}: ${finding}: ${line.trim()}`] : [])),
  );
}
