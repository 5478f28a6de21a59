import { request as httpRequest } from 'node:http';
import { createDispatcher } from '../../../src/index.ts';
import { type StatusOptions, type StatusServer, type StatusSources, serveStatus } from '../../../src/status.ts';

const open: StatusServer[] = [];
/** Closes everything that `serve` has opened: after each test. */
export async function closeAll(): Promise<void> {
  for (const server of open.splice(0)) await server.close();
}

export async function serve(sources: StatusSources, options: StatusOptions = {}): Promise<StatusServer> {
  const server = await serveStatus(sources, { port: 0, ...options });
  closeLater(server);
  return server;
}

export function closeLater(server: StatusServer | undefined): void {
  if (server !== undefined) open.push(server);
}

export function dispatcher(name?: string) {
  return createDispatcher({ downstreams: { carrier: { quota: '60/minute' } } }, { env: {}, ...(name && { name }) });
}

export interface Answer {
  readonly status: number | undefined;
  readonly headers: Record<string, unknown>;
  readonly body: string;
}

/** As any client could send it, a Host header of its own included. */
export function ask(
  url: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
    });
    request.on('error', reject);
    request.end(body);
  });
}
