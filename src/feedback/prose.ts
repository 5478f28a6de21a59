/** What a sentence says of a limit. Read only where a user has asked for it: prose is nobody's contract. */
export interface Said {
  readonly outcome: 'throttled' | 'overloaded' | 'exhausted';
  readonly retryAfterMs?: number;
}

/** Longer texts are pages; what matters stands at the beginning. */
const LONGEST_TEXT = 4_000;

const THROTTLED = /\b(?:too many requests|rate[\s_-]?limit(?:ed|ing|s)?|throttl(?:ed|ing)|slow down)\b/i;
const OVERLOADED = /\b(?:overloaded|over capacity|at capacity)\b/i;

/** A number alone may be a parcel's: it is a status at the beginning, in brackets, or after a word for an answer. */
const BEFORE_STATUS =
  '(?:^\\W*|[([]|\\b(?:status|code|https?(?:/\\d(?:\\.\\d)?)?|error|returned|responded|answered|got|received|with)\\W{1,3}(?:an?\\s)?)';
const STATUS_429 = new RegExp(`${BEFORE_STATUS}429\\b`, 'i');
const STATUS_529 = new RegExp(`${BEFORE_STATUS}529\\b`, 'i');

const QUOTA =
  /\bquota\b.{0,40}\b(?:exceeded|exhausted|reached|used up)|\b(?:exceeded|exhausted|reached)\b.{0,40}\bquota\b/i;
const EXHAUSTED =
  /\binsufficient[\s_-]quota\b|\b(?:daily|monthly|per day|billing)\b.{0,40}\b(?:quota|limit)|\b(?:quota|limit)\b.{0,40}\b(?:per day|for today|this month)\b/i;

const UNIT_MS: readonly (readonly [start: RegExp, ms: number])[] = [
  [/^(?:ms|millis)/i, 1],
  [/^s/i, 1_000],
  [/^m/i, 60_000],
  [/^h/i, 3_600_000],
  [/^d/i, 86_400_000],
];
const AMOUNT =
  '(\\d+(?:\\.\\d+)?)\\s*(milliseconds?|millis|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\\b';
const PART = new RegExp(AMOUNT.replace('\\b', '(?![a-z])'), 'gi');
const SPAN = new RegExp(`(?:${AMOUNT.replace('\\b', '(?![a-z])')}[\\s,]*(?:and\\s+)?)+`, 'i');
const CUE = /(?<![a-z])(?:retry|try|again|wait|available|resets?|back)(?![a-z])/i;
const BARE = /retry[\s_-]?after(?:[\s_-]?(ms|seconds?|secs?))?["']?\s*[:=]?\s*(\d+(?:\.\d+)?)/i;

/** The refusal that a text states, with the wait that it names; `undefined` where it states none. */
export function readProse(whole: string): Said | undefined {
  const text = whole.slice(0, LONGEST_TEXT);
  const outcome = outcomeOf(text);
  if (outcome === undefined) return undefined;
  const ms = waitIn(text);
  return ms === undefined ? { outcome } : { outcome, retryAfterMs: ms };
}

function outcomeOf(text: string): Said['outcome'] | undefined {
  const isRefusal =
    THROTTLED.test(text) ||
    STATUS_429.test(text) ||
    QUOTA.test(text) ||
    /\blimit\b.{0,20}\b(?:exceeded|reached)\b/i.test(text);
  if (EXHAUSTED.test(text) && (isRefusal || /exceeded|exhausted|reached|insufficient/i.test(text))) return 'exhausted';
  if (isRefusal) return 'throttled';
  return OVERLOADED.test(text) || STATUS_529.test(text) ? 'overloaded' : undefined;
}

/** The longest duration in a clause that speaks of coming back; a rate (`60 requests per 1 minute`) is none. */
function waitIn(text: string): number | undefined {
  let longest: number | undefined;
  for (const clause of text.split(/[!?;\n]|\.(?=\s|$)|,(?=\s*\D)/)) {
    const cue = CUE.exec(clause);
    if (cue === null) continue;
    const bare = BARE.exec(clause);
    const span = SPAN.exec(clause.slice(cue.index)) ?? SPAN.exec(clause);
    const ms = span === null ? bareMs(bare) : partsOf(span[0]);
    if (ms !== undefined && (longest === undefined || ms > longest)) longest = ms;
  }
  return longest;
}

function bareMs(bare: RegExpExecArray | null): number | undefined {
  if (bare === null) return undefined;
  return Math.ceil(Number(bare[2]) * (bare[1]?.toLowerCase() === 'ms' ? 1 : 1_000) - 1e-6);
}

function partsOf(span: string): number {
  let ms = 0;
  for (const [, amount, unit] of span.matchAll(PART)) {
    ms += Number(amount) * (UNIT_MS.find(([start]) => start.test(unit ?? ''))?.[1] ?? 0);
  }
  return Math.min(Math.ceil(ms - 1e-6), Number.MAX_SAFE_INTEGER);
}
