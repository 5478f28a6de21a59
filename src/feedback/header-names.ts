import { REQUESTS } from '../base/words.ts';

/** What a header says of a limit. */
export type Field =
  | 'reset'
  | 'remaining'
  | 'window'
  | 'fill'
  | 'limit'
  | 'used'
  | 'status'
  | 'policy'
  | 'label'
  /** Nothing but the limit's own name: the value holds all of it. */
  | 'whole';

const FIELD_WORDS: Readonly<Record<string, Field>> = {
  reset: 'reset',
  resets: 'reset',
  resetafter: 'reset',
  resetat: 'reset',
  resettime: 'reset',
  remaining: 'remaining',
  left: 'remaining',
  available: 'remaining',
  window: 'window',
  interval: 'window',
  period: 'window',
  fillrate: 'fill',
  limit: 'limit',
  max: 'limit',
  quota: 'limit',
  total: 'limit',
  capacity: 'limit',
  used: 'used',
  usage: 'used',
  observed: 'used',
  count: 'used',
  consumed: 'used',
  status: 'status',
  policy: 'policy',
  name: 'label',
  resource: 'label',
  bucket: 'label',
};

/** Where a name holds several such words, the first of these is meant: `quota-remaining` is what remains. */
const FIELD_ORDER: readonly Field[] = [
  'reset',
  'remaining',
  'window',
  'fill',
  'limit',
  'used',
  'status',
  'policy',
  'label',
];

/** Of a reset or a window: what a bare number counts. Singular it would be the window itself: `limit-second`. */
const SCALES: Readonly<Record<string, number>> = {
  ms: 1,
  millis: 1,
  milliseconds: 1,
  sec: 1_000,
  secs: 1_000,
  seconds: 1_000,
  mins: 60_000,
  minutes: 60_000,
  hours: 3_600_000,
};

/** A plural without a number is no window: `audio-seconds` are what is counted. */
const WINDOW_WORD =
  /^(?:(\d{1,4})(s|m|h|d|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|months?)|(s|m|h|d|sec|second|min|minute|hr|hour|day|week|month|secondly|minutely|hourly|daily|weekly|monthly))$/;
const WINDOWS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  mo: 2_592_000_000,
};

/** Words that say nothing of what is counted. */
const NEUTRAL = new Set([
  'time',
  'after',
  'in',
  'at',
  'date',
  'timestamp',
  'utc',
  'epoch',
  'unix',
  'per',
  'api',
  'current',
]);
/** Whose limit it is: still one of requests. */
const SCOPES = new Set(
  'user client app application ip key account org organization global endpoint project team workspace tenant method route shop service'.split(
    ' ',
  ),
);
const REQUEST_WORDS = new Set(['requests', 'request', 'req', 'reqs', 'calls', 'call']);
const TOKEN_WORD = /^tokens?(?:_|$)/;
const TOKEN_KINDS = new Set(['input', 'output', 'prompt', 'completion', 'cached']);
/** How many run at once is no number of starts: such limits are not read. */
const CONCURRENCY = /^(?:concurren(?:t|cy)|parallel|inflight)/;

/** Which limit a header belongs to, and what it says of it. */
export interface Place {
  /** Headers with one key describe one limit. */
  readonly key: string;
  /** What stands before the words of the limit itself: `x-`, `anthropic-`. */
  readonly prefix: string;
  /** Whether the name says nothing of what is counted. */
  readonly isPlain: boolean;
  readonly field: Field;
  readonly unit: string;
  readonly windowMs?: number | undefined;
  readonly policy?: string | undefined;
  /** What a bare number of a reset or a window counts. */
  readonly unitMs: number;
  /** Of several resets of one limit the first usable is taken, the lowest rank first. */
  readonly rank: number;
}

const STEM = /^(.*?)(?:ratelimit|rate-limit|(?<=^x-(?:app|user|bapi)-)limit)(?:-(.+))?$/;
/** Imgur runs the words together. */
const RUN_TOGETHER = /^(user|client)(limit|remaining|reset)$/;

/** Reads the name of a header (lower case); `undefined` where it speaks of no limit, or of how many run at once. */
export function placeOf(name: string): Place | undefined {
  const stem = STEM.exec(name);
  if (stem === null) return undefined;
  const prefix = stem[1] ?? '';
  const words = (stem[2] ?? '').replace(RUN_TOGETHER, '$1-$2').split('-').filter(Boolean);
  if (words.includes('retry') || words.some((word) => CONCURRENCY.test(word))) return undefined;
  const said = fieldOf(words);
  // Bybit calls what remains the status of the limit.
  const field = prefix === 'x-bapi-' && said === 'status' ? 'remaining' : said;
  const isTimed = field === 'reset' || field === 'window';
  const rest = words.filter(
    (word) => !(Object.hasOwn(FIELD_WORDS, word) || NEUTRAL.has(word) || (isTimed && Object.hasOwn(SCALES, word))),
  );
  const windowMs = rest.map(windowOf).find((ms) => ms !== undefined);
  const scale = isTimed ? words.find((word) => Object.hasOwn(SCALES, word)) : undefined;
  return {
    key: `${prefix}|${rest.join('-')}`,
    prefix,
    isPlain: rest.length === 0,
    field: field ?? (windowMs === undefined ? 'whole' : 'limit'),
    ...countedBy(rest.filter((word) => windowOf(word) === undefined)),
    windowMs: windowMs ?? (prefix === 'x-amzn-' ? 1_000 : undefined),
    unitMs: scale === undefined ? 1_000 : (SCALES[scale] ?? 1_000),
    rank: rankOf(words, scale),
  };
}

function fieldOf(words: readonly string[]): Field | undefined {
  const found = words.map((word) => (Object.hasOwn(FIELD_WORDS, word) ? FIELD_WORDS[word] : undefined));
  return FIELD_ORDER.find((field) => found.includes(field));
}

/** What a time after the answer says needs no clock; milliseconds say it more exactly than seconds. */
function rankOf(words: readonly string[], scale: string | undefined): number {
  if (words.some((word) => word === 'after' || word === 'in' || word === 'resetafter')) return 0;
  if (scale !== undefined && SCALES[scale] === 1) return 1;
  return words.some((word) => NEUTRAL.has(word) || word === 'resettime') ? 3 : 2;
}

function windowOf(word: string): number | undefined {
  const match = WINDOW_WORD.exec(word);
  if (match === null) return undefined;
  const unit = match[2] ?? match[3] ?? '';
  const ms = WINDOWS[unit.startsWith('mo') ? 'mo' : (unit[0] ?? '')];
  return ms === undefined ? undefined : ms * Number(match[1] || 1) || undefined;
}

/** A word that nobody knows is a unit of its own: what it counts must not hold back calls that cost none of it. */
function countedBy(words: readonly string[]): { unit: string; policy?: string } {
  const all = words.join('-');
  if (words.length === 0) return { unit: REQUESTS };
  if (words.some((word) => REQUEST_WORDS.has(word)))
    return words.length === 1 ? { unit: REQUESTS } : named(REQUESTS, all);
  const token = words.findIndex((word) => TOKEN_WORD.test(word));
  if (token >= 0) {
    const kind = words[token - 1] ?? '';
    const unit = TOKEN_KINDS.has(kind) ? `${kind}-tokens` : 'tokens';
    return unit === all || all === 'token' ? { unit } : named(unit, all);
  }
  return words.every((word) => SCOPES.has(word)) ? named(REQUESTS, all) : { unit: all };
}

function named(unit: string, policy: string): { unit: string; policy: string } {
  return { unit, policy };
}
