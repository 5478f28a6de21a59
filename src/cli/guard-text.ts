import { styleText } from 'node:util';
import type { FileReport, Finding } from '../guard/report.ts';

/** What was found, and in how much. */
export interface GuardReport {
  readonly files: readonly (FileReport & { readonly file: string })[];
  readonly read: number;
  readonly tests: number;
  readonly allowed: number;
  /** Patterns of --allow that mean no file. */
  readonly unusedAllow: readonly string[];
}

const WIDTH = 80;
type Style = Parameters<typeof styleText>[0];
type Paint = (style: Style, text: string) => string;

/** The report for people, at most 80 columns where paths allow it. */
export function asText(report: GuardReport, hasColour: boolean): string {
  // It has been asked already whether there is colour, and of the stream that this goes to.
  const paint: Paint = (style, text) => (hasColour ? styleText(style, text, { validateStream: false }) : text);
  return `${[...groups(report, paint), ...problems(report, paint), ...notes(report), summary(report, paint)].join('\n')}\n`;
}

/** The report as one JSON document. */
export function asJson({ files, read, tests, allowed, unusedAllow }: GuardReport): object {
  const placed = (list: (file: FileReport) => readonly object[]) =>
    files.flatMap((one) => list(one).map((finding) => ({ file: one.file, ...finding })));
  return {
    schema: 1,
    read,
    tests,
    allowed,
    findings: placed(({ findings }) => findings),
    exempted: placed(({ exempted }) => exempted),
    problems: placed(({ problem }) => (problem === undefined ? [] : [{ problem }])),
    unusedExemptions: placed(({ unused }) => unused.map((line) => ({ line }))),
    unusedAllow,
  };
}

/** What has the same fix stands together, and the fix below it once. */
function groups({ files }: GuardReport, paint: Paint): string[] {
  const byFix = new Map<string, (Finding & { file: string })[]>();
  for (const { file, findings } of files) {
    for (const finding of findings) byFix.set(finding.fix, [...(byFix.get(finding.fix) ?? []), { file, ...finding }]);
  }
  return [...byFix].flatMap(([fix, found]) => [
    ...found.flatMap((one) => row(one, paint)),
    ...wrapped(`Fix: ${fix}.`, '  ').map((line) => paint('dim', line)),
    '',
  ]);
}

function row({ file, line, column, what, problem }: Finding & { file: string }, paint: Paint): string[] {
  const where = `${file}:${line}:${column}`;
  const said = `${what}  ${problem}.`;
  if (where.length + 2 + said.length <= WIDTH) return [`${paint('bold', where)}  ${said}`];
  return [paint('bold', where), ...wrapped(said, '    ')];
}

function problems({ files }: GuardReport, paint: Paint): string[] {
  const told = files.flatMap(({ file, problem }) =>
    problem === undefined ? [] : [paint('bold', file), ...wrapped(`could not be read to its end: ${problem}`, '    ')],
  );
  return told.length === 0 ? [] : [...told, ''];
}

function notes({ files, unusedAllow }: GuardReport): string[] {
  const told = [
    ...unusedAllow.map((pattern) => `Note: --allow ${pattern} means no file that was read.`),
    ...files.flatMap(({ file, unused }) =>
      unused.map((line) => `Note: ${file}:${line}  penstock-allow exempts nothing here.`),
    ),
  ];
  return told.length === 0 ? [] : [...told, ''];
}

function summary({ files, read, tests, allowed }: GuardReport, paint: Paint): string {
  const found = files.reduce((sum, { findings }) => sum + findings.length, 0);
  const inFiles = files.filter(({ findings }) => findings.length > 0).length;
  const exempted = files.reduce((sum, one) => sum + one.exempted.length, 0);
  const unread = files.filter(({ problem }) => problem !== undefined).length;
  const head =
    found === 0
      ? `Nothing passes by the gate: ${count(read, 'file')} read`
      : `${count(found, 'place')} in ${count(inFiles, 'file')} ${found === 1 ? 'passes' : 'pass'} no gate; ${count(read, 'file')} read`;
  const rest = [
    ...(unread > 0 ? [`${count(unread, 'file')} not read to the end`] : []),
    ...(exempted > 0 ? [`${count(exempted, 'place')} exempted by a comment`] : []),
    ...(allowed > 0 ? [`${count(allowed, 'file')} allowed`] : []),
    ...(tests > 0 ? [`${count(tests, 'test file')} passed over`] : []),
  ];
  const lines = wrapped(`${[head, ...rest].join(', ')}.`, '');
  return lines.map((line) => paint(found > 0 ? 'red' : 'bold', line)).join('\n');
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function wrapped(text: string, indent: string): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > WIDTH) {
      lines.push(`${indent}${line}`);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, `${indent}${line}`];
}
