import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { DownstreamPolicyInput } from '../../src/index.ts';
import { createDispatcher } from '../../src/index.ts';

interface Profile {
  readonly title: string;
  readonly policy: DownstreamPolicyInput;
  readonly figures: readonly { path: string; says: string; source: string; date?: string; read?: string }[];
  readonly unpublished: readonly string[];
  readonly note: string;
}

type Row = readonly [profile: string, path: keyof DownstreamPolicyInput, value: unknown, source: string];

const OPENAI = 'https://developers.openai.com/api/docs/models/gpt-6-sol';
const ANTHROPIC = 'https://platform.claude.com/docs/en/api/rate-limits';
const GITHUB = 'https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api';
const GITHUB_START = 'https://docs.github.com/rest/using-the-rest-api/getting-started-with-the-rest-api';
const SLACK = 'https://docs.slack.dev/apis/web-api/rate-limits';
const LINEAR = 'https://linear.app/developers/rate-limiting';
const JIRA = 'https://developer.atlassian.com/cloud/jira/platform/rate-limiting/';
const STRIPE = 'https://docs.stripe.com/rate-limits';
const DISCORD = 'https://docs.discord.com/developers/reference';
const REDDIT = 'https://support.reddithelp.com/hc/en-us/articles/16160319875092-Reddit-Data-API-Wiki';

const NO_USER_AGENT = 'GitHub rejects API requests that have no User-Agent header';

/** Every figure that a provider states, a second time: neither is made from the other. */
const STATED: readonly Row[] = [
  ['openai-tier-1', 'quota', ['500/minute', '500000 tokens/minute'], OPENAI],
  ['openai-tier-2', 'quota', ['5000/minute', '1000000 tokens/minute'], OPENAI],
  ['openai-tier-3', 'quota', ['5000/minute', '2000000 tokens/minute'], OPENAI],
  ['openai-tier-4', 'quota', ['10000/minute', '4000000 tokens/minute'], OPENAI],
  ['openai-tier-5', 'quota', ['15000/minute', '40000000 tokens/minute'], OPENAI],
  [
    'anthropic-start',
    'quota',
    ['1000/minute', '2000000 input-tokens/minute', '400000 output-tokens/minute'],
    ANTHROPIC,
  ],
  [
    'anthropic-build',
    'quota',
    ['5000/minute', '5000000 input-tokens/minute', '1000000 output-tokens/minute'],
    ANTHROPIC,
  ],
  [
    'anthropic-scale',
    'quota',
    ['10000/minute', '10000000 input-tokens/minute', '2000000 output-tokens/minute'],
    ANTHROPIC,
  ],
  ['github-rest', 'quota', ['5000/hour', '900 points/minute'], GITHUB],
  ['github-rest', 'defaultCost', { points: 5 }, GITHUB],
  ['github-rest', 'maxConcurrent', 100, GITHUB],
  ['github-rest', 'throttleStatuses', [403, 429], GITHUB],
  ['github-rest', 'requiresUserAgent', NO_USER_AGENT, GITHUB_START],
  ['github-rest', 'hosts', ['api.github.com'], GITHUB_START],
  ['github-anonymous', 'quota', '60/hour', GITHUB],
  ['github-anonymous', 'throttleStatuses', [403, 429], GITHUB],
  ['github-anonymous', 'requiresUserAgent', NO_USER_AGENT, GITHUB_START],
  ['github-search', 'quota', '30/minute', 'https://docs.github.com/rest/search/search'],
  ['github-search', 'throttleStatuses', [403, 429], GITHUB],
  ['github-search', 'requiresUserAgent', NO_USER_AGENT, GITHUB_START],
  ['gitlab', 'quota', '2000/minute', 'https://docs.gitlab.com/user/gitlab_com/rate_limits/'],
  ['slack-tier-1', 'quota', '1/minute', SLACK],
  ['slack-tier-2', 'quota', '20/minute', SLACK],
  ['slack-tier-3', 'quota', '50/minute', SLACK],
  ['slack-tier-4', 'quota', '100/minute', SLACK],
  ['slack-post-message', 'quota', '1/second', SLACK],
  ['notion', 'quota', '180/minute', 'https://developers.notion.com/reference/request-limits'],
  ['linear', 'quota', ['2500/hour', '3000000 complexity/hour'], LINEAR],
  ['linear', 'classify', 'graphql', LINEAR],
  ['linear', 'hosts', ['api.linear.app'], 'https://linear.app/developers/graphql'],
  ['jira-cloud', 'quota', '50/second', JIRA],
  ['jira-cloud-oauth', 'quota', ['50/second', '65000 points/hour'], JIRA],
  ['jira-cloud-oauth', 'defaultCost', { points: 2 }, JIRA],
  [
    'shopify-rest',
    'quota',
    { limit: 2, per: 'second', providerBurst: 40 },
    'https://shopify.dev/docs/api/admin-rest/usage/rate-limits',
  ],
  [
    'shopify-graphql',
    'quota',
    { limit: 100, unit: 'points', per: 'second', providerBurst: 1000 },
    'https://shopify.dev/docs/apps/build/apis/graphql-admin/rate-limits',
  ],
  ['shopify-graphql', 'classify', 'graphql', 'https://shopify.dev/docs/api/usage/limits'],
  ['stripe', 'quota', '100/second', STRIPE],
  ['stripe-test', 'quota', '25/second', STRIPE],
  ['stripe-endpoint', 'quota', '25/second', STRIPE],
  [
    'hubspot',
    'quota',
    ['100/10s', '250000/day'],
    'https://developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines',
  ],
  ['discord', 'quota', '50/second', 'https://docs.discord.com/developers/topics/rate-limits'],
  ['discord', 'hosts', ['discord.com'], DISCORD],
  [
    'discord',
    'requiresUserAgent',
    'Discord may block clients without a User-Agent of the form DiscordBot (url, version)',
    DISCORD,
  ],
  ['reddit', 'quota', '100/minute', REDDIT],
  [
    'reddit',
    'requiresUserAgent',
    'Reddit limits default User-Agents; it asks for platform:app ID:version (by /u/username)',
    REDDIT,
  ],
  ['x', 'quota', '300/15m', 'https://docs.x.com/x-api/fundamentals/rate-limits'],
];

