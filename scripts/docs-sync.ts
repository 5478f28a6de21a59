/**
 * Writes what documents take from the code and from the last benchmark between their markers:
 * `<!-- options:start -->` ... `<!-- options:end -->`, likewise `errors`, `waits`, `limits`, `bench`, `incidents`,
 * `hypotheses`, `codes`, `pushed`, `rules` and `profiles`. `--write` updates the files; without it the exit code says whether they are in step.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Class, parseSync } from 'oxc-parser';
import { machineLine, type Report, summaryTable } from '../benchmarks/lib/report.ts';
import * as errors from '../src/base/errors.ts';
import type { ProviderCode } from '../src/feedback/code-rows.ts';
import { PROVIDER_CODES } from '../src/feedback/codes.ts';
import { RULES } from '../src/feedback/diagnosis.ts';
import { DIALECTS, WAIT_HEADERS } from '../src/feedback/dialects.ts';
import type { QuotaInput } from '../src/policy/input.ts';
import { describeOptions } from '../src/policy/options.ts';
import { readQuota } from '../src/policy/quota.ts';
import { incidentLines } from './incident-table.ts';
import { type ProfileFile, profileFiles } from './profiles.ts';
import { PUSHED } from './sre/pushed.ts';
import { RULES as ALERT_RULES } from './sre/rules.ts';

const ROOT = join(import.meta.dirname, '..');
const RESULTS = join(ROOT, 'benchmarks', 'results');

const SECTIONS: Readonly<Record<string, () => string>> = {
  options: optionsTable,
  errors: errorsTable,
  waits: waitsTable,
  limits: limitsTable,
  bench: benchTable,
  incidents: incidentsTable,
  hypotheses: hypothesesTable,
  codes: codesTable,
  pushed: pushedTable,
  rules: rulesTable,
  profiles: profilesTable,
};

/** The text with every marked section as it should be now. Throws on a section that nobody can write. */
export function synced(text: string): string {
  return text.replaceAll(/<!-- (\w+):start -->[\s\S]*?<!-- \1:end -->/g, (_, name: string) => {
    const write = SECTIONS[name];
    if (write === undefined)
      throw new Error(`no section called ${name}; there are ${Object.keys(SECTIONS).join(', ')}`);
    return `<!-- ${name}:start -->\n\n${aligned(write())}\n\n<!-- ${name}:end -->`;
  });
}

/** Tables with columns of one width, as the formatter leaves them: both must be content with the same file. */
function aligned(text: string): string {
  return text.replaceAll(/(?:^\|.*\|\n?)+/gm, (found) => {
    const rows = found.trimEnd().split('\n').map(cellsOf);
    const widths = rows[0]?.map((_, at) => Math.max(3, ...rows.map((row) => row[at]?.length ?? 0))) ?? [];
    const lines = rows.map((row) => {
      const cells = row.map((cell, at) =>
        /^-+$/.test(cell) ? '-'.repeat(widths[at] ?? 3) : cell.padEnd(widths[at] ?? 3),
      );
      return `| ${cells.join(' | ')} |`;
    });
    return `${lines.join('\n')}${found.endsWith('\n') ? '\n' : ''}`;
  });
}

