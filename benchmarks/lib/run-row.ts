import { execFile } from 'node:child_process';
import { load } from './machine.ts';
import { type Finding, median, type Row, type Sample, type Variant } from './row.ts';

/** Longer than this, a variant counts as one that does not finish. */
const MOST_MS = 120_000;
const FLAGS = ['--expose-gc', '--max-old-space-size=12288', '--no-warnings'];

export interface Measured {
  readonly name: string;
  readonly role: Variant['role'];
  readonly note: string;
  /** Nothing where no round succeeded. */
  readonly median?: Sample;
  readonly raw: readonly Sample[];
  readonly failures: readonly string[];
}

export interface RowResult {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly target: string;
  readonly rounds: number;
  /** Of the machine, in the minute before this row. */
  readonly load: number;
  readonly measured: readonly Measured[];
  readonly findings: readonly Finding[];
}

export interface Plan {
  readonly child: string;
  readonly entry: string;
  readonly isQuick: boolean;
  readonly rounds?: number;
  readonly say: (line: string) => void;
}

/** Runs a row: every variant once per round, each in a fresh process, the order turned each round. */
export async function runRow(row: Row, plan: Plan): Promise<RowResult> {
  const raw = new Map<string, Sample[]>(row.variants.map(({ name }) => [name, []]));
  const failures = new Map<string, string[]>(row.variants.map(({ name }) => [name, []]));
  const rounds = plan.isQuick ? 1 : (plan.rounds ?? row.rounds);
  const loadBefore = load();
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? row.variants : [...row.variants].reverse();
    for (const { name } of order) {
      const outcome = await runOnce(row.id, name, plan);
      if (typeof outcome === 'string') failures.get(name)?.push(outcome);
      else raw.get(name)?.push(outcome);
      const told = typeof outcome === 'string' ? outcome : `${round3(outcome.value)} ${moreOf(outcome)}`;
      plan.say(`  ${row.id}  ${round + 1}/${rounds}  ${name}: ${told}`);
    }
  }
  const measured = row.variants.map(({ name, role, note }): Measured => {
    const samples = raw.get(name) ?? [];
    const summary = samples.length === 0 ? {} : { median: middle(samples) };
    return { name, role, note, ...summary, raw: samples, failures: failures.get(name) ?? [] };
  });
  const medians = new Map(measured.flatMap(({ name, median: of }) => (of === undefined ? [] : [[name, of] as const])));
  const { id, title, unit, target } = row;
  return { id, title, unit, target, rounds, load: loadBefore, measured, findings: row.judge(medians) };
}

/** The sample, or why there is none. */
function runOnce(rowId: string, name: string, plan: Plan): Promise<Sample | string> {
  const args = [...FLAGS, plan.child, rowId, name, plan.isQuick ? 'quick' : 'full'];
  const env = { ...process.env, PENSTOCK_ENTRY: plan.entry };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env, timeout: MOST_MS, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout) as Sample);
      else if (error.killed) resolve(`did not finish in ${MOST_MS / 1000} s`);
      else resolve(reasonOf(stderr));
    });
  });
}

function reasonOf(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  return (
    lines.find((line) => /^\w*(?:Error|Exceeded|Full|Timeout)\b.*:/.test(line)) ??
    lines.at(-1) ??
    'failed without a word'
  );
}

function middle(samples: readonly Sample[]): Sample {
  const value = median(samples.map((sample) => sample.value));
  const keys = Object.keys(samples[0]?.more ?? {});
  if (keys.length === 0) return { value };
  const more = keys.map((key) => [key, median(samples.map((sample) => sample.more?.[key] ?? Number.NaN))]);
  return { value, more: Object.fromEntries(more) };
}

function round3(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function moreOf({ more }: Sample): string {
  if (more === undefined) return '';
  return `(${Object.entries(more)
    .map(([key, value]) => `${key} ${round3(value)}`)
    .join(', ')})`;
}
