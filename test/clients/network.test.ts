import Anthropic from '@anthropic-ai/sdk';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { request as octokit } from '@octokit/request';
import axios from 'axios';
import got from 'got';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { GrpcServer, grpcClient, lookUp } from './support/grpc.ts';
import { closeAgents, HTTP_CLIENTS } from './support/http-clients.ts';
import { CANCELLED, FAILED, hand, type Reading } from './support/lane.ts';
import { LocalServer } from './support/local-server.ts';
import { expectNoSockets } from './support/open-sockets.ts';

type Called = (url: string, signal?: AbortSignal) => Promise<unknown>;

const messages = [{ role: 'user' as const, content: 'hello' }];

/** The SDKs, one client per call, with what a caller's signal becomes in each: some say only that they have failed. */
const SDKS: readonly (readonly [name: string, call: Called, aborted: readonly Reading[]])[] = [
  [
    'openai',
    (baseURL, signal) =>
      new OpenAI({
        apiKey: 'key',
        baseURL,
        maxRetries: 0,
        logLevel: 'off',
        organization: null,
        project: null,
      }).chat.completions.create({ model: 'm', messages }, { signal }),
    [FAILED, CANCELLED],
  ],
  [
    '@anthropic-ai/sdk',
    (baseURL, signal) =>
      new Anthropic({ apiKey: 'key', authToken: null, baseURL, maxRetries: 0, logLevel: 'off' }).messages.create(
        { model: 'm', messages, max_tokens: 8 },
        { signal },
      ),
    [FAILED, CANCELLED],
  ],
  [
    '@octokit/request',
    (baseUrl, signal) =>
      octokit('GET /repos/{owner}/{repo}', {
        owner: 'a',
        repo: 'b',
        baseUrl,
        request: signal === undefined ? {} : { signal },
      }),
    [CANCELLED],
  ],
  ['@aws-sdk/client-dynamodb', askDynamo, [CANCELLED]],
];

async function askDynamo(endpoint: string, abortSignal?: AbortSignal): Promise<unknown> {
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const client = new DynamoDBClient({
    region: 'eu-west-1',
    endpoint,
    credentials,
    maxAttempts: 1,
    defaultsMode: 'standard',
  });
  try {
    const get = new GetItemCommand({ TableName: 'orders', Key: { id: { S: '1' } } });
    return await client.send(get, abortSignal === undefined ? {} : { abortSignal });
  } finally {
    client.destroy();
  }
}

const ALL: readonly (readonly [name: string, call: Called, aborted: readonly Reading[]])[] = [
  ...HTTP_CLIENTS.map(({ name, call }) => [name, call, [CANCELLED]] as const),
  ...SDKS,
];

let server: LocalServer;
let nobody: string;
beforeAll(async () => {
  vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  server = await LocalServer.start();
  const gone = await LocalServer.start();
  nobody = gone.url;
  await gone.close();
});
afterAll(async () => {
  await closeAgents();
  await server.close();
  await expectNoSockets();
  vi.restoreAllMocks();
});

describe.each(ALL)('%s', (_, call, aborted) => {
  test('nobody listens', async () => {
    await hand(FAILED, () => call(nobody), { how: 'thrown' });
  });

  test('the connection breaks', async () => {
    server.answers('reset');
    await hand(FAILED, () => call(server.url), { how: 'thrown' });
    expect(server.requests).toBe(1);
  });

  test('the caller gives up', async () => {
    server.answers('silence');
    const givenUp = new AbortController();
    const asked = async () => {
      void server.heard().then(() => givenUp.abort());
      return await call(server.url, givenUp.signal);
    };
    await handAny(aborted, asked);
  });

  test('a signal of too long a time', async () => {
    server.answers('silence');
    await handAny([FAILED, CANCELLED], () => call(server.url, AbortSignal.timeout(25)));
  });
});

describe("a client's own time is up", () => {
  test.each<readonly [name: string, call: (url: string) => Promise<unknown>]>([
    ['axios', (url) => axios.get(url, { proxy: false, timeout: 25 })],
    ['axios over fetch', (url) => axios.get(url, { adapter: 'fetch', timeout: 25 })],
    ['got', async (url) => await got(url, { retry: { limit: 0 }, timeout: { request: 25 } })],
    [
      'openai',
      (baseURL) =>
        new OpenAI({ apiKey: 'key', baseURL, maxRetries: 0, timeout: 25, logLevel: 'off' }).chat.completions.create({
          model: 'm',
          messages,
        }),
    ],
  ])('%s', async (_, call) => {
    server.answers('silence');
    await hand(FAILED, () => call(server.url), { how: 'thrown' });
  });
});

describe('@grpc/grpc-js', () => {
  const grpc = new GrpcServer();
  let port: number;
  beforeAll(async () => {
    port = await grpc.start();
  });
  afterAll(() => grpc.close());

  test('nobody listens', async () => {
    const client = grpcClient(Number(new URL(nobody).port));
    await hand(FAILED, () => lookUp(client), { how: 'thrown' });
    client.close();
  });

  test('its own time is up', async () => {
    const client = grpcClient(port);
    await hand(FAILED, () => lookUp(client, { deadline: Date.now() + 50 }), { how: 'thrown' });
    client.close();
  });

  test('the caller gives up', async () => {
    const client = grpcClient(port);
    await handAny([FAILED, CANCELLED], () => lookUp(client, { cancel: Promise.resolve() }));
    client.close();
  });
});

/** Where a client says too little, either reading will do: none of them is a limit. */
async function handAny(readings: readonly Reading[], fn: () => Promise<unknown>): Promise<void> {
  const outcomes = readings.map(({ outcome }) => outcome);
  await hand({ ...FAILED, outcome: expect.toBeOneOf(outcomes) as never }, fn, { how: 'thrown' });
}
