import { formatDuration } from '../base/duration.ts';
import { COLUMNS, sorted, TROUBLE } from './top-columns.ts';
import { findingOf, type Level, levelOf } from './top-findings.ts';
import type { Fleet } from './top-fleet.ts';
import { tableLines } from './top-table.ts';
import { clean, padded, shorten, widthOf, wrap } from './top-text.ts';

/** How a line is meant; colour says it again, and is never the only one to. */
export type Tone = 'trouble' | 'watch' | 'dim' | 'title' | 'plain';

export interface Line {
  readonly text: string;
  readonly tone: Tone;
}

/** What the keys have set. */
export interface View {
  readonly sortKey: string;
  readonly isReversed: boolean;
  readonly isFrozen: boolean;
  readonly isHelp: boolean;
  /** Rows that are scrolled past. */
  readonly skipped: number;
}

export const FIRST_VIEW: View = { sortKey: TROUBLE, isReversed: false, isFrozen: false, isHelp: false, skipped: 0 };

/** The wall clock's time of day at an instant. */
export type TimeOfDay = (epochMs: number) => string;

const MOST_PROBLEMS = 3;
/** Rows that are shown however much there is to say about them. */
const LEAST_ROWS = 3;
const OLD_MS = 5_000;
/** Columns of text for people, where there is room for more. */
const READABLE = 110;
const LEVELS: readonly Level[] = ['trouble', 'watch'];

/** Everything, as plain lines: for `--once`. */
export function report(fleet: Fleet, width: number, now: number, time: TimeOfDay): Line[] {
  const rows = sorted(fleet.rows, TROUBLE, false);
  const { title, lines } = tableLines(rows, width);
  const table = rows.length === 0 ? [] : [line(title, 'title'), ...lines.map((text) => line(text))];
  const findings = findingLines(fleet, Math.min(width, READABLE), time);
  return [
    ...headLines(fleet, Math.min(width, READABLE), now, time),
    ...table,
    ...(findings.length > 0 ? [line(''), ...findings] : []),
  ];
}

/** One screen: never more lines than `height`, never more columns than `width`. */
export function screen(
  fleet: Fleet,
  view: View,
  size: { readonly width: number; readonly height: number },
  now: number,
  time: TimeOfDay,
): Line[] {
  const { width, height } = size;
  const head = headLines(fleet, width, now, time);
  const foot = line(footer(view, width), 'dim');
  const room = Math.max(0, height - head.length - 1);
  const body = view.isHelp ? helpLines(width) : bodyLines(fleet, view, width, room, time);
  const filled = [...body, ...Array.from({ length: Math.max(0, room - body.length) }, () => line(''))].slice(0, room);
  return [...head, ...filled, foot].slice(0, height).map(({ text, tone }) => line(shorten(text, width), tone));
}

/** How many rows there is room for beside what there is to say about them. */
function bodyLines(fleet: Fleet, view: View, width: number, room: number, time: TimeOfDay): Line[] {
  const rows = sorted(fleet.rows, view.sortKey, view.isReversed);
  if (rows.length === 0) return fleet.ageMs === undefined ? [] : [line('This process has no downstream.', 'dim')];
  const findings = findingLines(fleet, width, time);
  const forFindings = findings.length === 0 ? 0 : Math.min(findings.length + 1, Math.floor(room / 2));
  const forRows = Math.max(Math.min(rows.length, LEAST_ROWS), Math.min(rows.length, room - 1 - forFindings));
  const skipped = Math.min(view.skipped, rows.length - forRows);
  const shown = rows.slice(skipped, skipped + forRows);
  const { title, lines } = tableLines(rows, width);
  const more = rows.length - shown.length;
  const table = shown.map((row, i) => line(lines[skipped + i] ?? '', toneOf(levelOf(row))));
  const hidden = more > 0 ? [line(`  ${more} more: arrow keys`, 'dim')] : [];
  return [line(title, 'title'), ...table, ...hidden, ...(findings.length > 0 ? [line('')] : []), ...findings];
}

