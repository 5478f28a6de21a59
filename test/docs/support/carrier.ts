import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Answer {
  readonly status: number;
  readonly headers?: Record<string, string>;
}

/** A carrier on loopback that answers over real HTTP. */
export interface Carrier {
  /** `fetch` for pages that write `https://carrier.example`. */
  readonly fetch: typeof globalThis.fetch;
  /** Paths that were asked for. */
  readonly paths: readonly string[];
  /** What it answers next, once, instead of a 200. */
  readonly answerNext: (answer: Answer) => void;
  readonly close: () => Promise<void>;
}

export async function startCarrier(): Promise<Carrier> {
  const paths: string[] = [];
  const next: Answer[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    const { status, headers = {} } = next.shift() ?? { status: 200 };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ id: request.url?.split('/').at(-1), state: 'on its way' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const here = (input: string): string => input.replace('https://carrier.example', `http://127.0.0.1:${port}`);
  return {
    fetch: (input, init) => globalThis.fetch(here(String(input)), init),
    paths,
    answerNext: (answer) => void next.push(answer),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
