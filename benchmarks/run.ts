/**
 * `npm run bench`: every figure next to the peers', measured in the same run.
 *
 *   --quick          one round of small sizes: shows that everything runs, not how fast
 *   --only a,b       these rows only
 *   --rounds n       instead of each row's own number
 *   --out folder     instead of benchmarks/results (nothing is written by --quick without it)
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { machine } from './lib/machine.ts';
import { fullReport, type Report, summaryTable } from './lib/report.ts';
import type { Row } from './lib/row.ts';
import { type RowResult, runRow } from './lib/run-row.ts';
import { ROWS } from './rows/index.ts';

const ROOT = join(import.meta.dirname, '..');
/** Inside node_modules: peers are found from there, and nobody commits it. One per run: two may run at once. */
const BUILT = join(ROOT, 'node_modules', '.cache', `penstock-bench-${process.pid}`);

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
    out: { type: 'string' },
  },
});

/** Sources and benchmarks as plain JavaScript: a loader that compiles on the fly would sit in every measured process. */
function compile(): void {
  mkdirSync(BUILT, { recursive: true });
  execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', 'benchmarks', '--outDir', BUILT], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  writeFileSync(join(BUILT, 'package.json'), '{ "type": "module" }\n');
}

function chosen(): readonly Row[] {
  const names = values.only?.split(',');
  const unknown = names?.filter((name) => !ROWS.some(({ id }) => id === name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`no row ${unknown.join(', ')}; there are ${ROWS.map(({ id }) => id).join(', ')}`);
  return ROWS.filter(({ id, isLong }) => (names === undefined ? !(values.quick && isLong) : names.includes(id)));
}

function write(report: Report): void {
  const folder =
    values.out ?? (values.quick || values.only !== undefined ? undefined : join(ROOT, 'benchmarks', 'results'));
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  const stem = join(folder, `${report.machine.at.slice(0, 10)}-node-${report.machine.node.slice(1)}`);
  writeFileSync(`${stem}.json`, `${JSON.stringify(report, null, 1)}\n`);
  writeFileSync(`${stem}.md`, `${fullReport(report)}\n`);
  process.stdout.write(`\nwritten to ${stem}.md and .json\n`);
}

process.on('exit', () => rmSync(BUILT, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
compile();
const plan = {
  child: join(BUILT, 'benchmarks', 'lib', 'child.js'),
  entry: pathToFileURL(join(BUILT, 'src', 'index.js')).href,
  isQuick: values.quick,
  say: (line: string) => process.stdout.write(`${line}\n`),
  ...(values.rounds === undefined ? {} : { rounds: Number(values.rounds) }),
};
const from = performance.now();
const about = machine();
const rows: RowResult[] = [];
for (const row of chosen()) {
  plan.say(row.title);
  rows.push(await runRow(row, plan));
}
const report: Report = { schema: 1, machine: about, tookMs: performance.now() - from, rows };
process.stdout.write(`\n${summaryTable(report)}\n`);
write(report);

const failed = rows.flatMap(({ id, measured }) =>
  measured.filter(({ raw }) => raw.length === 0).map(({ name, failures }) => `${id}: ${name}: ${failures[0] ?? ''}`),
);
const isOff =
  !values.quick && rows.some(({ id, findings }) => id === 'calibration' && findings.some(({ isMet }) => !isMet));
if (isOff) process.stderr.write('\nthe instruments are off: do not believe the figures above\n');
if (failed.length > 0) process.stderr.write(`\nnot measured:\n${failed.join('\n')}\n`);
if (isOff || failed.length > 0) process.exitCode = 1;
