import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ManualClock } from '../../../src/testing.ts';

/** The instant at which every rig begins, epoch milliseconds: what the server's `Date` says unless told otherwise. */
export const NOW = new ManualClock().wallNow();

/** What the server says to a request. */
export interface Answer {
  readonly status: number;
  /** In the casing in which they go over the wire; several values are several lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Text goes out as it is, anything else as JSON. Default: a JSON object with a message. */
  readonly body?: unknown;
}

/** An answer, no answer ever, a connection that breaks, or a handler of a test's own. */
export type Script = Answer | 'silence' | 'reset' | ((request: IncomingMessage, response: ServerResponse) => void);

/** How long a server that is closed waits for its connections to end. */
const PATIENCE_MS = 5_000;

/** HTTP date of an instant that lies so many milliseconds from the beginning. */
export function httpDate(afterMs: number): string {
  return new Date(NOW + afterMs).toUTCString();
}

/** A server on the loopback interface that answers what it is told to. Each connection serves one request. */
export class LocalServer {
  script: Script = { status: 200 };
  /** Requests since the last `answers`. */
  requests = 0;
  /** A method that is answered with 405 and not counted: what a client tries beside its calls. */
  refusedMethod: string | undefined;
  readonly #server: Server;
  /** Connections without a request: some pools open a spare one in the place of one that was given up. */
  readonly #spare = new Set<Socket>();
  #heard: () => void = () => undefined;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#spare.add(socket);
      socket.on('close', () => this.#spare.delete(socket));
    });
  }

  static async start(): Promise<LocalServer> {
    const server = createServer((request, response) => made.#serve(request, response));
    const made = new LocalServer(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return made;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** From now on every request is answered so. */
  answers(script: Script): void {
    this.script = script;
    this.requests = 0;
  }

  /** Resolves when the next request has arrived. */
  heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#heard = resolve;
    });
  }

  /** Ends by its own handle; rejects where a client has left a connection open. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve, reject) =>
      this.#server.close((error) => (error ? reject(error) : resolve())),
    );
    for (const socket of this.#spare) socket.destroy();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#server.getConnections((_error, count) => reject(new Error(`${count} connections left open`)));
      }, PATIENCE_MS);
    });
    try {
      await Promise.race([closed, late]);
    } finally {
      clearTimeout(timer);
      this.#server.closeAllConnections();
    }
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    this.#spare.delete(request.socket);
    if (request.method === this.refusedMethod) {
      send(response, { status: 405 });
      return;
    }
    this.requests++;
    this.#heard();
    const { script } = this;
    if (typeof script === 'function') {
      script(request, response);
      return;
    }
    request.resume();
    if (script === 'reset') request.socket.destroy();
    else if (script !== 'silence') request.on('end', () => send(response, script));
  }
}

function send(response: ServerResponse, { status, headers = {}, body = { message: 'slow down' } }: Answer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const type = typeof body === 'string' ? 'text/plain' : 'application/json';
  response.sendDate = false;
  const lines = { Date: httpDate(0), 'Content-Type': type, Connection: 'close', ...headers };
  response.writeHead(status, lines as Record<string, string>);
  response.end(text);
}
