import { type HintContext, type Moment, msUntil, parseMoment, splitList } from './moment.ts';

export type { HintContext } from './moment.ts';

/** A wait that the server named. */
export interface Hint {
  /** Milliseconds from now; finite, 0 or more. */
  readonly ms: number;
  /** What was unusual about it, in words that may go into an alert. */
  readonly note?: string;
}

/**
 * Reads `Retry-After`: seconds (whole or fractional, rounded up to the millisecond), a duration with units, or
 * a date. A number from 1e9 (1e11) on is an epoch in seconds (milliseconds). Of several values the longest
 * counts. `undefined` for what is no usable hint: negative, in the past, malformed. `0` is a value.
 */
export function parseRetryAfter(text: string, context: HintContext): Hint | undefined {
  return parseWait(text, 1_000, context);
}

/** Reads `Retry-After-Ms`: milliseconds, or an epoch in milliseconds from 1e11 on. */
export function parseRetryAfterMs(text: string, context: HintContext): Hint | undefined {
  return parseWait(text, 1, context);
}

/** Likewise for a header whose bare numbers are of `unitMs` milliseconds each. */
export function parseWait(text: string, unitMs: number, context: HintContext): Hint | undefined {
  return longestHint(
    splitList(text).map((part) => parseMoment(part, unitMs, context.wallNow)),
    context,
  );
}

/** The longest of several moments as a wait; what has passed is none. */
export function longestHint(moments: readonly (Moment | undefined)[], context: HintContext): Hint | undefined {
  let best: Hint | undefined;
  for (const moment of moments) {
    const hint = moment === undefined ? undefined : hintOf(moment, context);
    if (hint !== undefined && (best === undefined || hint.ms > best.ms)) best = hint;
  }
  return best;
}

function hintOf(moment: Moment, context: HintContext): Hint | undefined {
  const ms = msUntil(moment, context);
  if ('in' in moment) return { ms };
  if (!(ms > 0)) return undefined;
  return moment.note === undefined ? { ms } : { ms, note: moment.note };
}
