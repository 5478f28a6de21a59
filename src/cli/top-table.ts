import { COLUMNS, type Column } from './top-columns.ts';
import type { Row } from './top-row.ts';
import { padded, widthOf } from './top-text.ts';

/** The columns in the order in which they are given up where there is no room: the last ones first. */
const NEEDED = [
  'name',
  'hold',
  'queue',
  'rate',
  'wait',
  'throttled',
  'refused',
  'last',
  'flight',
  'oldest',
  'expected',
  'limited',
];

/** The table in at most `width` columns: its title, then one line per row. */
export function tableLines(rows: readonly Row[], width: number): { title: string; lines: string[] } {
  const columns = chosen(
    width,
    rows.some(({ processes }) => processes > 1),
  );
  const cells = rows.map((row) => columns.map((column) => column.cell(row)));
  const widths = widthsOf(columns, cells, width);
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, i) => padded(text, widths[i] ?? 0, columns[i]?.isLeft !== true))
      .join(' ')
      .trimEnd();
  return { title: line(columns.map(({ title }) => title)), lines: cells.map(line) };
}

function chosen(width: number, withProcesses: boolean): Column[] {
  const [first, ...others] = NEEDED;
  const order = withProcesses ? [first, 'processes', ...others] : NEEDED;
  const taken = new Set<string>();
  let left = width + 1;
  for (const id of order) {
    const column = COLUMNS.find((one) => one.id === id);
    if (column === undefined) continue;
    left -= column.least + 1;
    if (left < 0 && taken.size > 0) break;
    taken.add(column.id);
  }
  return COLUMNS.filter(({ id }) => taken.has(id));
}

/** Every column as wide as its longest cell, as far as there is room; the name gives way to the others. */
function widthsOf(columns: readonly Column[], cells: readonly (readonly string[])[], width: number): number[] {
  const wanted = columns.map(({ title }, i) =>
    cells.reduce((most, row) => Math.max(most, widthOf(row[i] ?? '')), widthOf(title)),
  );
  const widths = columns.map(({ least, isLeft }, i) => (isLeft === true ? Math.min(least, wanted[i] ?? 0) : least));
  let left = width - widths.reduce((sum, one) => sum + one + 1, -1);
  const order = [...columns.keys()].sort((a, b) => rank(columns[a]) - rank(columns[b]));
  for (const i of order) {
    const more = Math.max(0, Math.min(left, (wanted[i] ?? 0) - (widths[i] ?? 0)));
    widths[i] = (widths[i] ?? 0) + more;
    left -= more;
  }
  // A terminal that has no room for a single column.
  if (columns.length === 1) widths[0] = Math.min(widths[0] ?? 0, width);
  return widths;
}

/** Numbers first: a shortened one is a wrong one. */
function rank(column: Column | undefined): number {
  if (column?.id === 'name') return 2;
  return column?.isLeft === true ? 1 : 0;
}
