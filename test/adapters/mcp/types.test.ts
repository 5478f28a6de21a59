import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { gateClient, gateServer, gateTool } from '../../../src/adapters/mcp.ts';
import { createDispatcher } from '../../../src/index.ts';
import { WHO } from './support/tools.ts';

const dispatcher = createDispatcher({ downstreams: { carrier: { quota: '60/minute' } } }, { env: {}, alertSinks: [] });

test('the types of the real package fit without casts, and are kept', () => {
  const client = gateClient(dispatcher, new Client(WHO), { downstream: 'carrier' });
  expectTypeOf(client).toEqualTypeOf<Client>();
  const mapped = gateClient(dispatcher, {} as Client, { downstreams: { find: 'carrier' } }).catch(() => undefined);
  expectTypeOf(mapped).toEqualTypeOf<Promise<Client | undefined>>();
  // @ts-expect-error: no such downstream
  expectTypeOf(() => gateClient(dispatcher, client, { downstream: 'carier' })).toBeFunction();
  expectTypeOf(() => gateTool(dispatcher, 'carrier', async () => ({ content: [] }))).toBeFunction();

  const server = gateServer(dispatcher, new McpServer(WHO), { downstream: 'carrier' });
  expectTypeOf(server).toEqualTypeOf<McpServer>();
  server.registerTool(
    'inline',
    { inputSchema: { id: z.string() } },
    gateTool(dispatcher, 'carrier', async ({ id }, extra) => {
      expectTypeOf(id).toEqualTypeOf<string>();
      expectTypeOf(extra.signal).toEqualTypeOf<AbortSignal>();
      return { content: [{ type: 'text', text: id }] };
    }),
  );
  server.registerTool(
    'plain',
    {},
    gateTool(dispatcher, 'carrier', async (extra) => {
      expectTypeOf(extra.signal).toEqualTypeOf<AbortSignal>();
      return { content: [{ type: 'text', text: String(extra.requestId) }] };
    }),
  );
  const sync = gateTool(dispatcher, 'carrier', (_args: { id: string }): CallToolResult => ({ content: [] }));
  server.registerTool('sync', { inputSchema: { id: z.string() } }, sync);
});
