import type { QuotaReading } from '../base/verdict.ts';
import { REQUESTS } from '../base/words.ts';
import { KNOWN_LIMIT_NAMES } from './dialects.ts';
import type { HeaderReader } from './headers.ts';
import { type HeaderLimit, limitsOf } from './limits.ts';
import { type HintContext, msUntil } from './moment.ts';

/** What every reader of headers needs of its downstream. */
export interface ReadingContext {
  /** Epoch milliseconds of the local clock. */
  readonly wallNow: () => number;
}

/** Nothing was said; one list for all answers. */
const NONE: readonly QuotaReading[] = Object.freeze([]);
const LIMIT_NAME = /limit/i;
const LIMIT_NAME_OR_AGE = /limit|^age$/i;
/** Longer names are no names. */
const LONGEST_NAME = 64;
/** How many run at once is no number of starts. */
const CONCURRENT = 'concurrent-requests';

/**
 * Everything the headers say of the server's limits, one reading per limit; one frozen empty list where they
 * say nothing, or where a cache kept the answer (`Age`). A number that is unknown is left out.
 */
export function readQuotas(read: HeaderReader, { wallNow }: ReadingContext): readonly QuotaReading[] {
  // Listed with the others: to ask for a header that is not there takes longest.
  const listed = read.matching?.(LIMIT_NAME_OR_AGE);
  const hasAge = listed === undefined || listed.includes('age');
  const names = hasAge ? limitNames(read) : listed;
  if (names.length === 0) return NONE;
  const ageHeader = hasAge ? read('age') : undefined;
  if (isKept(ageHeader)) return NONE;
  const context = { wallNow, dateHeader: read('date'), ageHeader };
  const readings: QuotaReading[] = [];
  for (const limit of limitsOf(read, names, wallNow)) {
    const reading = readingOf(limit, context);
    if (reading !== undefined && !readings.some((other) => isSame(other, reading))) readings.push(reading);
  }
  return readings.length === 0 ? NONE : readings;
}

/** The names of headers that may speak of a limit. */
export function limitNames(read: HeaderReader): readonly string[] {
  return read.matching?.(LIMIT_NAME) ?? KNOWN_LIMIT_NAMES.filter((name) => read(name) !== undefined);
}

/** How instants in these headers are read. */
export function hintContextOf(read: HeaderReader, wallNow: () => number): HintContext {
  return { wallNow, dateHeader: read('date'), ageHeader: read('age') };
}

function isKept(age: string | undefined): boolean {
  return age !== undefined && !/^\s*0*\s*$/.test(age);
}

function readingOf(limit: HeaderLimit, context: HintContext): QuotaReading | undefined {
  const { remaining, windowMs } = limit;
  if (limit.unit === CONCURRENT) return undefined;
  // Less than one call per window is a rate in another guise: no number of permits.
  const most = limit.limit !== undefined && limit.limit >= 1 ? limit.limit : undefined;
  const saysNothing = most === undefined && remaining === undefined;
  if (saysNothing && (limit.isUnknown || limit.reset === undefined)) return undefined;
  const reading: Mutable<QuotaReading> = {};
  if (most !== undefined) reading.limit = most;
  if (remaining !== undefined) reading.remaining = remaining;
  if (limit.reset !== undefined) reading.resetMs = Math.max(0, msUntil(limit.reset, context));
  if (windowMs !== undefined) reading.windowMs = windowMs;
  reading.unit = limit.unit === REQUESTS ? REQUESTS : (named(limit.unit)?.toLowerCase() ?? 'unknown');
  const policy = limit.policy === undefined ? undefined : named(limit.policy);
  if (policy !== undefined) reading.policy = policy;
  return reading;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The server's own word, in characters that may go anywhere. */
function named(text: string | undefined): string | undefined {
  const safe = text
    ?.replaceAll(/[^\w .:/-]/g, '')
    .trim()
    .slice(0, LONGEST_NAME)
    .trim();
  return safe === '' ? undefined : safe;
}

function isSame(a: QuotaReading, b: QuotaReading): boolean {
  return (
    a.limit === b.limit &&
    a.remaining === b.remaining &&
    a.resetMs === b.resetMs &&
    a.windowMs === b.windowMs &&
    a.unit === b.unit &&
    a.policy === b.policy
  );
}
