import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

const check = (text: string, isStrict = false) => {
  const { found, expected, report } = places(text, { isStrict });
  expect(report.problem).toBeUndefined();
  expect(found).toEqual(expected);
  return report;
};

describe('an SDK without a gated transport', () => {
  test.each([
    ["import OpenAI from 'openai'; «new OpenAI(); «new OpenAI({ apiKey });"],
    ["import { OpenAI, AzureOpenAI, toFile } from 'openai'; «new OpenAI(); «new AzureOpenAI({}); toFile(a);"],
    ["import * as openai from 'openai'; «new openai.OpenAI(); «new openai.default();"],
    ["const OpenAI = require('openai'); «new OpenAI(); const { OpenAI: O } = require('openai'); «new O();"],
    ["const client = «new (await import('openai')).default({ apiKey });"],
    ["import OpenAI from 'openai'; const a = await «new OpenAI().chat.completions.create({});"],
    ["import OpenAI from 'openai'; class A extends OpenAI {} «new A({});"],
    ["import OpenAI from 'openai'; class A extends OpenAI { constructor() { «super({ apiKey }); } } new A();"],
    ["import OpenAI from 'openai'; const C = OpenAI; «new C({});"],
    ["import Anthropic from '@anthropic-ai/sdk'; export const claude = «new Anthropic({ maxRetries: 0 });"],
    ["import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk'; «new AnthropicBedrock();"],
    ["import { AnthropicVertex } from '@anthropic-ai/vertex-sdk'; «new AnthropicVertex({ region });"],
    ["import { Octokit } from '@octokit/rest'; «new Octokit({ auth }); «new (Octokit.plugin(retry))({ auth });"],
    ["import { Octokit } from 'octokit'; const My = Octokit.plugin(a).plugin(b); «new My();"],
    ["import { request } from '@octokit/request'; «request('GET /'); «request.defaults({ headers });"],
    ["import { WebClient } from '@slack/web-api'; «new WebClient(token);"],
    ["import Stripe from 'stripe'; «new Stripe(key); «new Stripe(key, { apiVersion });"],
    ["import Stripe from 'stripe'; «new Stripe(key, { httpClient: Stripe.createFetchHttpClient() });"],
    ["import twilio from 'twilio'; «twilio(sid, token); «new twilio.Twilio(sid, token, {});"],
    ["import { Client } from '@notionhq/client'; «new Client({ auth });"],
    ["import { LinearClient } from '@linear/sdk'; «new LinearClient({ apiKey });"],
    ["import { Mistral } from '@mistralai/mistralai'; «new Mistral({ apiKey });"],
    [
      "import { CohereClient, CohereClientV2 } from 'cohere-ai'; «new CohereClient({}); «new CohereClientV2({ token });",
    ],
    ["import { GoogleGenAI } from '@google/genai'; «new GoogleGenAI({ apiKey });"],
    ["import { S3Client, GetObjectCommand } from '@aws-sdk/client-s3'; «new S3Client({}); new GetObjectCommand({});"],
    ["import { DynamoDB } from '@aws-sdk/client-dynamodb'; «new DynamoDB();"],
    [
      "import { BedrockRuntimeClient, ThrottlingException } from '@aws-sdk/client-bedrock-runtime'; «new BedrockRuntimeClient();",
    ],
    [
      "import { S3 } from '@aws-sdk/client-s3'; «new S3({ requestHandler: new NodeHttpHandler({}) }); import { NodeHttpHandler } from '@smithy/node-http-handler';",
    ],
    [
      "import { createOpenAI, openai } from '@ai-sdk/openai'; const o = «createOpenAI({ apiKey }); o('gpt'); «openai('gpt'); «openai.chat('gpt');",
    ],
    ["import { anthropic } from '@ai-sdk/anthropic'; generateText({ model: «anthropic('claude') });"],
    ["import { createVertex, vertex } from '@ai-sdk/google-vertex'; «createVertex(); «vertex('gemini');"],
    ["import { ChatOpenAI } from '@langchain/openai'; «new ChatOpenAI({ model });"],
    ["import { GraphQLClient, request, gql } from 'graphql-request'; «new GraphQLClient(u); «request(u, gql`a`);"],
    [
      "import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'; «new StreamableHTTPClientTransport(u);",
    ],
    ["import { EventSource } from 'eventsource'; «new EventSource(u);"],
    ["import { REST } from '@discordjs/rest'; «new REST({ version });"],
  ])('%s', (text) => void check(text));
});

