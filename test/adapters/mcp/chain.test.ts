import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { gateClient, gateTool, transportFetch } from '../../../src/adapters/mcp.ts';
import { AdmissionError, type ErrorCode, type Outcome } from '../../../src/index.ts';
import {
  type Connection,
  inMemory,
  listen,
  overHttpStateful,
  overHttpStateless,
  overStdioGated,
} from './support/connections.ts';
import { rig, said } from './support/rig.ts';
import { answer, WHO } from './support/tools.ts';

let open: Connection | undefined;
afterEach(async () => open?.close());

const find = (id: string) => ({ name: 'find', arguments: { id } });
const EASY = { quota: '6000/minute', burst: 10 } as const;

describe.each([
  ['in memory', inMemory],
  ['over streamable HTTP, with sessions', overHttpStateful],
  ['over streamable HTTP, without', overHttpStateless],
])('client, server and API, %s', (_, connect) => {
  test('the API throttles: the server passes it on, and the client holds until then', async () => {
    let requests = 0;
    const api = await listen((_request, response) => {
      requests += 1;
      response.writeHead(requests === 1 ? 429 : 200, requests === 1 ? { 'Retry-After': '40' } : {}).end('{}');
    });
    const theirs = rig({ carrier: EASY });
    open = await connect(() => {
      const server = new McpServer(WHO);
      const callback = async ({ id }: { id: string }, { signal }: { signal: AbortSignal }) => {
        const response = await fetch(api.url, { signal });
        if (!response.ok) throw Object.assign(new Error('carrier'), { response });
        return answer(id);
      };
      const config = { inputSchema: { id: z.string() }, outputSchema: { id: z.string() } };
      server.registerTool('find', config, gateTool(theirs.dispatcher, 'carrier', callback, { tool: 'find' }));
      return server;
    });
    const ours = rig({ deliveries: EASY });
    const client = gateClient(ours.dispatcher, open.client, { downstream: 'deliveries' });
    await client.listTools();
    expect(said(await client.callTool(find('T-1')))).toMatchObject({
      error: { code: 'RATE_LIMITED', downstream: 'carrier', retryable: true, retry_after_ms: 40_000 },
    });
    expect(ours.events.find(({ type }) => type === 'settled')).toMatchObject({
      outcome: 'throttled',
      retryAfterMs: 40_000,
    });
    expect([ours.heldMs('deliveries'), theirs.heldMs('carrier')]).toEqual([40_000, 40_000]);

    const second = client.callTool(find('T-2'));
    await Promise.all([ours.clock.advance(39_999), theirs.clock.advance(39_999)]);
    expect(requests).toBe(1);
    await Promise.all([theirs.clock.advance(1), ours.clock.advance(1)]);
    expect(await second).toEqual(answer('T-2'));
    expect(requests).toBe(2);
    await api.close();
  });
});

test('client and server, over stdio: what a process refuses, another holds', async () => {
  open = await overStdioGated();
  const { dispatcher, heldMs } = rig({ deliveries: EASY });
  const client = gateClient(dispatcher, open.client, { downstream: 'deliveries' });
  await client.listTools();
  const lookUp = { name: 'look_up', arguments: { id: 'x' } };
  expect(await client.callTool(lookUp)).toEqual(answer('x'));
  const refused = said(await client.callTool(lookUp)) as { error: { retry_after_ms: number } };
  expect(refused).toMatchObject({ error: { code: 'RATE_LIMIT_QUEUE_FULL', downstream: 'carrier', retryable: true } });
  expect(refused.error.retry_after_ms).toBeGreaterThan(1_000);
  expect(heldMs('deliveries')).toBe(refused.error.retry_after_ms);
});

