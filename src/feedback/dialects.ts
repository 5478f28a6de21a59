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

/** Headers that name a wait after a refusal, in order of precedence. The unit is that of a bare number. */
export interface WaitHeader {
  readonly name: string;
  readonly unitMs: number;
  readonly sentBy: string;
}

/**
 * Milliseconds say it more exactly, so they come first; of several with one rank the longest counts.
 * Names that are not listed are read by their last words: `...-retry-after`, `...-retry-after-ms`.
 */
export const WAIT_HEADERS: readonly WaitHeader[] = [
  { name: 'retry-after-ms', unitMs: 1, sentBy: 'OpenAI, Azure OpenAI, Azure App Configuration' },
  { name: 'x-ms-retry-after-ms', unitMs: 1, sentBy: 'Azure Cosmos DB' },
  { name: 'x-amz-retry-after', unitMs: 1, sentBy: 'AWS' },
  { name: 'grpc-retry-pushback-ms', unitMs: 1, sentBy: 'gRPC' },
  { name: 'x-retry-after-ms', unitMs: 1, sentBy: 'various' },
  { name: 'x-rate-limit-retry-after-milliseconds', unitMs: 1, sentBy: 'Bucket4j' },
  { name: 'retry-after', unitMs: 1_000, sentBy: 'RFC 9110' },
  { name: 'x-retry-after', unitMs: 1_000, sentBy: 'various' },
  { name: 'x-ratelimit-retry-after', unitMs: 1_000, sentBy: 'MailerLite, various' },
  { name: 'x-rate-limit-retry-after-seconds', unitMs: 1_000, sentBy: 'Bucket4j' },
];

/** A family of headers, for people, and for containers that have to be asked name by name. */
export interface Dialect {
  readonly names: readonly string[];
  /** How the reset is written by whom; for the docs. */
  readonly resetIs: string;
  readonly sentBy: string;
}

/** The families that are known; others of the same grammar are read too. */
export const DIALECTS: readonly Dialect[] = [
  { names: ['ratelimit', 'ratelimit-policy'], resetIs: 'seconds', sentBy: 'IETF draft 07 and later, Cloudflare' },
  {
    names: ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'ratelimit-observed', 'ratelimit-resettime'],
    resetIs: 'seconds in the IETF drafts up to 06, epoch seconds at GitLab and Twitch',
    sentBy: 'IETF drafts up to 06, GitLab, Kong, Docker Hub, Microsoft Graph, Twitch',
  },
  {
    names: [
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'x-ratelimit-used',
      'x-ratelimit-policy',
    ],
    resetIs: 'epoch seconds at GitHub, seconds at Reddit, a stamp cut off at the minute at Jira, a date at Lemlist',
    sentBy: 'GitHub, Reddit, Jira Cloud, Lemlist, Brave, Strava (`-usage`), many',
  },
  { names: ['x-ratelimit-reset-after'], resetIs: 'seconds with a fraction', sentBy: 'Discord' },
  { names: ['x-ratelimit-reset-ms'], resetIs: 'milliseconds, or epoch milliseconds', sentBy: 'various' },
  {
    names: ['x-ratelimit-fillrate', 'x-ratelimit-interval-seconds'],
    resetIs: 'not sent: the window is what the bucket needs to fill up',
    sentBy: 'Jira and Confluence Data Center',
  },
  {
    names: ['x-rate-limit-limit', 'x-rate-limit-remaining', 'x-rate-limit-reset', 'x-rate-limit'],
    resetIs: 'epoch seconds at X and Okta, seconds at Omnisend',
    sentBy: 'X (Twitter), Okta, Zendesk, Omnisend',
  },
  {
    names: ['requests', 'tokens'].flatMap((unit) =>
      ['limit', 'remaining', 'reset'].map((f) => `x-ratelimit-${f}-${unit}`),
    ),
    resetIs: 'a duration (`6m0s`), bare seconds at Azure',
    sentBy: 'OpenAI, Azure OpenAI, Groq, LiteLLM',
  },
  {
    names: ['requests-day', 'tokens-minute'].flatMap((unit) =>
      ['limit', 'remaining', 'reset'].map((f) => `x-ratelimit-${f}-${unit}`),
    ),
    resetIs: 'seconds with a fraction',
    sentBy: 'Cerebras, Mistral',
  },
  {
    names: ['requests', 'complexity', 'endpoint-requests'].flatMap((unit) =>
      ['limit', 'remaining', 'reset'].map((f) => `x-ratelimit-${unit}-${f}`),
    ),
    resetIs: 'epoch milliseconds at Linear, seconds at RapidAPI',
    sentBy: 'Linear, RapidAPI',
  },
  {
    names: ['second', 'minute', 'hour', 'day'].flatMap((w) => [`x-ratelimit-limit-${w}`, `x-ratelimit-remaining-${w}`]),
    resetIs: 'not sent: the window is in the name',
    sentBy: 'Kong, SAP',
  },
  {
    names: ['requests', 'tokens', 'input-tokens', 'output-tokens'].flatMap((unit) =>
      ['limit', 'remaining', 'reset'].map((f) => `anthropic-ratelimit-${unit}-${f}`),
    ),
    resetIs: 'RFC 3339',
    sentBy: 'Anthropic',
  },
  {
    names: [
      'x-hubspot-ratelimit-max',
      'x-hubspot-ratelimit-remaining',
      'x-hubspot-ratelimit-interval-milliseconds',
      'x-hubspot-ratelimit-daily',
      'x-hubspot-ratelimit-daily-remaining',
    ],
    resetIs: 'not sent: the interval is the length of the window',
    sentBy: 'HubSpot',
  },
  {
    names: [
      'x-rate-limit-requests-quota',
      'x-rate-limit-requests-left',
      'x-rate-limit-time-reset-ms',
      'x-rate-limit-time-window-ms',
    ],
    resetIs: 'milliseconds',
    sentBy: 'BigCommerce',
  },
  { names: ['x-shopify-shop-api-call-limit'], resetIs: 'not sent; the value is `used/limit`', sentBy: 'Shopify' },
  { names: ['sforce-limit-info'], resetIs: 'not sent; the value is `api-usage=used/limit`', sentBy: 'Salesforce' },
  {
    names: ['x-app-rate-limit', 'x-app-rate-limit-count'],
    resetIs: 'not sent; the values are `limit:seconds` and `used:seconds`',
    sentBy: 'Riot',
  },
];

/** Headers whose value is `used/limit`, for a window of so many milliseconds where one is known. */
export const USED_OF_LIMIT: Readonly<Record<string, number | undefined>> = {
  'x-shopify-shop-api-call-limit': undefined,
  'sforce-limit-info': 86_400_000,
};

/** Asked of a container that cannot list what it holds. */
export const KNOWN_LIMIT_NAMES: readonly string[] = DIALECTS.flatMap(({ names }) => names);

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

const WINDOW_WORD =
  /^(\d{0,4})(s|sec|seconds?|secondly|m|min|minutes?|minutely|h|hr|hours?|hourly|d|days?|daily|weeks?|weekly|months?|monthly)$/;
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
  const unit = match[2] ?? '';
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