describe('an SDK that is given something to send with', () => {
  test.each([
    ["import OpenAI from 'openai'; new OpenAI({ apiKey, fetch: createFetch(dispatcher) });"],
    ["import OpenAI from 'openai'; import { gatedFetch } from './http.ts'; new OpenAI({ fetch: gatedFetch as any });"],
    ["import OpenAI from 'openai'; const make = (fetch) => new OpenAI({ fetch });"],
    ["import OpenAI from 'openai'; new OpenAI({ fetch(url, init) { return gated(url, init); } });"],
    ["import OpenAI from 'openai'; const options = { apiKey, fetch: gated }; new OpenAI(options);"],
    ["import OpenAI from 'openai'; const base = { fetch: gated }; new OpenAI({ ...base, apiKey });"],
    ["import OpenAI from 'openai'; class A extends OpenAI { constructor() { super({ fetch: gated }); } }"],
    ["import { Octokit } from '@octokit/rest'; new Octokit({ auth, request: { fetch: gated } });"],
    ["import { request } from '@octokit/request'; request('GET /', { request: { fetch: gated } });"],
    ["import Stripe from 'stripe'; new Stripe(key, { httpClient: Stripe.createFetchHttpClient(gated) });"],
    [
      "import Stripe from 'stripe'; const httpClient = Stripe.createFetchHttpClient(gated); new Stripe(key, { httpClient });",
    ],
    ["import twilio from 'twilio'; twilio(sid, token, { httpClient: gated });"],
    ["import { createOpenAI } from '@ai-sdk/openai'; createOpenAI({ fetch: gated })('gpt');"],
    ["import { ChatOpenAI } from '@langchain/openai'; new ChatOpenAI({ configuration: { fetch: gated } });"],
    ["import OpenAI from 'openai'; try {} catch (e) { e instanceof OpenAI.APIError; e instanceof OpenAI; }"],
    ["import OpenAI from 'openai'; provide(OpenAI); type A = OpenAI.Chat; let a: OpenAI; function f(a: OpenAI) {}"],
    ["import type OpenAI from 'openai'; let client: OpenAI; client.chat.completions.create({});"],
    ["import OpenAI from './openai.ts'; new OpenAI();"],
    ['class OpenAI {} new OpenAI(); new this.OpenAI(); new Client();'],
  ])('%s', (text) => void check(text));

  test('the plain fetch is none: found where it is handed over', () => {
    check("import OpenAI from 'openai'; new OpenAI({ «fetch });");
    check("import OpenAI from 'openai'; new OpenAI({ fetch: «globalThis.fetch });");
    check("import OpenAI from 'openai'; import f from 'node-fetch'; new OpenAI({ fetch: «f });");
    check("import OpenAI from 'openai'; new OpenAI({ fetch: (url, init) => «fetch(url, init) });");
    check("import OpenAI from 'openai'; «new OpenAI({ fetch: undefined });");
  });
});

test('options that are not written there are found with strict only', () => {
  const text = (mark: string) =>
    `import OpenAI from 'openai'; ${mark}new OpenAI(options); ${mark}new OpenAI({ ...options }); ${mark}new OpenAI(...args);`;
  check(text(''));
  const { findings } = check(text('«'), true);
  expect(findings[0]?.problem).toBe('may have no gated transport: its options are not written here');
});

test('options that may be completed later are not told', () => {
  check("import OpenAI from 'openai'; const o = { apiKey }; «new OpenAI(o);");
  check("import OpenAI from 'openai'; const o: any = { apiKey }; o.fetch = gated; new OpenAI(o);");
  check("import OpenAI from 'openai'; const o: any = { apiKey }; complete(o); new OpenAI(o);");
});

test('options that several clients are made with are read where they are written', () => {
  check(`import OpenAI from 'openai'; import Anthropic from '@anthropic-ai/sdk'; const o = { maxRetries: 0 };
«new OpenAI(o); «new Anthropic({ ...o, apiKey }); new OpenAI({ ...o, fetch: gated }); log(o.maxRetries);`);
  check("import OpenAI from 'openai'; const o = { fetch: gated }; new OpenAI(o); new OpenAI({ ...o });");
});

test('the fix says what this one takes', () => {
  const fixes = (text: string) => places(text).report.findings.map(({ fix }) => fix);
  expect(
    fixes("import OpenAI from 'openai'; import { Octokit } from 'octokit'; new OpenAI(); new Octokit({}); fetch(u);"),
  ).toEqual([
    'pass { fetch: gatedFetch }, made with createFetch(dispatcher) of penstock/fetch, and maxRetries: 0',
    'pass { request: { fetch: gatedFetch } }, made with createFetch(dispatcher) of penstock/fetch, and request: { retries: 0 } where the retry plug-in is used',
    'call it inside dispatcher.callDownstream(name, fn), or use the fetch that createFetch(dispatcher) of penstock/fetch returns',
  ]);
});

test('where Node’s own fetch is gated, what is built on it is', () => {
  const text = "import OpenAI from 'openai'; import axios from 'axios'; new OpenAI(); fetch(u); «axios(u);";
  const { found, expected } = places(text, { isFetchGated: true });
  expect(found).toEqual(expected);
});