function headLines(fleet: Fleet, width: number, now: number, time: TimeOfDay): Line[] {
  const { names, policies, answers, alerts, ageMs, closed, rows } = fleet;
  const known = answers.filter(({ snapshots }) => snapshots.length > 0).length;
  const processes = answers.length > 1 ? `${known} of ${answers.length} processes` : '';
  const hash = policies.length > 1 ? `${policies.length} policies` : (policies[0]?.[0] ?? '');
  const policy = hash === '' || policies.length > 1 ? hash : `policy ${hash}`;
  const first = ['penstock top', names.slice(0, 3).join(', '), processes, policy].filter((text) => text !== '');
  const lines = [line(spread(first.join('  '), time(now), width), 'title')];
  if (ageMs !== undefined) {
    const counts = LEVELS.map((level) => rows.filter((row) => levelOf(row) === level).length);
    const state = `${counts[0]} of ${rows.length} in trouble, ${counts[1]} to watch`;
    const age = `read ${ageMs < 1_000 ? 'now' : `${formatDuration(Math.round(ageMs / 1_000) * 1_000)} ago`}`;
    const alert = `alerts: ${alerts.pending} pending, ${alerts.dropped} dropped`;
    const isBad = alerts.dropped > 0 || ageMs > OLD_MS;
    lines.push(line(spread(`${state}; ${alert}`, age, width), isBad ? 'trouble' : 'plain'));
  }
  const problems = answers.flatMap(({ url, problem, snapshots }) =>
    problem === undefined ? [] : [{ url, ...problem, isKnown: snapshots.length > 0 }],
  );
  for (const { url, text, forMs, isKnown } of problems.slice(0, MOST_PROBLEMS)) {
    const since = forMs < 1_000 ? '' : ` for ${formatDuration(Math.round(forMs / 1_000) * 1_000)}`;
    const shown = isKnown ? ' What is shown is what it said last.' : '';
    lines.push(
      ...wrap(`! ${clean(url)}${since}: ${text}${text.endsWith('?') ? '' : '.'}${shown}`, width, '  ').map((one) =>
        line(one, 'trouble'),
      ),
    );
  }
  if (problems.length > MOST_PROBLEMS) lines.push(line(`! and ${problems.length - MOST_PROBLEMS} more`, 'trouble'));
  if (closed > 0)
    lines.push(line(`! ${closed === 1 ? 'a dispatcher is' : `${closed} dispatchers are`} closed`, 'trouble'));
  if (policies.length > 1) {
    const list = policies.map(([one, count]) => `${one} in ${count}`).join(', ');
    lines.push(...wrap(`~ not all run the same policy: ${list}`, width, '  ').map((one) => line(one, 'watch')));
  }
  return lines;
}

/** What is the matter, the worst first, whatever the table is sorted by. */
function findingLines(fleet: Fleet, width: number, time: TimeOfDay): Line[] {
  return sorted(fleet.rows, TROUBLE, false).flatMap((row) => {
    const finding = findingOf(row, time);
    if (finding === undefined) return [];
    const mark = finding.level === 'trouble' ? '!' : '~';
    return wrap(`${mark} ${finding.text}`, width, '  ').map((text) => line(text, toneOf(finding.level)));
  });
}

function helpLines(width: number): Line[] {
  const keyed = COLUMNS.filter(({ key }) => key !== undefined).map(
    ({ key, title, what }) => `  ${key}  ${padded(title.trim(), 12)} ${what}`,
  );
  const others = [
    `  ${TROUBLE}  trouble      those in trouble first, as at the start`,
    '  i  turns the order round; so does the key of the column once more',
    'Others: space freezes, arrows PgUp PgDn Home End scroll, Ctrl-L draws anew,',
    'Ctrl-Z goes to the shell (fg comes back), q and Ctrl-C quit. Any key: back.',
  ];
  const text = [line('Keys: sort by', 'title'), ...[...keyed, ...others].map((one) => line(one))];
  return text.map(({ text: one, tone }) => line(shorten(one, width), tone));
}

function footer({ sortKey, isReversed, isFrozen }: View, width: number): string {
  const by = COLUMNS.find(({ key }) => key === sortKey)?.title.trim() ?? 'trouble';
  const sort = `sort: ${by}${isReversed ? ' reversed' : ''}`;
  const frozen = isFrozen ? 'FROZEN (space goes on)  ' : '';
  const long = `${frozen}${sort}   n u r w h t: sort  i: reverse  space: freeze  ?: help  q: quit`;
  return widthOf(long) <= width ? long : `${frozen}${sort}  ?: help  q: quit`;
}

/** One text at the left, one at the right; the left one gives way. */
function spread(left: string, right: string, width: number): string {
  const room = width - widthOf(right) - 2;
  if (room < 10) return shorten(left, width);
  return `${padded(left, room)}  ${right}`;
}

function toneOf(level: Level): Tone {
  return level === 'fine' ? 'plain' : level;
}

function line(text: string, tone: Tone = 'plain'): Line {
  return { text, tone };
}
