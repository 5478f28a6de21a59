import { randomUUID } from 'node:crypto';
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { WHO } from './tools.ts';

/** A client that is connected to a server, and how to end both. */
export interface Connection {
  readonly client: Client;
  readonly close: () => Promise<void>;
}

type Make = () => McpServer;

export async function inMemory(make: Make): Promise<Connection> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const [client, server] = [new Client(WHO), make()];
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  return { client, close: () => client.close() };
}

/** The server in `stdio-server.ts`, in a process of its own. */
export const overStdio = (): Promise<Connection> => inChild();

/** The same behind a gate of its own. */
export const overStdioGated = (): Promise<Connection> => inChild('gated');

async function inChild(...flags: string[]): Promise<Connection> {
  const file = fileURLToPath(new URL('./stdio-server.ts', import.meta.url));
  const client = new Client(WHO);
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: ['--import', 'tsx', file, ...flags] }),
  );
  return { client, close: () => client.close() };
}

/** One server for each request. */
export async function overHttpStateless(make: Make): Promise<Connection> {
  return overHttp(async (request, response) => {
    const transport = new StreamableHTTPServerTransport({});
    await make().connect(transport as Transport);
    await transport.handleRequest(request, response);
  });
}

/** One server for each session. */
export async function overHttpStateful(make: Make): Promise<Connection> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return overHttp(async (request, response) => {
    let transport = sessions.get(String(request.headers['mcp-session-id']));
    if (transport === undefined) {
      const opened = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void sessions.set(id, opened),
      });
      transport = opened;
      await make().connect(transport as Transport);
    }
    await transport.handleRequest(request, response);
  });
}

async function overHttp(listener: RequestListener): Promise<Connection> {
  const http = await listen(listener);
  const client = new Client(WHO);
  await client.connect(new StreamableHTTPClientTransport(new URL(http.url)) as Transport);
  return {
    client,
    close: async () => {
      await client.close();
      await http.close();
    },
  };
}

/** An HTTP server on the loopback interface. */
export async function listen(listener: RequestListener) {
  const server: HttpServer = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/`, close };
}
