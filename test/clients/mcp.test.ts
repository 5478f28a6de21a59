import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type CallToolResult, McpError } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exhausted, FAILED, hand, overloaded, type Reading, SUCCESS, throttled } from './support/lane.ts';
import { LocalServer, type Script } from './support/local-server.ts';
import { connected, inWords, rpcServer, serveHttp, type ToolScript, toolError, toolServer } from './support/mcp.ts';
import { expectNoSockets } from './support/open-sockets.ts';

const script: ToolScript = { answer: undefined };
const LOOK_UP = { name: 'look_up', arguments: { id: 1 } };
const limited = { error: { code: 'rate_limited', retry_after_seconds: 12 } };
const byName = { policy: { classify: 'mcpToolResult' } };

const RESULTS: readonly (readonly [name: string, result: CallToolResult, reading: Reading])[] = [
  ['JSON in its text', toolError(limited), throttled(12_000)],
  ['JSON in both places', toolError(limited, { structuredContent: limited }), throttled(12_000)],
  ['structured content alone', { ...inWords('slow down'), structuredContent: limited }, throttled(12_000)],
  [
    'a code in upper case and milliseconds',
    toolError({ code: 'RATE_LIMITED', retry_after_ms: 7_000 }),
    throttled(7_000),
  ],
  ['no wait', toolError({ error: { code: 'rate_limited' } }), throttled()],
  ['an error of another kind', toolError({ error: { code: 'not_found', retry_after_seconds: 12 } }), SUCCESS],
  ['words alone', inWords('Too many requests, retry in 35 s'), SUCCESS],
];

describe('@modelcontextprotocol/sdk in one process', () => {
  const server = toolServer(script);
  let client: Client;
  beforeAll(async () => {
    client = await connected(server);
  });
  afterAll(async () => {
    await client.close();
    await server.close();
  });

  async function expectRead(answer: CallToolResult | Error, reading: Reading, handing = {}): Promise<void> {
    script.answer = answer;
    await hand(reading, () => client.callTool(LOOK_UP), { ...handing, how: 'returned' });
  }

  test.each(RESULTS)('a result marked as an error, with %s', (_, result, reading) => expectRead(result, reading));

  test('the same JSON in a result that is no error is data', async () => {
    await expectRead(
      { content: [{ type: 'text', text: JSON.stringify(limited) }], structuredContent: limited },
      SUCCESS,
    );
  });

  test('a tool that throws is a result in words', async () => {
    await expectRead(Object.assign(new Error('slow down'), { code: 'rate_limited', retry_after_ms: 7_000 }), SUCCESS);
    await expectRead(new Error(JSON.stringify(limited)), throttled(12_000));
  });

  test('words, for those who ask for them', async () => {
    await expectRead(inWords('Too many requests, retry in 35 s'), throttled(35_000), byName);
    await expectRead(toolError(limited), throttled(12_000), byName);
    await expectRead(inWords('Request failed with status code 429'), throttled(), byName);
    await expectRead(inWords('No delivery 429 on record'), SUCCESS, byName);
    await expectRead(inWords('upstream answered HTTP 529'), overloaded(), byName);
    await expectRead(inWords('Delivery 529 is at the depot'), SUCCESS, byName);
    await expectRead(inWords('Error: the number 429 is not known'), SUCCESS, byName);
    await expectRead({ content: [{ type: 'text', text: 'Too many requests, retry in 35 s' }] }, SUCCESS, byName);
  });

  test('arguments of the wrong kind, and a tool that does not exist, are no limit', async () => {
    await hand(SUCCESS, () => client.callTool({ name: 'look_up', arguments: { id: 'one' } }), { how: 'returned' });
    await hand(SUCCESS, () => client.callTool({ name: 'look_down', arguments: {} }), { how: 'returned' });
  });

  test('a call that takes too long, and one that is given up, have failed', async () => {
    script.answer = undefined;
    await hand(FAILED, () => client.callTool(LOOK_UP, undefined, { timeout: 20 }), { how: 'thrown' });
    const given = new AbortController();
    const call = () => {
      const answer = client.callTool(LOOK_UP, undefined, { signal: given.signal });
      given.abort(new Error('slow down'));
      return answer;
    };
    await hand(FAILED, call, { how: 'thrown' });
  });
});

describe('a JSON-RPC error', () => {
  test.each([
    ['with a wait of its own', new McpError(-32_029, 'slow down', { retry_after_ms: 7_000 }), throttled(7_000)],
    ['with a code in its data', new McpError(-32_000, 'slow down', limited), throttled(12_000)],
    ['with a quota for the day', new McpError(-32_000, 'slow down', { code: 'insufficient_quota' }), exhausted()],
    ['of another kind', new McpError(-32_603, 'slow down', { reason: 'no database' }), FAILED],
    ['without data', new McpError(-32_602, 'slow down'), FAILED],
  ])('%s', async (_, error, reading) => {
    const server = rpcServer(() => error);
    const client = await connected(server);
    await hand(reading, () => client.callTool(LOOK_UP), { how: 'thrown' });
    await client.close();
    await server.close();
  });
});

describe('over HTTP', () => {
  let http: LocalServer;
  beforeAll(async () => {
    http = await LocalServer.start();
    // A client asks for a stream of events beside its calls; a server need not have one.
    http.refusedMethod = 'GET';
  });
  afterAll(async () => {
    await http.close();
    await expectNoSockets();
  });

  /** Connects, then meets this. */
  async function withClient(then: Script, use: (client: Client) => Promise<unknown>): Promise<void> {
    http.answers((request, response) => void serveHttp(script, request, response));
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(http.url)) as Transport);
    http.answers(then);
    await use(client);
    await client.close();
  }

  test('a result marked as an error', async () => {
    script.answer = toolError(limited);
    await withClient(
      (request, response) => void serveHttp(script, request, response),
      (client) => hand(throttled(12_000), () => client.callTool(LOOK_UP), { how: 'returned' }),
    );
  });

  // The transport keeps the status, and drops every header.
  test.each([
    ['429', { status: 429, headers: { 'Retry-After': '7' } }, throttled()],
    ['429 without a wait', { status: 429 }, throttled()],
    ['503', { status: 503 }, FAILED],
    ['401', { status: 401 }, FAILED],
    ['404', { status: 404 }, FAILED],
  ])('an endpoint that answers %s', async (_, answer, reading) => {
    await withClient(answer, (client) => hand(reading, () => client.callTool(LOOK_UP), { how: 'thrown' }));
    expect(http.requests).toBe(1);
  });

  test('an endpoint that answers 429 to the first word', async () => {
    http.answers({ status: 429 });
    const connect = async () => {
      const client = new Client({ name: 'test', version: '1.0.0' });
      await client.connect(new StreamableHTTPClientTransport(new URL(http.url)) as Transport);
    };
    await hand(throttled(), connect, { how: 'thrown' });
  });

  test('an endpoint that is gone', async () => {
    await withClient('reset', (client) => hand(FAILED, () => client.callTool(LOOK_UP), { how: 'thrown' }));
  });
});