const PLAIN = 'nothing to switch off: plain HTTP';
const BY_FETCH = 'measured with fetch of Node 20.20.2';
const OPENAI_OFF = 'openai: maxRetries: 0; AI SDK: maxRetries: 0; LangChain: maxRetries: 0';
const OPENAI_BY = 'measured with openai 6.49.0, AI SDK 6.0.326 and LangChain 1.4.0';
const ANTHROPIC_OFF = '@anthropic-ai/sdk: maxRetries: 0; AI SDK: maxRetries: 0; LangChain: maxRetries: 0';
const ANTHROPIC_BY = 'measured with @anthropic-ai/sdk 1.14.0, AI SDK 6.0.326 and LangChain 1.4.0';
const GEMINI_OFF = '@google/genai: nothing to switch off unless retryOptions is given; AI SDK: maxRetries: 0';
const GEMINI_BY = 'measured with @google/genai 2.32.0 and AI SDK 6.0.326';
const OCTOKIT_OFF =
  '@octokit/plugin-retry: request: { retries: 0 }; @octokit/plugin-throttling: throttle: { enabled: false }';
const OCTOKIT_BY = 'measured with @octokit/request 10.0.16 and the two plugins';
const SLACK_OFF = '@slack/web-api: retryConfig: { retries: 0 } and rejectRateLimitedCalls: true, both';
const SLACK_BY = 'measured with @slack/web-api 8.2.0';
const STRIPE_OFF = 'stripe: maxNetworkRetries: 0 (a connection that is closed is retried once even so)';
const STRIPE_BY = 'measured with stripe 23.1.0';

/** How the clients' own retries are switched off, and with which client that was measured. */
const MEASURED: Readonly<Record<string, readonly [retriesOff: string, source: string]>> = {
  'openai-tier-1': [OPENAI_OFF, OPENAI_BY],
  'openai-tier-2': [OPENAI_OFF, OPENAI_BY],
  'openai-tier-3': [OPENAI_OFF, OPENAI_BY],
  'openai-tier-4': [OPENAI_OFF, OPENAI_BY],
  'openai-tier-5': [OPENAI_OFF, OPENAI_BY],
  'anthropic-evaluation': [ANTHROPIC_OFF, ANTHROPIC_BY],
  'anthropic-start': [ANTHROPIC_OFF, ANTHROPIC_BY],
  'anthropic-build': [ANTHROPIC_OFF, ANTHROPIC_BY],
  'anthropic-scale': [ANTHROPIC_OFF, ANTHROPIC_BY],
  'gemini-free': [GEMINI_OFF, GEMINI_BY],
  'gemini-tier-1': [GEMINI_OFF, GEMINI_BY],
  'github-rest': [OCTOKIT_OFF, OCTOKIT_BY],
  'github-anonymous': [OCTOKIT_OFF, OCTOKIT_BY],
  'github-search': [OCTOKIT_OFF, OCTOKIT_BY],
  gitlab: [PLAIN, BY_FETCH],
  'slack-tier-1': [SLACK_OFF, SLACK_BY],
  'slack-tier-2': [SLACK_OFF, SLACK_BY],
  'slack-tier-3': [SLACK_OFF, SLACK_BY],
  'slack-tier-4': [SLACK_OFF, SLACK_BY],
  'slack-post-message': [SLACK_OFF, SLACK_BY],
  notion: ['@notionhq/client: retry: false', 'measured with @notionhq/client 5.26.0'],
  linear: [
    'nothing to switch off: @linear/sdk, graphql-request',
    'measured with @linear/sdk 98.0.0 and graphql-request 7.4.0',
  ],
  'jira-cloud': [PLAIN, BY_FETCH],
  'jira-cloud-oauth': [PLAIN, BY_FETCH],
  'shopify-rest': [PLAIN, BY_FETCH],
  'shopify-graphql': ['nothing to switch off: graphql-request', 'measured with graphql-request 7.4.0'],
  stripe: [STRIPE_OFF, STRIPE_BY],
  'stripe-test': [STRIPE_OFF, STRIPE_BY],
  'stripe-endpoint': [STRIPE_OFF, STRIPE_BY],
  hubspot: [PLAIN, BY_FETCH],
  discord: ['@discordjs/rest: rejectOnRateLimit: () => true', 'measured with @discordjs/rest 2.6.3'],
  reddit: [PLAIN, BY_FETCH],
  x: [PLAIN, BY_FETCH],
  twilio: ['twilio: nothing to switch off (autoRetry is off by default)', 'measured with twilio 6.3.1'],
};

