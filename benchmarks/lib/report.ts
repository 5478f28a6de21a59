import type { Machine } from './machine.ts';
import type { Finding, Sample } from './row.ts';
import type { Measured, RowResult } from './run-row.ts';

export interface Report {
  readonly schema: 1;
  readonly machine: Machine;
  readonly tookMs: number;
  readonly rows: readonly RowResult[];
}

/** The whole report: every variant, median and raw values, every target, met or missed. */
export function fullReport(report: Report): string {
  return [
    `# Benchmark, ${report.machine.at.slice(0, 10)}`,
    '',
    machineLine(report.machine),
    `Every variant ran in a process of its own, in turned order from round to round; figures are medians, raw values follow. Took ${Math.round(report.tookMs / 60_000)} min.`,
    '',
    summaryTable(report),
    '',
    ...report.rows.flatMap(rowSection),
  ].join('\n');
}

/** One line per target, for the README. */
export function summaryTable(report: Report): string {
  const lines = report.rows
    .filter(({ id }) => id !== 'calibration')
    .flatMap((row) =>
      row.findings.length === 0
        ? [`| ${row.title} | not measured | ${row.target} | |`]
        : row.findings.map((finding) => summaryLine(row, finding)),
    );
  return ['| what | Penstock | target | |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

/** CPU, Node, load and date of a report in one sentence. */
export function machineLine({ at, cpu, cpus, node, platform, memoryGb, load }: Machine): string {
  return `${cpu}, ${cpus} CPUs, ${memoryGb} GB, ${platform}, Node ${node}, load ${load} before the first run, ${at.slice(0, 10)}.`;
}

function summaryLine(row: RowResult, finding: Finding): string {
  const what = `${row.title}: ${finding.what}`;
  const against = finding.against === undefined ? '' : ` (${finding.against})`;
  const isFloor = finding.what.startsWith('share');
  const target = `${isFloor ? '≥' : '≤'} ${figure(finding.limit, finding.unit)}${against}`;
  return `| ${what} | ${figure(finding.ours, finding.unit)} | ${target} | ${verdict(finding)} |`;
}

function verdict({ isMet, ours, limit }: Finding): string {
  if (isMet) return 'met';
  return `**missed** by ${Math.abs(Math.round((ours / limit - 1) * 1000) / 10)} %`;
}

function rowSection(row: RowResult): string[] {
  const keys = [...new Set(row.measured.flatMap(({ median }) => Object.keys(median?.more ?? {})))];
  const head = ['variant', row.unit, ...keys, 'raw values', 'how'];
  return [
    `## ${row.title}`,
    '',
    `Target: ${row.target}. ${row.rounds} round${row.rounds === 1 ? '' : 's'}, load before ${row.load}.`,
    '',
    tableLine(head),
    tableLine(head.map(() => '---')),
    ...row.measured.map((one) => measuredLine(one, keys)),
    '',
  ];
}

function measuredLine({ name, role, note, median, raw, failures }: Measured, keys: readonly string[]): string {
  const shown = role === 'ours' ? `**${name}**` : name;
  const cells = [medianOf(median), ...keys.map((key) => number(median?.more?.[key]))];
  const rawValues = [...raw.map(({ value }) => number(value)), ...failures.map((failure) => `(${failure})`)];
  return tableLine([shown, ...cells, rawValues.join(', '), role === 'peer' ? note : `${note} (${role})`]);
}

function medianOf(sample: Sample | undefined): string {
  return sample === undefined ? 'failed' : number(sample.value);
}

function tableLine(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function figure(value: number, unit: string): string {
  if (unit === 'ns' && Math.abs(value) >= 1000) return `${number(value / 1000)} µs`;
  return unit === '' ? number(value) : `${number(value)} ${unit}`;
}

function number(value: number | undefined): string {
  if (value === undefined) return '';
  const rounded = Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
  return rounded.toLocaleString('en');
}
