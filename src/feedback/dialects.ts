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
