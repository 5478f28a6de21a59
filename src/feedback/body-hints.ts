import { fold } from '../base/nearest.ts';
import { parseDurationText } from './duration-text.ts';
import { asNumber, property, shortened } from './fields.ts';
import type { HeaderReader } from './headers.ts';
import type { FoundHint } from './hint.ts';
import { parseWait } from './retry-after.ts';

/** A wait that an error, or a body, names in a property. */
export interface Candidate {
  readonly key: string;
  readonly value: unknown;
  /** What holds the property: its neighbours may tell the unit. */
  readonly node: object;
}

type Unit = 'ms' | 's' | 'by context' | 'span';

/** Names of properties without case, `_` and `-`, and the unit of a bare number in them. */
const UNITS: Readonly<Record<string, Unit>> = {
  retryafterms: 'ms',
  retryaftermillis: 'ms',
  retryaftermilliseconds: 'ms',
  retryafterinms: 'ms',
  retryafterinmilliseconds: 'ms',
  retryinms: 'ms',
  'penstock/retryafterms': 'ms',
  retryafterseconds: 's',
  retryafterinseconds: 's',
  retryaftersecs: 's',
  retryaftersec: 's',
  retryinseconds: 's',
  backoffseconds: 's',
  seconds: 's',
  retryafter: 'by context',
  // A bare number is what an SDK has chosen for itself: only a duration is the server's word.
  retrydelay: 'span',
  retryat: 's',
  retryafterdate: 's',
};

/** `seconds` counts beside this alone: everywhere else it is some duration. */
const FLOOD = 'errorMessage';

/** Whether a property may name a wait. `key` as it stands. */
export function isHintKey(key: string): boolean {
  return Object.hasOwn(UNITS, fold(key));
}

export interface BodyContext {
  readonly wallNow: () => number;
  /** The headers that came with it: their `Date` is what instants are read against. */
  readonly headers: HeaderReader | undefined;
  /** The wait that the headers name. */
  readonly headerMs: number | undefined;
  /** Waits of headers, the overruled among them: what repeats one of these is a copy, and no word of its own. */
  readonly copied: readonly number[];
}

/** The longest of the waits that the candidates name. */
export function longestOf(candidates: readonly Candidate[], context: BodyContext): FoundHint | undefined {
  let best: FoundHint | undefined;
  for (const candidate of candidates) {
    const ms = waitOf(candidate, context);
    if (ms === undefined || context.copied.includes(ms)) continue;
    if (best === undefined || ms > best.retryAfterMs) {
      best = { retryAfterMs: ms, readFrom: candidate.key };
    }
  }
  return best;
}

function waitOf({ key, value, node }: Candidate, context: BodyContext): number | undefined {
  if (key === 'throttleStatus') return refillOf(node);
  // LangChain has read the same headers, against the local clock.
  if (context.headerMs !== undefined && typeof property(node, 'rateLimitType') === 'string') return undefined;
  const unit = UNITS[fold(key)];
  if (fold(key) === 'seconds' && typeof property(node, FLOOD) !== 'string') return undefined;
  if (unit === 'span')
    return typeof value === 'string' ? parseDurationText(shortened(value).trim()) : durationOf(value);
  const isMs = unit === 'ms' || (unit === 'by context' && isMilliseconds(value, node, context));
  return parsed(value, isMs ? 1 : 1_000, context) ?? durationOf(value);
}

/**
 * A bare `retryAfter` is in seconds, as the header is, unless a neighbour says otherwise: beside the time
 * to a reset in milliseconds, or beside a header that names the same wait a thousand times smaller.
 */
function isMilliseconds(value: unknown, node: object, { headerMs }: BodyContext): boolean {
  const number = asNumber(value);
  if (number === undefined) return false;
  if (typeof property(node, 'timeToReset') === 'number') return true;
  return headerMs !== undefined && headerMs > 0 && Math.abs(number - headerMs) < 1_000 && number >= 1_000;
}

/** Read as a header would be: bounds, durations in words, epochs and dates have one home. */
function parsed(value: unknown, unitMs: number, { wallNow, headers }: BodyContext): number | undefined {
  const text = typeof value === 'string' ? shortened(value).trim() : numeral(value);
  if (text === undefined) return undefined;
  return parseWait(text, unitMs, { wallNow, dateHeader: headers?.('date'), ageHeader: headers?.('age') })?.ms;
}

function numeral(value: unknown): string | undefined {
  if (value === Number.POSITIVE_INFINITY) return String(Number.MAX_SAFE_INTEGER);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? undefined : value.toISOString();
  const number = asNumber(value);
  if (number === undefined || number < 0) return undefined;
  if (number >= Number.MAX_SAFE_INTEGER) return String(Number.MAX_SAFE_INTEGER);
  return number < 1e-6 ? number.toFixed(20) : String(number);
}

/** Milliseconds of `{ seconds, nanos }`. */
function durationOf(value: unknown): number | undefined {
  const seconds = asNumber(property(value, 'seconds'));
  const nanos = asNumber(property(value, 'nanos'));
  if (seconds === undefined && nanos === undefined) return undefined;
  return bounded((seconds ?? 0) * 1_000 + Math.ceil((nanos ?? 0) / 1e6));
}

/** Shopify: how long until the bucket of points holds what the query asked for. */
function refillOf(cost: object): number | undefined {
  const status = property(cost, 'throttleStatus');
  const asked = asNumber(property(cost, 'requestedQueryCost'));
  const available = asNumber(property(status, 'currentlyAvailable'));
  const rate = asNumber(property(status, 'restoreRate'));
  if (asked === undefined || available === undefined || rate === undefined || !(rate > 0)) return undefined;
  return asked > available ? bounded(((asked - available) / rate) * 1_000) : undefined;
}

/** Whole milliseconds, rounded up; what floating point adds to 7.05 · 1000 is no millisecond. */
function bounded(ms: number): number | undefined {
  if (!(ms >= 0)) return undefined;
  return Math.min(Math.ceil(ms - 1e-6), Number.MAX_SAFE_INTEGER);
}
