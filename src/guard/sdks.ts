import { IN_THE_GATE } from './clients.ts';
import type { Act, Spec } from './spec.ts';

const CREATE_FETCH = 'createFetch(dispatcher) of penstock/fetch';

/** An SDK whose classes take a `fetch`. */
function withFetch(
  packages: readonly string[] | RegExp,
  classes: readonly string[],
  more: Partial<Spec> & { readonly off?: string } = {},
): Spec {
  const { off, ...spec } = more;
  const [first = 'fetch'] = spec.transport ?? [];
  const written = first.split('.').reduceRight((inner, key) => `{ ${key}: ${inner} }`, 'gatedFetch');
  return {
    packages,
    members: constructs(classes),
    transport: ['fetch'],
    optionsAt: 0,
    usesGlobalFetch: true,
    fix: `pass ${written}, made with ${CREATE_FETCH}${off === undefined ? '' : `, and ${off}`}`,
    ...spec,
  };
}

/** An SDK that sends in a way of its own: what is left is to call it in the gate. */
function inGate(
  packages: readonly string[] | RegExp,
  classes: readonly string[],
  more: Partial<Spec> & { readonly off?: string } = {},
): Spec {
  const { off, ...spec } = more;
  return {
    packages,
    members: constructs(classes),
    transport: [],
    optionsAt: 0,
    fix: `use it inside dispatcher.callDownstream(name, fn) only${off === undefined ? '' : `, with ${off}`}`,
    ...spec,
  };
}

function constructs(names: readonly string[]): Record<string, Act> {
  return Object.fromEntries(names.map((name) => [name, 'construct']));
}

const NO_RETRIES = 'maxRetries: 0';
/** The package's own export is the class, too. */
const ITSELF = { self: 'construct' } as const;

/** What a class is called when the package is called `client-dynamodb`: `DynamoDBClient`, or `DynamoDB` with all in it. */
function awsClass(name: string, packageName: string): Act | undefined {
  if (/^[A-Z]\w*Client$/.test(name)) return 'construct';
  const service = packageName.replace(/^.*\/(?:client|lib)-/, '').replaceAll('-', '');
  return name.toLowerCase() === service ? 'construct' : undefined;
}

/** `createOpenAI`, and the provider that is there without one: `openai`. */
function aiProvider(name: string, packageName: string): Act | undefined {
  if (/^create[A-Z]\w*$/.test(name)) return 'create';
  const last = packageName.split('/').at(-1) ?? '';
  const names = [last, last.replace(/^.*-/, '')].map((one) => one.replaceAll('-', '').toLowerCase());
  return names.includes(name.toLowerCase()) && /^[a-z]/.test(name) ? 'request' : undefined;
}

const MODELS: readonly Spec[] = [
  withFetch(['openai'], ['OpenAI', 'AzureOpenAI'], { ...ITSELF, off: NO_RETRIES }),
  withFetch(
    [
      '@anthropic-ai/sdk',
      '@anthropic-ai/bedrock-sdk',
      '@anthropic-ai/vertex-sdk',
      '@anthropic-ai/foundry-sdk',
      '@anthropic-ai/aws-sdk',
    ],
    [
      'Anthropic',
      'BaseAnthropic',
      'AnthropicBedrock',
      'AnthropicBedrockMantle',
      'AnthropicVertex',
      'AnthropicFoundry',
      'AnthropicAws',
    ],
    { ...ITSELF, off: NO_RETRIES },
  ),
  withFetch(['groq-sdk'], ['Groq'], { ...ITSELF, off: NO_RETRIES }),
  withFetch(['together-ai'], ['Together'], { ...ITSELF, off: NO_RETRIES }),
  withFetch(['@cerebras/cerebras_cloud_sdk'], ['Cerebras'], { ...ITSELF, off: NO_RETRIES }),
  withFetch(['@perplexity-ai/perplexity_ai'], ['Perplexity'], { ...ITSELF, off: NO_RETRIES }),
  withFetch(['replicate'], ['Replicate'], ITSELF),
  withFetch(['@mistralai/mistralai'], ['Mistral', 'MistralClient'], {
    ...ITSELF,
    transport: ['httpClient'],
    fix: `pass { httpClient: new HTTPClient({ fetcher: gatedFetch }) }, made with ${CREATE_FETCH}`,
  }),
  withFetch(['cohere-ai'], ['CohereClient', 'CohereClientV2'], {
    ...ITSELF,
    transport: ['fetch', 'fetcher'],
    off: 'maxRetries: 0 with each request',
  }),
  inGate(['@google/genai'], ['GoogleGenAI'], { usesGlobalFetch: true, off: 'no retryOptions' }),
  inGate(['@google/generative-ai'], ['GoogleGenerativeAI'], { usesGlobalFetch: true }),
  inGate(['@google-cloud/vertexai'], ['VertexAI'], { usesGlobalFetch: true }),
  withFetch(['@huggingface/inference'], ['InferenceClient', 'HfInference'], { optionsAt: 1 }),
  withFetch(['ollama', 'ollama/browser'], ['Ollama'], {}),
  withFetch(['voyageai'], ['VoyageAIClient'], { transport: ['fetcher'] }),
  withFetch(['@openrouter/ai-sdk-provider', 'ollama-ai-provider', 'workers-ai-provider'], [], {
    members: { createOpenRouter: 'create', createOllama: 'create', createWorkersAI: 'create' },
  }),
  withFetch(/^@ai-sdk\/(?!provider|ui|react|vue|svelte|angular|rsc|mcp|codemod|devtools|otel|test|valibot)/, [], {
    memberOf: aiProvider,
    off: 'maxRetries: 0 in generateText and streamText',
  }),
  withFetch(
    ['@langchain/openai'],
    ['ChatOpenAI', 'AzureChatOpenAI', 'OpenAI', 'OpenAIEmbeddings', 'AzureOpenAIEmbeddings'],
    {
      transport: ['configuration.fetch'],
      off: NO_RETRIES,
    },
  ),
  inGate(['@langchain/anthropic'], ['ChatAnthropic'], {
    transport: ['clientOptions.fetch', 'createClient'],
    off: NO_RETRIES,
  }),
];

