import { type Level, levelOf } from './top-findings.ts';
import { shortCount, shortDuration, usedOf } from './top-numbers.ts';
import type { Row } from './top-row.ts';

/** One column of the table. */
export interface Column {
  readonly id: string;
  /** The key that sorts by it. */
  readonly key?: string;
  readonly title: string;
  /** What it is in words, for the help. */
  readonly what: string;
  readonly cell: (row: Row) => string;
  /** Room that is kept for it, so that it does not jump. */
  readonly least: number;
  readonly isLeft?: boolean;
  /** What it is sorted by: the largest first, texts from the first. */
  readonly by?: (row: Row) => number | string;
}

const MARKS: Readonly<Record<Level, string>> = { trouble: '!', watch: '~', fine: ' ' };
const RANKS: Readonly<Record<Level, number>> = { trouble: 2, watch: 1, fine: 0 };
const NONE = '-';

/** The columns in the order in which they stand. */
export const COLUMNS: readonly Column[] = [
  {
    id: 'name',
    key: 'n',
    title: '  DOWNSTREAM',
    what: 'the downstream; ! trouble, ~ worth a look',
    cell: (row) => `${MARKS[levelOf(row)]} ${row.downstream}`,
    least: 12,
    isLeft: true,
    by: (row) => row.downstream,
  },
  {
    id: 'processes',
    title: 'PROCS',
    what: 'processes that are added up here',
    cell: (row) => String(row.processes),
    least: 5,
    by: (row) => row.processes,
  },
  {
    id: 'rate',
    key: 'r',
    title: 'USED/SIZED',
    what: 'starts of the last minute / what the policy allows',
    cell: (row) => usedOf(row.startsPerSecond, row.sizedPerSecond),
    least: 10,
    by: (row) => (row.sizedPerSecond === undefined ? 0 : row.startsPerSecond / row.sizedPerSecond),
  },
  {
    id: 'queue',
    key: 'u',
    title: 'QUEUE',
    what: 'calls that wait',
    cell: (row) => shortCount(row.queued),
    least: 5,
    by: (row) => row.queued,
  },
  {
    id: 'oldest',
    key: 'o',
    title: 'OLDEST',
    what: 'how long the first of them has waited',
    cell: (row) => (row.queued === 0 ? NONE : shortDuration(row.oldestWaitMs)),
    least: 6,
    by: (row) => row.oldestWaitMs,
  },
  {
    id: 'expected',
    key: 'e',
    title: 'EXPECT',
    what: 'what a new call would wait',
    cell: (row) => (row.expectedWaitMs > 0 ? shortDuration(row.expectedWaitMs) : NONE),
    least: 6,
    by: (row) => row.expectedWaitMs,
  },
  {
    id: 'flight',
    key: 'f',
    title: 'FLIGHT',
    what: 'calls in flight / that may be in flight',
    cell: (row) =>
      row.maxConcurrent === undefined
        ? shortCount(row.inFlight)
        : `${shortCount(row.inFlight)}/${shortCount(row.maxConcurrent)}`,
    least: 6,
    by: (row) => row.inFlight,
  },
  {
    id: 'wait',
    key: 'w',
    title: 'WAIT 50/95%',
    what: 'what 50 % and 95 % of the last minute waited at most',
    cell: (row) =>
      row.waitP95Ms === undefined ? NONE : `${shortDuration(row.waitP50Ms ?? 0)}/${shortDuration(row.waitP95Ms)}`,
    least: 11,
    by: (row) => row.waitP95Ms ?? -1,
  },
  {
    id: 'hold',
    key: 'h',
    title: 'HOLD',
    what: 'time left, and why; PAUSED: new calls are refused',
    cell: (row) => holdCell(row),
    least: 13,
    isLeft: true,
    by: (row) => row.hold?.leftMs ?? 0,
  },
  {
    id: 'throttled',
    key: 't',
    title: '429',
    what: '429s in the last minute',
    cell: (row) => shortCount(row.throttled),
    least: 3,
    by: (row) => row.throttled,
  },
  {
    id: 'last',
    key: 'l',
    title: 'LAST',
    what: 'how long ago the last 429 came',
    cell: (row) => (row.lastThrottledAgoMs === undefined ? NONE : shortDuration(row.lastThrottledAgoMs)),
    least: 4,
    by: (row) => -(row.lastThrottledAgoMs ?? Number.POSITIVE_INFINITY),
  },
  {
    id: 'refused',
    key: 'x',
    title: 'REF',
    what: 'calls that Penstock refused in the last minute',
    cell: (row) => shortCount(row.refused),
    least: 3,
    by: (row) => row.refused,
  },
  {
    id: 'limited',
    title: 'LIMITED BY',
    what: 'what a new call would wait for',
    cell: (row) => row.limitedBy ?? NONE,
    least: 11,
    isLeft: true,
  },
];

/** Sorted by trouble: the default. */
export const TROUBLE = 's';
export const SORT_KEYS: readonly string[] = [TROUBLE, ...COLUMNS.flatMap(({ key }) => key ?? [])];

/** Rows in the order of a key; equal ones by queue, then by name. */
export function sorted(rows: readonly Row[], key: string, isReversed: boolean): Row[] {
  const by = COLUMNS.find((column) => column.key === key)?.by ?? ((row: Row) => RANKS[levelOf(row)]);
  const turn = isReversed ? -1 : 1;
  return [...rows].sort(
    (a, b) => turn * compared(by(a), by(b)) || b.queued - a.queued || compared(a.downstream, b.downstream),
  );
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === 'string' || typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  return a === b ? 0 : b - a;
}

function holdCell({ hold, isPaused, mode, warmLeftMs }: Row): string {
  const parts = mode === undefined ? [] : [mode];
  // What matters most first: where there is no room it is the cause that is cut, and it stands below in words.
  if (hold !== undefined)
    parts.push(`${isPaused && mode === undefined ? 'PAUSED ' : ''}${shortDuration(hold.leftMs)} ${hold.cause}`);
  else if (warmLeftMs > 0) parts.push(`${shortDuration(warmLeftMs)} gentle`);
  return parts.length === 0 ? NONE : parts.join(' ');
}
