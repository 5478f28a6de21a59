import type { Row } from '../contest.ts';
import type { Look } from './look.ts';

const UPPER_MS = [100, 500, 1_000, 2_000, 4_000, 8_000, 16_000, Number.POSITIVE_INFINITY];
const BAR_WIDTH = 14;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

export interface Bin {
  readonly label: string;
  readonly count: number;
}

/** How many of `waitsMs` fall into each bin; a wait equal to an upper bound belongs to the bin below it. */
export function binsOf(waitsMs: readonly number[]): Bin[] {
  return UPPER_MS.map((upper, i) => {
    const lower = UPPER_MS[i - 1] ?? Number.NEGATIVE_INFINITY;
    const count = waitsMs.filter((wait) => wait > lower && wait <= upper).length;
    const label = upper === Number.POSITIVE_INFINITY ? `over ${lower / 1_000} s` : `up to ${upper / 1_000} s`;
    return { label, count };
  });
}

/** How long tickets waited for their answers: a column of bars for each contestant, all to one scale. */
export function waitHistogram(rows: readonly Row[], look: Look): string {
  const columns = rows.map((row) => [
    ...binsOf(row.waitsMs),
    { label: 'no answer', count: row.tickets.asked - row.tickets.answered },
  ]);
  const most = Math.max(1, ...columns.flat().map((bin) => bin.count));
  const labels = columns[0]?.map((bin) => bin.label) ?? [];
  const width = Math.max(BAR_WIDTH + 5, ...rows.map((row) => row.name.length)) + 2;
  const head = `  ${' '.repeat(12)}${rows.map((row) => look.bold(row.name.padEnd(width))).join('')}`;
  const lines = labels.map((label, i) => {
    const isLoss = label === 'no answer';
    const cells = columns.map((bins) => {
      const count = bins[i]?.count ?? 0;
      const drawn = bar(count / most, BAR_WIDTH);
      const text = count === 0 ? look.dim('·') : `${isLoss ? look.red(drawn) : look.cyan(drawn)} ${count}`;
      const shown = count === 0 ? 1 : drawn.length + 1 + String(count).length;
      return text + ' '.repeat(Math.max(0, width - shown));
    });
    return `  ${label.padEnd(12)}${cells.join('')}`.trimEnd();
  });
  return [head.trimEnd(), ...lines].join('\n');
}

/** A bar of `share` of `width` columns, in eighths; anything above nothing shows. */
export function bar(share: number, width: number): string {
  const eighths = Math.max(share > 0 ? 1 : 0, Math.round(share * width * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}
