import { formatDuration } from '../base/duration.ts';
import { rateText, shortCount } from './top-numbers.ts';
import type { Row } from './top-row.ts';
import { clean } from './top-text.ts';

/** `trouble`: calls are refused, held or throttled. `watch`: they wait, or the lane is not as usual. */
export type Level = 'trouble' | 'watch' | 'fine';

/** What is the matter with a downstream, in words: what, until when, and what to do. */
export interface Finding {
  readonly level: Level;
  readonly text: string;
}

/** With less to wait than this a queue is how a lane paces itself, and no news. */
const LONG_WAIT_MS = 5_000;
/** From this share of the sized rate on, more calls come than may start. */
const FULL = 0.9;

/** How a row stands. */
export function levelOf(row: Row): Level {
  const isTrouble =
    (row.hold !== undefined && row.mode === undefined) ||
    row.throttled > 0 ||
    row.refused > 0 ||
    row.orphaned > 0 ||
    row.overdue > 0;
  if (isTrouble) return 'trouble';
  const isSlow = row.queued > 0 && Math.max(row.expectedWaitMs, row.oldestWaitMs) >= LONG_WAIT_MS;
  return isSlow || row.warmLeftMs > 0 || row.mode !== undefined || isOversized(row) ? 'watch' : 'fine';
}

/** One sentence or a few for a row that is not fine. */
export function findingOf(row: Row, clock: (epochMs: number) => string): Finding | undefined {
  const level = levelOf(row);
  if (level === 'fine') return undefined;
  const facts = [held(row, clock), throttled(row), refused(row), waiting(row), stuck(row), unusual(row)];
  const text = [...facts, advice(row)].filter((fact) => fact !== undefined).join(' ');
  return { level, text: `${row.downstream}: ${text}` };
}

const WHY = {
  'retry-after': 'it asked us to wait (Retry-After)',
  'quota-reset': 'its own counter says that the quota is spent until then',
  cooldown: 'it throttled us and gave no time (cooldown)',
  operator: 'an operator paused it',
} as const;

function held(row: Row, clock: (epochMs: number) => string): string | undefined {
  const { hold, isPaused, holding, processes } = row;
  if (hold === undefined) return undefined;
  const why = WHY[hold.cause] ?? hold.cause;
  const reason = row.pauseReason === undefined ? '' : `, "${clean(row.pauseReason)}"`;
  const part = processes > 1 ? ` in ${holding} of ${processes} processes` : '';
  const real = isPaused ? 'new calls are refused' : 'nothing starts';
  // Another mode holds nothing back: its holds are only in the books.
  const effect = row.mode === undefined ? real : 'would hold calls back';
  return `${effect}${part} until ${clock(hold.until)}, ${left(hold.leftMs)}: ${why}${hold.cause === 'operator' ? reason : ''}.`;
}

function throttled({ throttled: count, lastThrottledAgoMs, inARow, hold }: Row): string | undefined {
  if (count === 0 && (hold === undefined || inARow === 0)) return undefined;
  const ago = lastThrottledAgoMs === undefined ? '' : `${coarse(lastThrottledAgoMs)} ago`;
  const row = inARow > 1 ? `; ${inARow} incidents in a row` : '';
  if (count === 0) return `the last 429 came ${ago || 'a while ago'}${row}.`;
  return `${plural(count, '429')} in the last minute${ago === '' ? '' : `, the last ${ago}`}${row}.`;
}

function refused({ refused: count, refusedByCode }: Row): string | undefined {
  if (count === 0) return undefined;
  const [code] = Object.keys(refusedByCode);
  return `${shortCount(count)} refused in the last minute${code === undefined ? '' : ` (since its start mostly ${code})`}.`;
}

function waiting({ queued, oldestWaitMs, expectedWaitMs, limitedBy, hold }: Row): string | undefined {
  if (queued === 0) return undefined;
  const by = limitedBy === undefined || hold !== undefined ? '' : ` (${limitedBy})`;
  const next = expectedWaitMs > 0 ? `; a new call would wait ${coarse(expectedWaitMs)}${by}` : '';
  return `${shortCount(queued)} ${queued === 1 ? 'waits' : 'wait'}, the oldest for ${coarse(oldestWaitMs)}${next}.`;
}

