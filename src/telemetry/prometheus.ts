import type { IncomingMessage, Server, ServerResponse } from 'node:http';

const PATH = '/metrics';

/** Answers one scrape. */
export type Scrape = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers scrapes. It does not keep the process alive. */
export interface Endpoint {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly close: () => Promise<void>;
}

/**
 * Listens before anything is registered, so that a port in use leaves nothing behind.
 *
 * @throws Error that names the address where it cannot listen.
 */
export async function serve(at: { readonly port: number; readonly host: string }, scrape: Scrape): Promise<Endpoint> {
  const { createServer } = await import('node:http');
  const server = createServer((request, response) => answer(request, response, scrape));
  await listening(server, at);
  server.unref();
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : at.port;
  const { host } = at;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}${PATH}`;
  return {
    url,
    host,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // A scraper keeps its connection for the next scrape.
        server.closeAllConnections();
      }),
  };
}

function answer(request: IncomingMessage, response: ServerResponse, scrape: Scrape): void {
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const path = request.url?.split('?', 1)[0];
  if (isRead && path === PATH) {
    scrape(request, response);
    return;
  }
  response.statusCode = isRead ? 404 : 405;
  if (!isRead) response.setHeader('allow', 'GET, HEAD');
  response.setHeader('content-type', 'text/plain');
  response.end(`metrics are at ${PATH}\n`);
}

function listening(server: Server, { port, host }: { readonly port: number; readonly host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: Error & { code?: string }) => {
      const why =
        error.code === 'EADDRINUSE'
          ? 'is in use: one process, one port. Another one: prometheus: { port }, OTEL_EXPORTER_PROMETHEUS_PORT, or 0 for any that is free'
          : `cannot be listened on (${error.code ?? error.message})`;
      reject(new Error(`startTelemetry: ${host}:${port} ${why}`, { cause: error }));
    });
    server.listen({ port, host }, resolve);
  });
}