describe('a refusal of a server with a Penstock of its own, as the lane of the client reads it', () => {
  /** What the lane makes of the refusal that the server returns. */
  async function read(error: AdmissionError | CallToolResult): Promise<[outcome: Outcome | undefined, heldMs: number]> {
    const theirs = rig({ carrier: EASY });
    open = await inMemory(() => {
      const server = new McpServer(WHO);
      const callback = (): CallToolResult => {
        if (error instanceof AdmissionError) throw error;
        return error;
      };
      server.registerTool(
        'find',
        { outputSchema: { id: z.string() } },
        gateTool(theirs.dispatcher, 'carrier', callback),
      );
      return server;
    });
    const { dispatcher, events, heldMs } = rig({ deliveries: EASY });
    const client = gateClient(dispatcher, open.client, { downstream: 'deliveries' });
    await client.listTools();
    expect(await client.callTool(find('x'))).toMatchObject({ isError: true });
    const settled = events.find((event) => event.type === 'settled');
    return [(settled as { outcome?: Outcome }).outcome, heldMs('deliveries')];
  }

  const facts = { downstream: 'carrier', retryable: true, retryAfterMs: 45_000 };

  test.each<[ErrorCode, Outcome, number]>([
    ['RATE_LIMITED', 'throttled', 45_000],
    ['RATE_LIMIT_QUEUE_FULL', 'throttled', 45_000],
    ['RATE_LIMIT_QUEUE_TIMEOUT', 'throttled', 45_000],
    // About that call alone: another one may be in time.
    ['DEADLINE_EXCEEDED', 'failed', 0],
    ['COST_EXCEEDS_QUOTA', 'failed', 0],
    ['UNKNOWN_DOWNSTREAM', 'failed', 0],
    ['INVALID_CALL', 'failed', 0],
    ['DISPATCHER_CLOSED', 'failed', 0],
    ['CANCELLED', 'failed', 0],
    ['INVALID_POLICY', 'failed', 0],
  ])('%s', async (code, outcome, heldMs) => {
    expect(await read(new AdmissionError(code, 'no', facts))).toEqual([outcome, heldMs]);
  });

  test('a code of another version is a failure', async () => {
    expect(await read(new AdmissionError('OUT_OF_LUCK' as never, 'no', facts))).toEqual(['failed', 0]);
  });

  const raw = (error: unknown, more: Partial<CallToolResult> = {}): CallToolResult => ({
    isError: true,
    content: [{ type: 'text', text: JSON.stringify({ error }) }],
    ...more,
  });
  const whole = {
    code: 'RATE_LIMIT_QUEUE_FULL',
    downstream: 'carrier',
    retryable: true,
    message: 'no',
    retry_after_ms: 9_000,
  };

  test.each<[string, CallToolResult, Outcome, number]>([
    ['whose _meta was lost on the way', raw(whole), 'throttled', 9_000],
    ['without a time: the lane chooses one', raw({ ...whole, retry_after_ms: undefined }), 'throttled', 2_000],
    [
      'that will not be cured by waiting',
      raw({ ...whole, code: 'RATE_LIMITED', retryable: false, retry_after_ms: undefined }),
      'exhausted',
      60_000,
    ],
    ['with nonsense for a time', raw({ ...whole, retry_after_ms: 'soon' }), 'throttled', 2_000],
    ['with nonsense for a code', raw(0, { _meta: { 'penstock/error': { code: 7 } } }), 'failed', 0],
    ['with nonsense in _meta', raw('x', { _meta: { 'penstock/error': 'x' } }), 'success', 0],
    ['as Notion has it, in the text', raw({ code: 'rate_limited', retry_after_seconds: 12 }), 'throttled', 12_000],
  ])('one %s', async (_, result, outcome, heldMs) => {
    expect(await read(result)).toEqual([outcome, heldMs]);
  });
});

test('as Notion has it, in structured content too', async () => {
  const error = { code: 'rate_limited', retry_after_seconds: 12 };
  open = await inMemory(() => {
    const server = new McpServer(WHO);
    const content = [{ type: 'text' as const, text: 'slow down' }];
    server.registerTool('find', {}, async () => ({ isError: true, content, structuredContent: { error } }));
    return server;
  });
  const { dispatcher, heldMs } = rig({ deliveries: EASY });
  const client = gateClient(dispatcher, open.client, { downstream: 'deliveries' });
  expect(await client.callTool(find('x'))).toMatchObject({ structuredContent: { error } });
  expect(heldMs('deliveries')).toBe(12_000);
});

describe('a 429 of the endpoint itself', () => {
  /** A client of an endpoint that has become busy. */
  async function busyEndpoint(options: StreamableHTTPClientTransportOptions, status = 429) {
    let isBusy = false;
    const http = await listen((request, response) => {
      if (request.method === 'GET') return response.writeHead(405).end();
      if (isBusy) return response.writeHead(status, { 'Retry-After': '40' }).end('slow down');
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        const { id } = JSON.parse(body) as { id?: number };
        if (id === undefined) return response.writeHead(202).end();
        const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: WHO };
        response
          .writeHead(200, { 'Content-Type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });
    });
    const client = new Client(WHO);
    await client.connect(new StreamableHTTPClientTransport(new URL(http.url), options) as Transport);
    open = {
      client,
      close: async () => {
        await client.close();
        await http.close();
      },
    };
    isBusy = true;
    return client;
  }

  test('is a refusal, for the model and for the lane; its time is lost on the way through the SDK', async () => {
    const { dispatcher, heldMs } = rig({ deliveries: EASY });
    const gated = gateClient(dispatcher, await busyEndpoint({}), { downstream: 'deliveries' });
    expect(said(await gated.callTool(find('x')))).toMatchObject({
      error: { code: 'RATE_LIMITED', downstream: 'deliveries', retryable: true },
    });
    expect(heldMs('deliveries')).toBe(2_000);
  });

  test('with transportFetch holds the lane until the time that the server names, which the model is told', async () => {
    const { dispatcher, heldMs } = rig({ deliveries: EASY });
    const client = await busyEndpoint({ fetch: transportFetch() });
    const gated = gateClient(dispatcher, client, { downstream: 'deliveries' });
    expect(said(await gated.callTool(find('x')))).toMatchObject({
      error: { code: 'RATE_LIMITED', downstream: 'deliveries', retryable: true, retry_after_ms: 40_000 },
    });
    expect(heldMs('deliveries')).toBe(40_000);
  });

  test('with transportFetch over something that is no fetch is told at once', () => {
    expect(() => transportFetch({} as never)).toThrow('transportFetch: fetch: expected a function, found an object');
  });

  test('a 503 with a time too: a hold, and the error as it is', async () => {
    const { dispatcher, heldMs } = rig({ deliveries: EASY });
    const client = await busyEndpoint({ fetch: transportFetch() }, 503);
    const gated = gateClient(dispatcher, client, { downstream: 'deliveries' });
    await expect(gated.callTool(find('x'))).rejects.toMatchObject({ code: 503, response: { status: 503 } });
    expect(heldMs('deliveries')).toBe(40_000);
  });
});
