import { WAIT_HEADERS } from './dialects.ts';
import { safeWord } from './fields.ts';
import type { HeaderReader } from './headers.ts';
import { type HeaderLimit, limitsOf } from './limits.ts';
import { type HintContext, msUntil } from './moment.ts';
import { hintContextOf, limitNames, type ReadingContext } from './quota-headers.ts';
import { type Hint, longestHint, parseWait } from './retry-after.ts';

/** How long the server asked us to stay away, and where it said so. */
export interface FoundHint {
  readonly retryAfterMs: number;
  /** A header's name, with a remark where its form was unusual. Never its value. */
  readonly readFrom: string;
}

const WAIT_NAME = /retry-(?:after|pushback)/i;
const LAST_WORDS = /(?:^|-)retry-after(?:-(ms|millis|milliseconds|s|secs?|seconds|minutes|date|at|time))?$/;
const RETRY_AFTER = 'retry-after';

/**
 * The wait that the headers of a refused answer name: milliseconds first, then `Retry-After`, then its
 * relatives, then the reset of what is used up, the latest of several. `undefined` where none can be used.
 */
export function readHint(read: HeaderReader, { wallNow }: ReadingContext): FoundHint | undefined {
  const context = hintContextOf(read, wallNow);
  return waitIn(read, context) ?? resetIn(read, context);
}

/** Only what a header made for it names, no reset of a limit: what an overloaded server says. */
export function readWait(read: HeaderReader, { wallNow }: ReadingContext): FoundHint | undefined {
  return waitIn(read, hintContextOf(read, wallNow));
}

/** Milliseconds of every wait that a header made for it names, those too that a more exact one overrules. */
export function headerWaits(read: HeaderReader, { wallNow }: ReadingContext): readonly number[] {
  return ranked(read, hintContextOf(read, wallNow)).flatMap((found) =>
    found === undefined ? [] : [found.retryAfterMs],
  );
}

function waitIn(read: HeaderReader, context: HintContext): FoundHint | undefined {
  const [exact, plain, other] = ranked(read, context);
  return exact ?? plain ?? other;
}

/** The longest of each rank: milliseconds, `Retry-After`, its relatives. */
function ranked(read: HeaderReader, context: HintContext): readonly (FoundHint | undefined)[] {
  const names = read.matching?.(WAIT_NAME) ?? WAIT_HEADERS.map(({ name }) => name);
  const best: (FoundHint | undefined)[] = [undefined, undefined, undefined];
  for (const name of names) {
    const unitMs = unitOf(name);
    const text = unitMs === undefined ? undefined : read(name);
    if (unitMs === undefined || text === undefined) continue;
    const found = foundIn(name, parseWait(text, unitMs, context));
    const rank = unitMs === 1 ? 0 : name === RETRY_AFTER ? 1 : 2;
    best[rank] = longer(best[rank], found);
  }
  return best;
}

/** What a bare number counts; `undefined` for a name that only looks like one of these. */
function unitOf(name: string): number | undefined {
  const known = WAIT_HEADERS.find((header) => header.name === name);
  if (known !== undefined) return known.unitMs;
  const match = LAST_WORDS.exec(name);
  if (match === null) return undefined;
  if (match[1] === 'minutes') return 60_000;
  return match[1]?.startsWith('m') ? 1 : 1_000;
}

/**
 * Only a limit that is used up says when to come back: beside what remains, a reset is another limit's clock.
 * Where no count is sent at all, the reset of a refused answer is meant for the refusal.
 */
function resetIn(read: HeaderReader, context: HintContext): FoundHint | undefined {
  const limits = limitsOf(read, limitNames(read), context.wallNow);
  const spent = latestOf(limits.filter(isSpent), context);
  return spent ?? latestOf(limits.filter(isUncounted), context);
}

function isSpent({ remaining, refuses }: HeaderLimit): boolean {
  return refuses === true || (refuses === undefined && remaining !== undefined && remaining < 1);
}

function isUncounted({ remaining, refuses }: HeaderLimit): boolean {
  return refuses === undefined && remaining === undefined;
}

function latestOf(limits: readonly HeaderLimit[], context: HintContext): FoundHint | undefined {
  let best: FoundHint | undefined;
  for (const { reset, resetName } of limits) {
    if (reset === undefined || resetName === undefined || !(msUntil(reset, context) > 0)) continue;
    best = longer(best, foundIn(resetName, longestHint([reset], context)));
  }
  return best;
}

function foundIn(name: string, hint: Hint | undefined): FoundHint | undefined {
  if (hint === undefined) return undefined;
  const readFrom = safeWord(name) ?? RETRY_AFTER;
  return { retryAfterMs: hint.ms, readFrom: hint.note === undefined ? readFrom : `${readFrom} (${hint.note})` };
}

function longer(a: FoundHint | undefined, b: FoundHint | undefined): FoundHint | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.retryAfterMs > a.retryAfterMs ? b : a;
}
