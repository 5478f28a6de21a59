import { parseHttpDate } from './http-date.ts';

/** A wait that the server named. */
export interface Hint {
  /** Milliseconds from now; finite, 0 or more. */
  readonly ms: number;
  /** What was unusual about it, in words that may go into an alert. */
  readonly note?: string;
}

/** What a relative reading of an instant needs. */
export interface HintContext {
  /** Epoch milliseconds of the local clock. */
  readonly wallNow: () => number;
  /** The response's own `Date`: instants are read against it, so that a wrong local clock does no harm. */
  readonly dateHeader?: string | undefined;
  /** The response's `Age`: where it is present, a cache has kept the answer and its `Date` is old. */
  readonly ageHeader?: string | undefined;
}

const DECIMAL = /^(\d+)(?:\.(\d*))?$|^\.(\d+)$/;
const DAY_NAME = /^(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*$/i;

/** Nobody asks for a wait of 31 years: from here on a number of seconds is an epoch. */
const EPOCH_SECONDS_FROM = 1e9;
const EPOCH_MS_FROM = 1e11;

/** Stands for every wait too long to be a number. */
const VERY_LONG_MS = Number.MAX_SAFE_INTEGER;

/**
 * Reads `Retry-After`: seconds (whole or fractional, rounded up to the millisecond) or an HTTP-date.
 * A number from 1e9 (1e11) on is an epoch in seconds (milliseconds). Of several values the longest counts.
 * `undefined` for what is no usable hint: negative, in the past, malformed. `0` is a value.
 */
export function parseRetryAfter(text: string, context: HintContext): Hint | undefined {
  return longest(text, (part) => parseSeconds(part, context) ?? parseDate(part, context));
}

/** Reads `Retry-After-Ms`: milliseconds, or an epoch in milliseconds from 1e11 on. */
export function parseRetryAfterMs(text: string, context: HintContext): Hint | undefined {
  return longest(text, (part) => {
    const ms = decimal(part, 0);
    if (ms === undefined || ms >= VERY_LONG_MS) return veryLong(ms);
    return ms >= EPOCH_MS_FROM ? until(ms, context, 'read as an epoch in milliseconds') : { ms };
  });
}

function parseSeconds(text: string, context: HintContext): Hint | undefined {
  const ms = decimal(text, 3);
  if (ms === undefined || ms >= VERY_LONG_MS) return veryLong(ms);
  if (ms >= EPOCH_MS_FROM * 1_000) return until(ms / 1_000, context, 'read as an epoch in milliseconds');
  if (ms >= EPOCH_SECONDS_FROM * 1_000) return until(ms, context, 'read as an epoch in seconds');
  return { ms };
}

function veryLong(ms: number | undefined): Hint | undefined {
  return ms === undefined ? undefined : { ms: VERY_LONG_MS };
}

function parseDate(text: string, context: HintContext): Hint | undefined {
  const at = parseHttpDate(text, context.wallNow());
  return at === undefined ? undefined : until(at, context);
}

/** From an instant to a wait. One that is not in the future is no hint. */
function until(atMs: number, context: HintContext, note?: string): Hint | undefined {
  const local = context.wallNow();
  const isFresh = context.ageHeader === undefined || context.ageHeader.trim() === '';
  const served = isFresh ? parseHttpDate(context.dateHeader?.trim() ?? '', local) : undefined;
  const ms = Math.min(Math.ceil(atMs - (served ?? local)), VERY_LONG_MS);
  if (!(ms > 0)) return undefined;
  return note === undefined ? { ms } : { ms, note };
}

/**
 * A plain decimal number times 10^shift, rounded up to a whole number; no sign, exponent or hexadecimal.
 * Works on the digits: 0.0001 must not vanish, and 299.997 · 1000 must not gain a millisecond.
 */
function decimal(text: string, shift: number): number | undefined {
  const match = DECIMAL.exec(text);
  if (match === null) return undefined;
  const fraction = match[2] ?? match[3] ?? '';
  const whole = Number((match[1] ?? '0') + fraction.slice(0, shift).padEnd(shift, '0'));
  const rest = /[1-9]/.test(fraction.slice(shift)) ? 1 : 0;
  return Math.min(whole + rest, VERY_LONG_MS);
}

/** The longest usable value of a list; a date holds a comma of its own, after its day name. */
function longest(text: string, read: (part: string) => Hint | undefined): Hint | undefined {
  const parts: string[] = [];
  for (const piece of text.split(',')) {
    const last = parts.at(-1);
    if (last !== undefined && DAY_NAME.test(last)) parts[parts.length - 1] = `${last}, ${piece.trim()}`;
    else parts.push(piece.trim());
  }
  let best: Hint | undefined;
  for (const part of parts) {
    const hint = read(part);
    if (hint !== undefined && (best === undefined || hint.ms > best.ms)) best = hint;
  }
  return best;
}