const SERVICES: readonly Spec[] = [
  withFetch(['octokit', '@octokit/core', '@octokit/rest'], ['Octokit'], {
    transport: ['request.fetch'],
    off: 'request: { retries: 0 } where the retry plug-in is used',
  }),
  withFetch(['octokit', '@octokit/app'], ['App'], {
    transport: ['Octokit'],
    fix: `pass { Octokit: Octokit.defaults({ request: { fetch: gatedFetch } }) }, made with ${CREATE_FETCH}`,
  }),
  withFetch(['@octokit/request', '@octokit/graphql'], [], {
    self: 'request',
    members: {
      request: 'request',
      graphql: 'request',
      defaults: 'create',
      'request.defaults': 'create',
      'graphql.defaults': 'create',
    },
    transport: ['request.fetch'],
  }),
  withFetch(['@slack/web-api', '@slack/webhook'], ['WebClient', 'IncomingWebhook'], {
    transport: ['fetch', 'adapter'],
    optionsAt: 1,
    usesGlobalFetch: false,
    fix: 'use it inside dispatcher.callDownstream(name, fn) only, with retryConfig: { retries: 0 } and rejectRateLimitedCalls: true',
  }),
  withFetch(['stripe'], ['Stripe'], {
    ...ITSELF,
    transport: ['httpClient'],
    optionsAt: 1,
    usesGlobalFetch: false,
    fix: `pass { httpClient: Stripe.createFetchHttpClient(gatedFetch), maxNetworkRetries: 0 }, gatedFetch made with ${CREATE_FETCH}`,
  }),
  inGate(['twilio'], ['Twilio'], { ...ITSELF, transport: ['httpClient'], optionsAt: 2, off: 'no autoRetry' }),
  withFetch(['@notionhq/client'], ['Client'], { off: 'retry: false' }),
  inGate(['@linear/sdk'], ['LinearClient', 'LinearGraphQLClient'], { usesGlobalFetch: true }),
  inGate(['@discordjs/rest', 'discord.js'], ['REST'], {
    transport: ['makeRequest'],
    off: 'rejectOnRateLimit: () => true',
  }),
  withFetch(['@supabase/supabase-js'], [], {
    members: { createClient: 'create' },
    transport: ['global.fetch'],
    optionsAt: 2,
  }),
  withFetch(
    ['@modelcontextprotocol/sdk', '@modelcontextprotocol/client'],
    ['StreamableHTTPClientTransport', 'SSEClientTransport'],
    {
      optionsAt: 1,
      fix: 'pass { fetch: transportFetch() } of penstock/mcp, and use its client through gateClient(dispatcher, client, ...) of penstock/mcp only',
    },
  ),
  withFetch(['@apollo/client', '@apollo/client/core'], ['HttpLink', 'BatchHttpLink'], {
    members: { ...constructs(['HttpLink', 'BatchHttpLink']), createHttpLink: 'create' },
  }),
  inGate(['@sendgrid/mail'], ['MailService'], {
    members: { send: 'request', sendMultiple: 'request', MailService: 'construct' },
    fix: IN_THE_GATE,
  }),
  inGate(['@hubspot/api-client', '@googlemaps/google-maps-services-js'], ['Client'], { transport: ['axiosInstance'] }),
  inGate(
    ['resend', 'airtable', 'snoowrap', 'twitter-api-v2', 'jira.js', '@gitbeaker/rest', 'exa-js'],
    ['Resend', 'Airtable', 'TwitterApi', 'Version2Client', 'Version3Client', 'Gitlab', 'Exa'],
    ITSELF,
  ),
  inGate(/^@aws-sdk\/(?:client|lib)-/, [], {
    memberOf: awsClass,
    transport: ['requestHandler'],
    off: 'maxAttempts: 1',
  }),
];

/** SDKs: whoever makes one without a gated transport has a way around the gate. */
export const SDKS: readonly Spec[] = [...MODELS, ...SERVICES];
