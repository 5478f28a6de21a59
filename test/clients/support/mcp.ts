import type { IncomingMessage, ServerResponse } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { CallToolRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const WHO = { name: 'test', version: '1.0.0' };

/** What the tools answer with. */
export interface ToolScript {
  /** A result, what the tool throws, or undefined: no answer ever. */
  answer: CallToolResult | Error | undefined;
}

/** A server with one tool, `look_up({ id: number })`, that answers as its script says. */
export function toolServer(script: ToolScript): McpServer {
  const server = new McpServer(WHO);
  server.registerTool('look_up', { inputSchema: { id: z.number() } }, async () => {
    const { answer } = script;
    if (answer instanceof Error) throw answer;
    return answer ?? new Promise<never>(() => undefined);
  });
  return server;
}

/** A server whose handler throws: the client gets a JSON-RPC error with code and data. */
export function rpcServer(error: () => Error): Server {
  const server = new Server(WHO, { capabilities: { tools: {} } });
  server.setRequestHandler(CallToolRequestSchema, () => {
    throw error();
  });
  return server;
}

/** A client that is connected to a server in this process. */
export async function connected(server: { connect: (transport: Transport) => Promise<void> }): Promise<Client> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client(WHO);
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  return client;
}

/** Serves one request of a stateless server over HTTP, in JSON. */
export async function serveHttp(script: ToolScript, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader('Connection', 'close');
  const server = toolServer(script);
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport as Transport);
  await transport.handleRequest(request, response);
}

/** A result that says it failed, with this JSON in its text. */
export function toolError(said: unknown, more: Partial<CallToolResult> = {}): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(said) }], ...more };
}

/** A result that says it failed, in words. */
export function inWords(text: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}
