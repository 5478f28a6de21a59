import { decimal, parseDurationText, VERY_LONG_MS } from './duration-text.ts';
import { epochMs, parseHttpDate } from './http-date.ts';

/** When something is to happen: so long after the answer, or at an instant. */
export type Moment =
  | { readonly in: number }
  | {
      /** Epoch milliseconds. */
      readonly at: number;
      /** How much later it may really be: what the form of the stamp cut off. */
      readonly cutMs: number;
      /** What was unusual about it, in words that may go into an alert. */
      readonly note?: string;
    };

/** What reading an instant as a wait needs. */
export interface HintContext {
  /** Epoch milliseconds of the local clock. */
  readonly wallNow: () => number;
  /** The response's own `Date`: instants are read against it, so that a wrong local clock does no harm. */
  readonly dateHeader?: string | undefined;
  /** The response's `Age`: where it is present, a cache has kept the answer and its `Date` is old. */
  readonly ageHeader?: string | undefined;
}

/** Nobody asks for a wait of 31 years: from here on a number of seconds is an epoch. */
export const EPOCH_SECONDS_FROM = 1e9;
/** From here on a number is an epoch in milliseconds. */
export const EPOCH_MS_FROM = 1e11;

const DAY_NAME = /^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*$/i;
const THOUSANDS = /^\d{1,3}(?:,\d{3})+$/;
const STAMP =
  /^(\d{4})-?(\d{2})-?(\d{2})[t ](\d{2}):?(\d{2})(?::?(\d{2})(?:\.(\d+))?)?(?: ?(z|utc|gmt|[+-]\d{2}(?::?\d{2})?)(?: [a-z]{1,5})?)?$/i;
const MINUTE_MS = 60_000;

/**
 * Reads one moment, whatever its form: a number of `unitMs` (an epoch from 1e9 seconds or 1e11 milliseconds
 * on), a duration (`6m0s`, `PT30S`, `00:01:30`), RFC 3339, an HTTP-date. `undefined` for anything else: signs,
 * exponents and half-understood text are rejected before a lenient parser could make a number of them.
 */
export function parseMoment(text: string, unitMs: number, wallNow: () => number): Moment | undefined {
  const trimmed = unquoted(text.trim());
  if (trimmed === '') return undefined;
  const ms = unitMs === 1 ? decimal(trimmed, 0) : decimal(trimmed, 3);
  if (ms !== undefined) return ofNumber(ms, unitMs);
  const duration = parseDurationText(trimmed);
  if (duration !== undefined) return { in: duration };
  const stamp = parseStamp(trimmed);
  if (stamp !== undefined) return stamp;
  const at = parseHttpDate(trimmed, wallNow());
  return at === undefined ? undefined : { at, cutMs: 0 };
}

/** `ms`: what was read, as if in seconds; of a unit of milliseconds, as it stands. */
function ofNumber(ms: number, unitMs: number): Moment {
  if (ms >= VERY_LONG_MS) return { in: VERY_LONG_MS };
  if (unitMs === 1) return ms >= EPOCH_MS_FROM ? { at: ms, cutMs: 0, note: NOTE_MS } : { in: ms };
  if (ms >= EPOCH_MS_FROM * 1_000) return { at: ms / 1_000, cutMs: 0, note: NOTE_MS };
  if (ms >= EPOCH_SECONDS_FROM * 1_000) return { at: ms, cutMs: 0, note: NOTE_SECONDS };
  return { in: Math.min(Math.ceil((ms / 1_000) * unitMs), VERY_LONG_MS) };
}

const NOTE_MS = 'read as an epoch in milliseconds';
const NOTE_SECONDS = 'read as an epoch in seconds';

/** RFC 3339 and its relatives: a space for the T, no seconds, an offset with or without a colon. */
function parseStamp(text: string): Moment | undefined {
  const match = STAMP.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute] = match.slice(1, 6).map(Number) as [number, number, number, number, number];
  const second = Number(match[6] ?? 0);
  const zone = match[8];
  const offset = zone !== undefined && /^[+-]/.test(zone) ? zone : undefined;
  const at = epochMs({ year, month, day, hour, minute, second, offset });
  if (at === undefined) return undefined;
  const fraction = decimal(`.${match[7] ?? '0'}`, 3) ?? 0;
  const cutMs = match[6] === undefined ? MINUTE_MS : 0;
  const stamp = { at: at + fraction, cutMs };
  return zone === undefined ? { ...stamp, note: 'without a zone, read as UTC' } : stamp;
}

/**
 * Milliseconds from the answer to the moment, rounded up; 0 or below for an instant that has passed. Of a stamp
 * whose seconds were cut off and that has passed within its minute, the end of that minute counts.
 */
export function msUntil(moment: Moment, context: HintContext): number {
  if ('in' in moment) return moment.in;
  const ms = Math.min(Math.ceil(moment.at - servedAt(context)), VERY_LONG_MS);
  return ms > 0 ? ms : ms + moment.cutMs;
}

function servedAt({ wallNow, dateHeader, ageHeader }: HintContext): number {
  const local = wallNow();
  if (dateHeader === undefined || (ageHeader !== undefined && ageHeader.trim() !== '')) return local;
  return parseHttpDate(dateHeader.trim(), local) ?? local;
}

/** The values of a list; a date holds a comma of its own, after its day name, and 1,000 is one number. */
export function splitList(text: string): string[] {
  const trimmed = text.trim();
  if (!trimmed.includes(',')) return [trimmed];
  if (THOUSANDS.test(trimmed)) return [trimmed.replaceAll(',', '')];
  const parts: string[] = [];
  for (const piece of trimmed.split(',')) {
    const last = parts.at(-1);
    if (last !== undefined && DAY_NAME.test(last)) parts[parts.length - 1] = `${last}, ${piece.trim()}`;
    else parts.push(piece.trim());
  }
  return parts;
}

function unquoted(text: string): string {
  return text.length > 1 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1).trim() : text;
}
