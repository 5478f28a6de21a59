import type { QuotaReading } from '../../src/base/verdict.ts';

/** The instant at which all of these answers come. */
export const NOW = Date.UTC(2026, 7, 7, 20, 59, 30);

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
const requests = 'requests';

/** What the APIs send that are known for it, and what is to be read from that at `NOW`. */
export const KNOWN_APIS: readonly (readonly [string, Record<string, string>, readonly QuotaReading[]])[] = [
  [
    'GitHub',
    {
      'x-ratelimit-limit': '5000',
      'x-ratelimit-remaining': '4987',
      'x-ratelimit-used': '13',
      'x-ratelimit-reset': '1786136400',
      'x-ratelimit-resource': 'core',
    },
    [{ limit: 5_000, remaining: 4_987, resetMs: 30_000, unit: requests, policy: 'core' }],
  ],
  [
    'GitLab',
    {
      'ratelimit-limit': '60',
      'ratelimit-name': 'throttle_authenticated_web',
      'ratelimit-observed': '67',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '1786136400',
      'ratelimit-resettime': 'Fri, 07 Aug 2026 21:00:00 GMT',
    },
    [{ limit: 60, remaining: 0, resetMs: 30_000, unit: requests, policy: 'throttle_authenticated_web' }],
  ],
  [
    'OpenAI',
    {
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-limit-tokens': '150000',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-remaining-tokens': '149984',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-reset-tokens': '6m0s',
    },
    [
      { limit: 60, remaining: 59, resetMs: 1_000, unit: requests },
      { limit: 150_000, remaining: 149_984, resetMs: 360_000, unit: 'tokens' },
    ],
  ],
  [
    'Azure OpenAI that does not know',
    { 'x-ratelimit-limit-tokens': '-1', 'x-ratelimit-remaining-tokens': '-1', 'x-ratelimit-reset-tokens': '0' },
    [],
  ],
  [
    'Cerebras',
    {
      'x-ratelimit-limit-requests-day': '1000',
      'x-ratelimit-remaining-requests-day': '999',
      'x-ratelimit-reset-requests-day': '33011.382867097855',
      'x-ratelimit-limit-tokens-minute': '60000',
      'x-ratelimit-remaining-tokens-minute': '0',
      'x-ratelimit-reset-tokens-minute': '11.382867097854614',
    },
    [
      { limit: 1_000, remaining: 999, resetMs: 33_011_383, windowMs: DAY, unit: requests },
      { limit: 60_000, remaining: 0, resetMs: 11_383, windowMs: MINUTE, unit: 'tokens' },
    ],
  ],
  [
    'Anthropic, a reset before its Date',
    {
      date: 'Fri, 07 Aug 2026 20:59:30 GMT',
      'anthropic-ratelimit-requests-limit': '1000',
      'anthropic-ratelimit-requests-remaining': '999',
      'anthropic-ratelimit-requests-reset': '2026-08-07T20:59:29Z',
      'anthropic-ratelimit-input-tokens-limit': '30000',
      'anthropic-ratelimit-input-tokens-remaining': '12000',
      'anthropic-ratelimit-input-tokens-reset': '2026-08-07T21:00:06Z',
    },
    [
      { limit: 1_000, remaining: 999, resetMs: 0, unit: requests },
      { limit: 30_000, remaining: 12_000, resetMs: 36_000, unit: 'input-tokens' },
    ],
  ],
  [
    'Linear',
    {
      'x-ratelimit-requests-limit': '1500',
      'x-ratelimit-requests-remaining': '1499',
      'x-ratelimit-requests-reset': '1786139970000',
      'x-ratelimit-complexity-limit': '250000',
      'x-ratelimit-complexity-remaining': '249000',
      'x-ratelimit-complexity-reset': '1786139970000',
      'x-ratelimit-endpoint-requests-limit': '40',
      'x-ratelimit-endpoint-requests-remaining': '39',
      'x-ratelimit-endpoint-name': 'issueCreate',
      'x-complexity': '7',
    },
    [
      { limit: 1_500, remaining: 1_499, resetMs: HOUR, unit: requests },
      { limit: 250_000, remaining: 249_000, resetMs: HOUR, unit: 'complexity' },
      { limit: 40, remaining: 39, unit: requests, policy: 'endpoint-requests' },
    ],
  ],
  [
    'RapidAPI',
    {
      'x-ratelimit-requests-limit': '500',
      'x-ratelimit-requests-remaining': '499',
      'x-ratelimit-requests-reset': '2163603',
    },
    [{ limit: 500, remaining: 499, resetMs: 2_163_603_000, unit: requests }],
  ],
  [
    'X',
    { 'x-rate-limit-limit': '900', 'x-rate-limit-remaining': '847', 'x-rate-limit-reset': '1786136400' },
    [{ limit: 900, remaining: 847, resetMs: 30_000, unit: requests }],
  ],
  [
    'Reddit',
    { 'x-ratelimit-used': '2', 'x-ratelimit-remaining': '598.0', 'x-ratelimit-reset': '245' },
    [{ remaining: 598, resetMs: 245_000, unit: requests }],
  ],
  [
    'Discord',
    {
      'x-ratelimit-limit': '5',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1786136399.470',
      'x-ratelimit-reset-after': '0.57',
      'x-ratelimit-bucket': 'abcd1234',
      'x-ratelimit-scope': 'shared',
    },
    [{ limit: 5, remaining: 0, resetMs: 570, unit: requests, policy: 'abcd1234' }],
  ],
  ['Shopify', { 'x-shopify-shop-api-call-limit': '32/40' }, [{ limit: 40, remaining: 8, unit: requests }]],
  [
    'Salesforce',
    { 'sforce-limit-info': 'api-usage=18/5000' },
    [{ limit: 5_000, remaining: 4_982, windowMs: DAY, unit: requests, policy: 'api-usage' }],
  ],
  [
    'Jira Cloud',
    { 'x-ratelimit-limit': '350', 'x-ratelimit-remaining': '12', 'x-ratelimit-reset': '2026-08-07T21:00Z' },
    [{ limit: 350, remaining: 12, resetMs: 30_000, unit: requests }],
  ],
  [
    'Jira Data Center: 20 per 60 s into a bucket of 100',
    {
      'x-ratelimit-limit': '100',
      'x-ratelimit-remaining': '97',
      'x-ratelimit-fillrate': '20',
      'x-ratelimit-interval-seconds': '60',
      'retry-after': '0',
    },
    [{ limit: 100, remaining: 97, windowMs: 5 * MINUTE, unit: requests }],
  ],
  [
    'HubSpot: the interval is no reset',
    {
      'x-hubspot-ratelimit-max': '100',
      'x-hubspot-ratelimit-remaining': '96',
      'x-hubspot-ratelimit-interval-milliseconds': '10000',
      'x-hubspot-ratelimit-daily': '250000',
      'x-hubspot-ratelimit-daily-remaining': '249500',
      'x-hubspot-ratelimit-secondly': '10',
      'x-hubspot-ratelimit-secondly-remaining': '9',
    },
    [
      { limit: 100, remaining: 96, windowMs: 10_000, unit: requests },
      { limit: 250_000, remaining: 249_500, windowMs: DAY, unit: requests },
      { limit: 10, remaining: 9, windowMs: 1_000, unit: requests },
    ],
  ],
  [
    'BigCommerce',
    {
      'x-rate-limit-requests-quota': '150',
      'x-rate-limit-requests-left': '35',
      'x-rate-limit-time-reset-ms': '15000',
      'x-rate-limit-time-window-ms': '30000',
    },
    [{ limit: 150, remaining: 35, resetMs: 15_000, windowMs: 30_000, unit: requests }],
  ],
  [
    'Kong',
    {
      'x-ratelimit-limit-minute': '5',
      'x-ratelimit-remaining-minute': '4',
      'ratelimit-limit': '5',
      'ratelimit-remaining': '4',
      'ratelimit-reset': '12',
    },
    [
      { limit: 5, remaining: 4, windowMs: MINUTE, unit: requests },
      { limit: 5, remaining: 4, resetMs: 12_000, unit: requests },
    ],
  ],
  [
    'Docker Hub',
    { 'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': '76;w=21600' },
    [{ limit: 100, remaining: 76, windowMs: 6 * HOUR, unit: requests }],
  ],
  [
    'Brave',
    {
      'x-ratelimit-limit': '1, 15000',
      'x-ratelimit-policy': '1;w=1, 15000;w=2592000',
      'x-ratelimit-remaining': '1, 1000',
      'x-ratelimit-reset': '1, 1419704',
    },
    [
      { limit: 1, remaining: 1, resetMs: 1_000, windowMs: 1_000, unit: requests },
      { limit: 15_000, remaining: 1_000, resetMs: 1_419_704_000, windowMs: 30 * DAY, unit: requests },
    ],
  ],
  [
    'Whoop',
    {
      'x-ratelimit-limit': '100, 100;window=60, 10000;window=86400',
      'x-ratelimit-remaining': '98',
      'x-ratelimit-reset': '3',
    },
    [
      { limit: 100, remaining: 98, resetMs: 3_000, windowMs: MINUTE, unit: requests },
      { limit: 10_000, windowMs: DAY, unit: requests },
    ],
  ],
  [
    'Strava',
    { 'x-ratelimit-limit': '200,2000', 'x-ratelimit-usage': '182,22' },
    [
      { limit: 200, remaining: 18, unit: requests },
      { limit: 2_000, remaining: 1_978, unit: requests },
    ],
  ],
  [
    'Riot',
    { 'x-app-rate-limit': '20:1,100:120', 'x-app-rate-limit-count': '1:1,99:120' },
    [
      { limit: 20, remaining: 19, windowMs: 1_000, unit: requests },
      { limit: 100, remaining: 1, windowMs: 2 * MINUTE, unit: requests },
    ],
  ],
  [
    'Zendesk',
    {
      'x-rate-limit': '700',
      'x-rate-limit-remaining': '699',
      'zendesk-ratelimit-tickets-index': 'total=100; remaining=99; resets=59',
    },
    [
      { limit: 700, remaining: 699, unit: requests },
      { limit: 100, remaining: 99, resetMs: 59_000, unit: 'tickets-index' },
    ],
  ],
  [
    'IBM API Connect',
    { 'x-ratelimit-limit': 'name=default,100;', 'x-ratelimit-remaining': 'name=default,38;' },
    [{ limit: 100, remaining: 38, unit: requests }],
  ],
  [
    'Imgur',
    { 'x-ratelimit-userlimit': '500', 'x-ratelimit-userremaining': '499', 'x-ratelimit-userreset': '1786136400' },
    [{ limit: 500, remaining: 499, resetMs: 30_000, unit: requests, policy: 'user' }],
  ],
  ['Groq’s seconds of audio', { 'x-ratelimit-limit-audio-seconds': '7200' }, [{ limit: 7_200, unit: 'audio-seconds' }]],
];
