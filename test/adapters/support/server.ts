import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Milliseconds since the server was made. */
  readonly at: number;
}

export type Handler = (request: Arrived, response: ServerResponse, count: number) => void;

/** A server on the loopback interface that remembers what has arrived. */
export class TestServer {
  readonly arrived: Arrived[] = [];
  readonly #server: Server;
  readonly #bornAt = performance.now();
  #handler: Handler;

  private constructor(handler: Handler) {
    this.#handler = handler;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(handler: Handler = (_, response) => void response.end('ok')): Promise<TestServer> {
    const made = new TestServer(handler);
    made.#server.listen(0, '127.0.0.1');
    await once(made.#server, 'listening');
    return made;
  }

  answers(handler: Handler): void {
    this.#handler = handler;
    this.arrived.length = 0;
  }

  /** For `upgrade` and `connect`. */
  get server(): Server {
    return this.#server;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = '', url = '', headers } = request;
    const body = Buffer.concat(parts).toString();
    const at = performance.now() - this.#bornAt;
    this.arrived.push({ method, path: url, headers: headers as Arrived['headers'], body, at });
    this.#handler(this.arrived.at(-1)!, response, this.arrived.length);
  }
}
