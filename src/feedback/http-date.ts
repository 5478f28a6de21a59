const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const DAY_NAME = '(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}';
const MONTH = '(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)';
const TIME = '(\\d{2}):(\\d{2}):(\\d{2})';
const ZONE = '(?:gmt|utc|z|([+-]\\d{4}))';
const FIXED = new RegExp(`^(?:${DAY_NAME}, )?(\\d{1,2}) ${MONTH} (\\d{4}) ${TIME} ${ZONE}$`, 'i');
const DASHED = new RegExp(`^${DAY_NAME}, (\\d{1,2})-${MONTH}-(\\d{2}) ${TIME} ${ZONE}$`, 'i');
const ASCTIME = new RegExp(`^${DAY_NAME} ${MONTH} {1,2}(\\d{1,2}) ${TIME}(?: (?:gmt|utc))? (\\d{4})$`, 'i');
/** As JavaScript's `Date` prints itself; the name of the zone in brackets says nothing new. */
const PRINTED = new RegExp(`^${DAY_NAME} ${MONTH} (\\d{2}) (\\d{4}) ${TIME} gmt([+-]\\d{4})?(?: \\([^()]*\\))?$`, 'i');

/** A calendar date and a time of day in some zone. Months from 1. */
export interface CivilTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** `+0100`, `-07:00`, `+02`; none means UTC. */
  readonly offset?: string | undefined;
}

/**
 * Epoch milliseconds of an HTTP-date in any of its three forms, of the same with a numeric zone, or of a
 * JavaScript `Date` as text; what has no zone is UTC by definition. `undefined` for other text.
 * `nowMs` decides the century of a two-digit year (one more than 50 years ahead is in the past).
 * The platform's own date parser is not asked: it reads the form without a zone as local time.
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  const fixed = FIXED.exec(text);
  if (fixed !== null) return instant(Number(fixed[3]), fixed[2], fixed[1], fixed.slice(4));
  const asctime = ASCTIME.exec(text);
  if (asctime !== null) return instant(Number(asctime[6]), asctime[1], asctime[2], asctime.slice(3, 6));
  const printed = PRINTED.exec(text);
  if (printed !== null) return instant(Number(printed[3]), printed[1], printed[2], printed.slice(4));
  const dashed = DASHED.exec(text);
  if (dashed === null) return undefined;
  const thisYear = new Date(nowMs).getUTCFullYear();
  let year = Math.floor(thisYear / 100) * 100 + Number(dashed[3]);
  if (year > thisYear + 50) year -= 100;
  return instant(year, dashed[2], dashed[1], dashed.slice(4));
}

function instant(
  year: number,
  monthName: string | undefined,
  day: string | undefined,
  [hour, minute, second, offset]: readonly (string | undefined)[],
): number | undefined {
  return epochMs({
    year,
    month: MONTHS.indexOf((monthName ?? '').toLowerCase()) + 1,
    day: Number(day),
    hour: Number(hour),
    minute: Number(minute),
    second: Number(second),
    offset,
  });
}

/** Epoch milliseconds, or `undefined` for a day or a time that does not exist. A leap second counts as the next one. */
export function epochMs({ year, month, day, hour, minute, second, offset }: CivilTime): number | undefined {
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const offsetMs = parseOffset(offset);
  // `Date.UTC` takes a year below 100 for one of the last century.
  if (offsetMs === undefined || year < 100) return undefined;
  return Date.UTC(year, month - 1, day, hour, minute, second) - offsetMs;
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function daysOf(year: number, month: number): number {
  const isLeap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return isLeap ? 29 : (DAYS[month - 1] ?? 0);
}

function parseOffset(text: string | undefined): number | undefined {
  if (text === undefined) return 0;
  const match = /^([+-])(\d{2})(?::?(\d{2}))?$/.exec(text);
  if (match === null) return undefined;
  const hours = Number(match[2]);
  const minutes = Number(match[3] ?? 0);
  if (hours > 23 || minutes > 59) return undefined;
  return (match[1] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