const NAMES = Object.keys(MEASURED);

/** Choices of ours, for which no provider stands: a change of one is seen here. */
const GUESSED: Readonly<Record<string, Partial<DownstreamPolicyInput>>> = {
  ...Object.fromEntries([1, 2, 3, 4, 5].map((tier) => [`openai-tier-${tier}`, { defaultCost: { tokens: 8000 } }])),
  ...Object.fromEntries(
    ['start', 'build', 'scale'].map((tier) => [
      `anthropic-${tier}`,
      { defaultCost: { 'input-tokens': 8000, 'output-tokens': 1000 } },
    ]),
  ),
  'anthropic-evaluation': {
    quota: ['50/minute', '30000 input-tokens/minute', '8000 output-tokens/minute'],
    defaultCost: { 'input-tokens': 3000, 'output-tokens': 800 },
  },
  'gemini-free': { quota: '5/minute' },
  'gemini-tier-1': { quota: '60/minute' },
  linear: { defaultCost: { complexity: 1000 } },
  'shopify-graphql': { defaultCost: { points: 50 } },
  stripe: { maxConcurrent: 20 },
  'stripe-test': { maxConcurrent: 10 },
  twilio: { quota: undefined, maxConcurrent: 10 },
};

function profile(name: string): Profile {
  const file = join(import.meta.dirname, '..', '..', 'config', 'profiles', `${name}.yaml`);
  return parse(readFileSync(file, 'utf8')) as Profile;
}

/** What the table says of a profile: the path of each figure, its value and its source. */
function rowsOf(name: string): [string, unknown, string][] {
  const [retriesOff, source] = MEASURED[name] ?? ['', ''];
  return [
    ...STATED.filter(([of]) => of === name).map((row): [string, unknown, string] => [row[1], row[2], row[3]]),
    ['retriesOff', retriesOff, source],
  ];
}

const byPath = (a: readonly unknown[], b: readonly unknown[]) => String(a[0]).localeCompare(String(b[0]));

test('the table has no profile that is not listed', () => {
  expect(STATED.map(([name]) => name).filter((name) => !NAMES.includes(name))).toEqual([]);
  expect(Object.keys(GUESSED).filter((name) => !NAMES.includes(name))).toEqual([]);
});

test.each(NAMES)('%s: the figures of the file are those of the table, and the other way round', (name) => {
  const { policy, figures } = profile(name);
  const found = figures.map(({ path, source }) => [path, policy[path as keyof DownstreamPolicyInput], source]);
  expect(found.toSorted(byPath)).toEqual(rowsOf(name).toSorted(byPath));
});

test.each(NAMES)('%s: what the provider does not publish is a choice of ours, and the note says so', (name) => {
  const { policy, unpublished, note } = profile(name);
  const guessed = GUESSED[name] ?? {};
  expect([...unpublished].sort()).toEqual(Object.keys(guessed).sort());
  for (const [path, value] of Object.entries(guessed)) {
    expect(policy[path as keyof DownstreamPolicyInput]).toEqual(value);
  }
  if (unpublished.length > 0) expect(note).toMatch(/of ours/);
});

test.each(NAMES)('%s: every option has a source or is unpublished, and none is both', (name) => {
  const { policy, figures, unpublished } = profile(name);
  const sourced = figures.map(({ path }) => path);
  expect(new Set(sourced).size).toBe(sourced.length);
  expect(sourced.filter((path) => unpublished.includes(path))).toEqual([]);
  const without = Object.keys(policy).filter((path) => !sourced.includes(path) && !unpublished.includes(path));
  expect(without.filter((path) => path !== 'hosts')).toEqual([]);
});

test.each(NAMES)('%s: each figure is dated once, by the text or by its reader', (name) => {
  for (const { path, says, date, read } of profile(name).figures) {
    expect([path, says.length > 0, [date, read].filter((day) => day !== undefined)]).toEqual([
      path,
      true,
      [expect.stringMatching(/^\d{4}-\d\d-\d\d$/)],
    ]);
  }
});

test.each(NAMES)('%s is a policy by itself', async (name) => {
  const dispatcher = createDispatcher({ alerts: [], downstreams: { [name]: profile(name).policy } });
  expect(dispatcher.names()).toEqual([name]);
  await dispatcher.close();
});
