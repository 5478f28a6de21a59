const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const DAY_NAME = '(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*';
const TIME = '(\\d{2}):(\\d{2}):(\\d{2})';
const FIXED = new RegExp(`^${DAY_NAME}, (\\d{1,2}) ([a-z]{3}) (\\d{4}) ${TIME} (?:gmt|utc)$`, 'i');
const DASHED = new RegExp(`^${DAY_NAME}, (\\d{1,2})-([a-z]{3})-(\\d{2}) ${TIME} (?:gmt|utc)$`, 'i');
const ASCTIME = new RegExp(`^${DAY_NAME} ([a-z]{3}) {1,2}(\\d{1,2}) ${TIME} (\\d{4})$`, 'i');

/**
 * Epoch milliseconds of an HTTP-date in any of its three forms, read as UTC; `undefined` for other text.
 * `nowMs` decides the century of a two-digit year (one more than 50 years ahead is in the past).
 * The platform's own date parser is not asked: it reads the form without a zone as local time.
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  const fixed = FIXED.exec(text);
  if (fixed !== null) return instant(Number(fixed[3]), fixed[2], fixed[1], fixed.slice(4));
  const asctime = ASCTIME.exec(text);
  if (asctime !== null) return instant(Number(asctime[6]), asctime[1], asctime[2], asctime.slice(3));
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
  dayText: string | undefined,
  time: readonly string[],
): number | undefined {
  const month = MONTHS.indexOf((monthName ?? '').toLowerCase());
  const day = Number(dayText);
  const [hour, minute, second] = time.map(Number) as [number, number, number];
  if (month < 0 || day < 1 || day > (MONTH_DAYS[month] ?? 0)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  return Date.UTC(year, month, day, hour, minute, second);
}
