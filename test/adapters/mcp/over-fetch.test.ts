import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { expect, onTestFinished, test } from 'vitest';
import { createFetch } from '../../../src/adapters/fetch.ts';
import { watchUngated } from '../../../src/adapters/guard.ts';
import { gateClient } from '../../../src/adapters/mcp.ts';
import { createDispatcher, type DispatcherEvent } from '../../../src/index.ts';

/** An endpoint that answers every call of its one tool. */
async function endpoint(): Promise<string> {
  const server = createServer(async (request, response) => {
    const mcp = new McpServer({ name: 'notes', version: '1.0.0' });
    mcp.registerTool('read', {}, async () => ({ content: [{ type: 'text', text: 'a note' }] }));
    const transport = new StreamableHTTPServerTransport();
    response.on('close', () => void mcp.close());
    await mcp.connect(transport as never);
    await transport.handleRequest(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a gated client over a gated fetch: a call and its request take one permit and one place', async () => {
  const host = await endpoint();
  const policy = { downstreams: { notes: { hosts: [host], maxConcurrent: 1 } } };
  const dispatcher = createDispatcher(policy, { alertSinks: [], env: {} });
  onTestFinished(() => void dispatcher.close({ within: 0 }));
  const told: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => {
    if (event.type === 'ungated-request' || event.type === 'hidden-retries') told.push(event);
  });
  const watch = watchUngated(dispatcher);
  const started = () => dispatcher.snapshot().downstreams[0]!.totals.started;

  const client = new Client({ name: 'agent', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(`http://${host}/mcp`), {
    fetch: createFetch(dispatcher),
  });
  await client.connect(transport as never);
  onTestFinished(() => client.close());
  const connecting = started();
  const gated = gateClient(dispatcher, client, { downstream: 'notes' });
  const results = await Promise.all(Array.from({ length: 6 }, () => gated.callTool({ name: 'read', arguments: {} })));

  expect(results).toEqual(Array.from({ length: 6 }, () => ({ content: [{ type: 'text', text: 'a note' }] })));
  expect(started() - connecting).toBe(6);
  expect(told).toEqual([]);
  expect(watch.inventory().claimed).toMatchObject([{ host, ungated: 0, retries: 0, unattributed: 0 }]);
});