function cellsOf(row: string): string[] {
  return row
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** Documents that may carry markers, relative to the root. */
export function documents(): string[] {
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const pages = docs.filter((name) => name.endsWith('.md')).map((name) => join('docs', name));
  return ['README.md', ...pages].filter((name) => existsSync(join(ROOT, name)));
}

function profilesTable(): string {
  return table(
    ['profile', 'what it is', 'quota', 'in flight', 'hosts', 'where the quota was read'],
    profileFiles().map((file) => [
      `\`${file.name}\``,
      file.title,
      quotaCell(file),
      inFlight(file),
      hostsCell(file),
      readAt(file),
    ]),
  );
}

function quotaCell({ policy: { quota }, unpublished }: ProfileFile): string {
  if (quota === undefined) return 'none';
  const list = (Array.isArray(quota) ? quota : [quota]) as readonly QuotaInput[];
  const texts = list.map((one) => readQuota(one)?.text ?? '');
  return `${texts.join('<br>')}${unpublished.includes('quota') ? ' (unpublished)' : ''}`;
}

function inFlight({ policy: { maxConcurrent }, unpublished }: ProfileFile): string {
  if (maxConcurrent === undefined) return '';
  return `${maxConcurrent}${unpublished.includes('maxConcurrent') ? ' (unpublished)' : ''}`;
}

function hostsCell({ policy: { hosts = [] } }: ProfileFile): string {
  return hosts.map((host) => `\`${host}\``).join('<br>');
}

/** Addresses of all figures of the quota, with the day of each. */
function readAt({ figures }: ProfileFile): string {
  const rows = figures.filter(({ path }) => path.startsWith('quota'));
  const cells = rows.map(
    ({ source, date, read }) => `[${new URL(source).hostname}](${source}), ${date ?? `read ${read}`}`,
  );
  return [...new Set(cells)].join('<br>');
}

function optionsTable(): string {
  return table(
    ['option', 'default', 'meaning'],
    describeOptions().map((row) => [`\`${row.option}\``, row.default, row.meaning]),
  );
}

function hypothesesTable(): string {
  const rows = RULES.map(({ hypothesis, when }, at) => [String(at + 1), `\`${hypothesis}\``, when]);
  return table(
    ['order', 'hypothesis', 'evidence'],
    [...rows, [String(rows.length + 1), '`unknown`', 'None of these.']],
  );
}

/** Where the caller decides, the word of the class alone would mislead. */
const RETRYABLE: Readonly<Record<string, string>> = {
  DeadlineExceeded: 'yes; in phase `running` only if the call is idempotent',
};

function errorsTable(): string {
  const file = join(ROOT, 'src', 'base', 'errors.ts');
  const text = readFileSync(file, 'utf8');
  const { program, comments } = parseSync(file, text);
  const rows = program.body.flatMap((statement) => {
    const node = statement.type === 'ExportNamedDeclaration' ? statement.declaration : undefined;
    if (node?.type !== 'ClassDeclaration' || !isRefusal(node)) return [];
    const doc = comments.findLast((comment) => comment.end <= statement.start && comment.value.startsWith('*'));
    return [errorRow(node.id?.name ?? '', sentence(doc?.value ?? ''))];
  });
  return table(['class', 'code', 'retryable', 'when'], rows);
}

function isRefusal(node: Class): boolean {
  return node.superClass?.type === 'Identifier' && node.superClass.name === 'AdmissionError';
}

function errorRow(name: string, when: string): string[] {
  const made = makeError(name);
  return [`\`${name}\``, `\`${made.code}\``, RETRYABLE[name] ?? (made.retryable ? 'yes' : 'no'), when];
}

function makeError(name: string): errors.AdmissionError {
  if (name === 'PolicyError') return new errors.PolicyError([]);
  const type = (errors as unknown as Record<string, new (message: string, facts: object) => errors.AdmissionError>)[
    name
  ];
  if (type === undefined) throw new Error(`${name} is not exported`);
  return new type('', { downstream: '', phase: 'entry' });
}

function sentence(comment: string): string {
  return comment
    .replaceAll(/^\s*\*+ ?/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

function incidentsTable(): string {
  return table(['from', 'what comes', 'of a call from', 'hint', 'what the lane does', 'to'], incidentLines());
}

/** More fields than this are listed under the table. */
const MOST_FIELDS = 12;

function codesTable(): string {
  const groups = new Map<string, ProviderCode[]>();
  for (const row of PROVIDER_CODES) {
    const key = [row.provider, row.source, row.outcome].join('|');
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const rows = [...groups.values()].map((group) => {
    const { provider, outcome, at, beside = '', source } = group[0] as ProviderCode;
    const codes = group.map(({ code, within }) => (within ? `\`...${code}...\`` : `\`${code}\``)).join(', ');
    return [provider, outcome, codes, at.length > MOST_FIELDS ? 'those below' : quoted(at), beside, source];
  });
  const many = PROVIDER_CODES.find(({ at }) => at.length > MOST_FIELDS)?.at ?? [];
  const head = ['provider', 'means', 'codes', 'in', 'beside it', 'source'];
  return `${table(head, rows)}\n\nThe fields of what is read from any client: ${quoted(many)}.`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

const section = (alert: string): string => `[${alert}](#${alert.toLowerCase()})`;

function pushedTable(): string {
  const rows = Object.entries(PUSHED).map(([alert, { severity, says }]) => [section(alert), severity, says]);
  return table(['alert', 'severity', 'says'], rows);
}

function rulesTable(): string {
  const rows = ALERT_RULES.map(([alert, rule]) => [
    section(alert),
    rule.severity,
    rule.for ?? 'at once',
    rule.summary.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, '_$1_'),
  ]);
  return table(['alert', 'severity', 'after', 'says'], rows);
}

function waitsTable(): string {
  const rows = WAIT_HEADERS.map(({ name, unitMs, sentBy }) => [
    `\`${name}\``,
    unitMs === 1 ? 'milliseconds' : 'seconds',
    sentBy,
  ]);
  return table(['header', 'a bare number is in', 'sent by'], rows);
}

function limitsTable(): string {
  const rows = DIALECTS.map(({ names, resetIs, sentBy }) => [
    names.map((name) => `\`${name}\``).join(', '),
    resetIs,
    sentBy,
  ]);
  return table(['headers', 'the reset is', 'sent by'], rows);
}

function benchTable(): string {
  const last = lastReport();
  if (last === undefined) return 'No benchmark has been run yet: `npm run bench`.';
  const where = `[every figure, peers and raw values](benchmarks/results/${last.name}.md)`;
  return `${summaryTable(last.report)}\n\n${machineLine(last.report.machine)} \`npm run bench\` repeats it; ${where}.`;
}

/** The newest by the moment it was begun. */
function lastReport(): { name: string; report: Report } | undefined {
  const names = existsSync(RESULTS) ? readdirSync(RESULTS).filter((name) => name.endsWith('.json')) : [];
  return names
    .map((file) => ({
      name: file.replace(/\.json$/, ''),
      report: JSON.parse(readFileSync(join(RESULTS, file), 'utf8')) as Report,
    }))
    .sort((a, b) => (a.report.machine.at < b.report.machine.at ? -1 : 1))
    .at(-1);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const name of documents()) {
    const path = join(ROOT, name);
    const before = readFileSync(path, 'utf8');
    const after = synced(before);
    if (after === before) continue;
    if (process.argv.includes('--write')) writeFileSync(path, after);
    else process.exitCode = 1;
    process.stdout.write(`${name}: ${process.argv.includes('--write') ? 'written' : 'out of step (npm run docs)'}\n`);
  }
}
