import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import * as fetchEntry from '../../src/adapters/fetch.ts';
import * as undiciEntry from '../../src/adapters/undici.ts';
import { createDispatcher, type DispatcherEvent, type PolicyInput } from '../../src/index.ts';
import { TestServer } from '../adapters/support/server.ts';
import { runBlock } from './support/example.ts';
import { blockAt } from './support/pages.ts';

const PAGE = 'docs/fetch.md';
const before = getGlobalDispatcher();
let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ choices: [], content: [] }));
  });
});
afterEach(() => {
  server.arrived.length = 0;
  setGlobalDispatcher(before);
});
afterAll(() => server.close());

/** Clients as a user has them, but for the key and the address, which the environment gives. */
class LocalOpenAI extends OpenAI {
  constructor(options: ConstructorParameters<typeof OpenAI>[0]) {
    super({ apiKey: 'key', baseURL: server.url, ...options });
  }
}
class LocalAnthropic extends Anthropic {
  constructor(options: ConstructorParameters<typeof Anthropic>[0]) {
    super({ apiKey: 'key', baseURL: server.url, ...options });
  }
}

function rig(policy: PolicyInput = { downstreams: { carrier: { hosts: [server.host] } } }) {
  const dispatcher = createDispatcher(policy, { alertSinks: [], env: {} });
  const started: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => {
    if (event.type === 'started') started.push(event);
  });
  const packages = {
    'penstock/fetch': fetchEntry,
    'penstock/undici': undiciEntry,
    openai: { default: LocalOpenAI },
    '@anthropic-ai/sdk': { default: LocalAnthropic },
    undici: { Agent, setGlobalDispatcher },
  };
  const run = async <Exports>(title: string) =>
    (await runBlock<Exports>(blockAt(PAGE, 'ts', title), { given: { dispatcher }, packages })).exports;
  return { run, started };
}

test('fetch', async () => {
  const { run, started } = rig({ downstreams: { carrier: { hosts: [server.host, 'carrier.example'] } } });
  const { gatedFetch, track } = await run<{
    gatedFetch: typeof fetch;
    track: (id: string, at: number) => Promise<Response>;
  }>('fetch');
  expect((await gatedFetch(server.url)).status).toBe(200);
  await expect(track('T-1', Date.now() - 1)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED', tool: 'track' });
  expect(started).toMatchObject([{ downstream: 'carrier' }]);
});

test('openai', async () => {
  const { run, started } = rig();
  const { openai } = await run<{ openai: OpenAI }>('openai');
  await openai.chat.completions.create({ model: 'm', messages: [] });
  expect(started).toHaveLength(1);
});

test('@anthropic-ai/sdk', async () => {
  const { run, started } = rig();
  const { anthropic } = await run<{ anthropic: Anthropic }>('@anthropic-ai/sdk');
  await anthropic.messages.create({ model: 'm', messages: [], max_tokens: 1 });
  expect(started).toHaveLength(1);
});

test("undici, and Node's own fetch", async () => {
  const { run, started } = rig();
  await run("undici, and Node's own fetch");
  expect((await fetch(server.url)).status).toBe(200);
  expect(started).toHaveLength(1);
});

test('A lane per host', async () => {
  const { run, started } = rig({ downstreams: {} });
  const { politeFetch } = await run<{ politeFetch: typeof fetch }>('A lane per host');
  await politeFetch(server.url);
  expect(started).toMatchObject([{ downstream: 'hosts' }]);
  expect(server.arrived[0]?.headers['user-agent']).toBe('acme-reader ops@acme.example');
});
