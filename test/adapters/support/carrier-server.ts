import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server answers to one path. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A carrier's API on loopback: `answers` by path, `{ "delivered": path }` for every other; keeps what was asked. */
export class CarrierServer {
  readonly requests: string[] = [];
  readonly answers = new Map<string, Answer>();
  url = '';
  readonly #server = createServer((request, response) => {
    const path = request.url ?? '';
    this.requests.push(path);
    const { status = 200, headers = {}, body = { delivered: path } } = this.answers.get(path) ?? {};
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** What a tool does: the body of a good answer; throws what wrappers of `fetch` throw. */
  async ask(path: string, signal?: AbortSignal): Promise<unknown> {
    const response = await fetch(`${this.url}${path}`, { signal: signal ?? null });
    const body = await response.json();
    if (response.ok) return body;
    throw Object.assign(new Error(`Request failed with status code ${response.status}`), {
      status: response.status,
      headers: Object.fromEntries(response.headers),
    });
  }
}

/** Resolves when something outside the clock (a socket) has happened. */
export async function until(happened: () => boolean): Promise<void> {
  for (let turn = 0; turn < 20_000; turn += 1) {
    if (happened()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`did not happen: ${happened}`);
}