function stuck({ overdue, orphaned }: Row): string | undefined {
  const late = overdue === 0 ? [] : [`${plural(overdue, 'call')} past its end still ${overdue === 1 ? 'runs' : 'run'}`];
  const lost = orphaned === 0 ? [] : [`${orphaned} never settled, the place was given back`];
  return late.length + lost.length === 0 ? undefined : `${[...late, ...lost].join('; ')}.`;
}

function unusual(row: Row): string | undefined {
  const { mode, warmLeftMs, processes, sizedPerSecond = 0, declaredPerSecond = 0 } = row;
  if (mode === 'observe') return 'observe: nothing is held back, what it would do is only counted.';
  if (mode !== undefined) return `mode ${clean(mode)}: nothing is limited.`;
  if (isOversized(row)) {
    return `${processes} processes together are sized for ${rateText(sizedPerSecond)}, it allows ${rateText(declaredPerSecond)}: set workers: ${processes} in the policy.`;
  }
  return warmLeftMs > 0 ? `gentler pace for another ${coarse(warmLeftMs)} after a hold.` : undefined;
}

const REFUSED: Readonly<Record<string, string>> = {
  DEADLINE_EXCEEDED: 'Do: calls have less time than they would wait; give them more, ask for more quota, or call less.',
  RATE_LIMIT_QUEUE_FULL: 'Do: the queue is at maxQueueDepth; more calls come than its quota lets start.',
  RATE_LIMIT_QUEUE_TIMEOUT: 'Do: calls would wait for more than maxWait; more come than its quota lets start.',
  COST_EXCEEDS_QUOTA: 'Do: one call asks for more than the bucket ever holds; split it, or raise burst.',
};

/** What to do, or that nothing is to be done. */
function advice(row: Row): string | undefined {
  const { hold, throttled: throttles, limitedBy, startsPerSecond, sizedPerSecond } = row;
  if (hold?.cause === 'operator' && row.mode === undefined) return 'Do: resume() when the reason is gone.';
  if (row.isPaused && row.refused > 0 && row.mode === undefined) {
    return 'Do: callers have been told no and must come again then; resume() only if you know that it is over.';
  }
  if (throttles > 0 || (hold !== undefined && row.inARow > 0)) {
    return 'Do: nothing for the calls, it goes on by itself; the alert QuotaModelWrong says what to change in the policy.';
  }
  if (hold?.cause === 'quota-reset' && row.mode === undefined)
    return 'Do: nothing until then; if it comes often, ask for more quota or call less.';
  if (row.orphaned + row.overdue > 0) return 'Do: look for what hangs in those calls; the gate is not the cause.';
  if (hold !== undefined || row.mode !== undefined) return undefined;
  if (limitedBy === 'concurrency') return 'Do: find out why its answers are slow, before maxConcurrent is raised.';
  const isFull = sizedPerSecond !== undefined && startsPerSecond >= FULL * sizedPerSecond;
  if (isFull && (row.queued > 0 || row.refused > 0)) {
    return 'Do: more calls come than its quota lets start; ask for more quota, or call less.';
  }
  const [code = ''] = Object.keys(row.refusedByCode);
  return row.refused > 0 ? (REFUSED[code] ?? 'Do: look at the errors of those calls.') : undefined;
}

/** Every process takes the whole quota for its own. */
export function isOversized({ processes, sizedPerSecond, declaredPerSecond }: Row): boolean {
  if (processes < 2 || sizedPerSecond === undefined || declaredPerSecond === undefined) return false;
  return sizedPerSecond > declaredPerSecond * 1.000001;
}

function left(ms: number): string {
  return `${coarse(ms)} left`;
}

/** In whole seconds: nobody reads more at night. */
function coarse(ms: number): string {
  const step = ms < 1_000 ? 1 : ms < 120_000 ? 1_000 : 6_000;
  return formatDuration(Math.round(ms / step) * step);
}

function plural(count: number, what: string): string {
  return `${shortCount(count)} ${what}${count === 1 ? '' : 's'}`;
}
