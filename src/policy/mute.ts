import type { PolicyProblem } from '../base/errors.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import { complain, type Draft } from './draft.ts';

/** A mute that nobody would remember is refused. */
export const MOST_MUTE_DAYS = 90;
const DAY_MS = 86_400_000;

/** A day, or an instant with its zone. */
export const MUTE_PATTERN =
  /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:?\d{2}))?$/;
export const MUTE_FORM =
  'a day such as 2026-02-01 (to its end, UTC) or an instant with its zone such as 2026-02-01T08:00:00Z';

/** Epoch milliseconds at which a mute ends, a day being muted to its end (UTC); undefined for what is no date. */
export function muteEnd(text: string): number | undefined {
  if (!MUTE_PATTERN.test(text)) return undefined;
  const day = text.slice(0, 10);
  const start = Date.parse(`${day}T00:00:00Z`);
  // `Date.parse` takes the 31st of a month of 30 days for the 1st of the next.
  if (Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== day) return undefined;
  if (text.length === day.length) return start + DAY_MS;
  const zoned = text
    .slice(10)
    .toUpperCase()
    .replace(' ', 'T')
    .replace(/([+-]\d{2})(\d{2})$/, '$1:$2');
  const end = Date.parse(`${day}${zoned}`);
  return Number.isNaN(end) ? undefined : end;
}

/** `2026-02-01 08:00 UTC`. */
export function muteText(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** A mute that is over is none, and no problem: the same policy must load next month. */
export function planMute(draft: Draft, now: number): Pick<DownstreamPlan, 'mute'> {
  const { mute } = draft.options;
  if (mute === undefined || draft.broken.has('mute')) return {};
  const until = muteEnd(mute.until);
  const problem =
    until === undefined
      ? noDate(mute.until)
      : until > now + MOST_MUTE_DAYS * DAY_MS
        ? tooLong(mute.until, now)
        : undefined;
  if (problem !== undefined) complain(draft, { option: 'mute', inside: ['until'] }, [], problem);
  return until === undefined ? {} : { mute: { until, reason: mute.reason.trim() } };
}

function noDate(found: string): Omit<PolicyProblem, 'path'> {
  return { message: `there is no such date; expected ${MUTE_FORM}`, found, expected: MUTE_FORM };
}

function tooLong(found: string, now: number): Omit<PolicyProblem, 'path'> {
  // The last whole day that still ends in time.
  const latest = new Date(now + MOST_MUTE_DAYS * DAY_MS - DAY_MS).toISOString().slice(0, 10);
  return {
    message: `a mute lasts ${MOST_MUTE_DAYS} days at most: use ${latest} or an earlier day, and renew it if it is still needed`,
    found,
    expected: `${latest} or earlier`,
  };
}
