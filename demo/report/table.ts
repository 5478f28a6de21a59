import Table from 'cli-table3';
import type { Row } from '../contest.ts';
import { type Look, seconds } from './look.ts';

type Tone = 'good' | 'bad' | 'plain';
type Cell = readonly [text: string, tone: Tone];

interface Line {
  readonly label: string;
  readonly cell: (row: Row) => Cell;
}

const LINES: readonly Line[] = [
  { label: 'requests the agents sent', cell: (row) => [String(row.requests), 'plain'] },
  { label: 'answers of 429, to anybody', cell: (row) => harm(row.throttled) },
  { label: 'answers of 503, to anybody', cell: (row) => harm(row.unavailable) },
  { label: 'tickets answered', cell: (row) => share(row.tickets.answered, row.tickets.asked) },
  { label: 'calls the nightly sync lost', cell: (row) => lost(row.sync.lost, row.sync.asked) },
  { label: "customer's calls answered", cell: (row) => share(row.customer.answered, row.customer.asked) },
  { label: "customer's worst wait", cell: (row) => [seconds(row.customer.worstMs), 'plain'] },
  { label: 'time taken', cell: (row) => [seconds(row.tookMs), 'plain'] },
];

/** The contestants side by side, one column each. */
export function resultsTable(rows: readonly Row[], look: Look): string {
  const table = new Table({
    head: ['', ...rows.map((row) => look.bold(row.name))],
    chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
    colAligns: ['left', ...rows.map(() => 'right' as const)],
    // The library colours head and border by itself, terminal or not.
    style: { head: [], border: [] },
  });
  for (const line of LINES) table.push([line.label, ...rows.map((row) => painted(line.cell(row), look))]);
  return table.toString();
}

function painted([text, tone]: Cell, look: Look): string {
  if (tone === 'plain') return text;
  return tone === 'good' ? look.green(text) : look.red(text);
}

function harm(count: number): Cell {
  return [String(count), count === 0 ? 'good' : 'bad'];
}

function share(part: number, whole: number): Cell {
  return [`${part} of ${whole}`, part === whole ? 'good' : 'bad'];
}

function lost(part: number, whole: number): Cell {
  return [`${part} of ${whole}`, part === 0 ? 'good' : 'bad'];
}
