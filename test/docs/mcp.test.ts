import * as http from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { waitMessage } from '../../src/adapters/mcp/progress.ts';
import * as mcp from '../../src/adapters/mcp.ts';
import { type Connection, inMemory } from '../adapters/mcp/support/connections.ts';
import { rig, TWO_A_MINUTE } from '../adapters/mcp/support/rig.ts';
import { WHO } from '../adapters/mcp/support/tools.ts';
import { runBlock } from './support/example.ts';
import { blockAt, blocksOf } from './support/pages.ts';

const PAGE = 'docs/mcp.md';
const packages = { 'penstock/mcp': mcp, '@modelcontextprotocol/sdk/client/streamableHttp.js': http };
const POLICY = { notes: TWO_A_MINUTE, web: TWO_A_MINUTE, carrier: TWO_A_MINUTE, mail: TWO_A_MINUTE };

let open: Connection | undefined;
afterEach(async () => open?.close());

async function example<Exports>(title: string, given: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const ran = await runBlock<Exports>(blockAt(PAGE, 'ts', title), { given: { ...given, ...more }, packages });
  return ran.exports;
}

function notesServer(): McpServer {
  const server = new McpServer(WHO);
  const text = { content: [{ type: 'text' as const, text: 'found' }] };
  server.registerTool('search', { inputSchema: { query: z.string() } }, async () => text);
  for (const name of ['read_page', 'ping']) server.registerTool(name, {}, async () => text);
  return server;
}

test('A client: its calls pass the gate', async () => {
  const { dispatcher, events } = rig(POLICY);
  open = await inMemory(notesServer);
  const { result } = await example<{ result: unknown }>('A client', { dispatcher, client: open.client });
  expect(result).toEqual({ content: [{ type: 'text', text: 'found' }] });
  expect(events[0]).toMatchObject({ downstream: 'notes', tool: 'search' });
});

test('A server over HTTP: its transport keeps what a 429 says', async () => {
  const asked: unknown[] = [];
  const original = globalThis.fetch;
  globalThis.fetch = async (url) => {
    asked.push(String(url));
    return new Response('', { status: 429, headers: { 'Retry-After': '7' } });
  };
  try {
    const { transport } = await example<{ transport: http.StreamableHTTPClientTransport }>('A server over HTTP', {});
    const sent = transport.send({ jsonrpc: '2.0', method: 'ping', id: 1 });
    await expect(sent).rejects.toMatchObject({ code: 429, response: { status: 429 } });
    expect(asked).toEqual(['https://notes.example/mcp']);
  } finally {
    globalThis.fetch = original;
  }
});

test('A map by tool: each goes its way', async () => {
  const { dispatcher, events } = rig(POLICY);
  open = await inMemory(notesServer);
  const { gated } = await example<{ gated: Connection['client'] }>('A map by tool', {
    dispatcher,
    client: open.client,
  });
  await gated.callTool({ name: 'read_page' });
  await gated.callTool({ name: 'ping' });
  expect(events.flatMap((event) => (event.type === 'settled' ? [event] : []))).toMatchObject([
    { downstream: 'web', tool: 'read_page', priority: 'batch' },
  ]);
});

test('A server: its callback passes the gate, and a 429 reaches the model', async () => {
  const { dispatcher, events } = rig(POLICY);
  const server = new McpServer(WHO);
  const fetch = async () => new Response('', { status: 429, headers: { 'Retry-After': '7' } });
  await example('A server', { dispatcher, server, z }, { fetch });
  open = await inMemory(() => server);
  const result = await open.client.callTool({ name: 'get_delivery', arguments: { id: 'T-1' } });
  expect(result._meta?.['penstock/error']).toMatchObject({ code: 'RATE_LIMITED', retry_after_ms: 7_000 });
  expect(events[0]).toMatchObject({ downstream: 'carrier', tool: 'get_delivery' });
});

test('A whole server: what is registered with it passes the gate', async () => {
  const { dispatcher, events } = rig(POLICY);
  const { gated } = await example<{ gated: McpServer }>('A whole server', { dispatcher, server: new McpServer(WHO) });
  open = await inMemory(() => gated);
  await open.client.callTool({ name: 'get_delivery' });
  expect(events[0]).toMatchObject({ downstream: 'carrier', tool: 'get_delivery' });
});

test('what the model sees is what a refused call returns', async () => {
  const { dispatcher } = rig(POLICY);
  open = await inMemory(notesServer);
  const client = mcp.gateClient(dispatcher, open.client, { downstream: 'notes' });
  const call = { name: 'search', arguments: { query: 'x' } };
  await Promise.all([client.callTool(call), client.callTool(call)]);
  const refused = await client.callTool(call, undefined, { timeout: 20_000 });
  const [json, progress] = blocksOf(PAGE).filter(({ lang }) => lang === 'text');
  expect(refused).toEqual(JSON.parse(json?.code ?? ''));
  const message = waitMessage('notes', { position: 7, expectedMs: 11_400, limitedBy: 'quota' });
  expect(JSON.parse(progress?.code ?? '')).toEqual({ progress: 0, message });
});
