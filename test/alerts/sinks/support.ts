import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { afterEach } from 'vitest';

export { alertOf, HOSTILE, resolvedOf } from './alert.ts';

export interface Received {
  readonly request: IncomingMessage;
  readonly body: string;
}

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A receiver on the loopback interface that keeps what it gets; it is gone after the test. */
export async function receiver(
  answer?: RequestListener,
): Promise<{ url: string; got: Received[]; sockets: () => Promise<number> }> {
  const got: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      got.push({ request, body });
      if (answer === undefined) response.end('ok');
      else answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  const { port } = server.address() as AddressInfo;
  const sockets = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
  return { url: `http://127.0.0.1:${port}`, got, sockets };
}

export const signal = (): AbortSignal => new AbortController().signal;

/** What is wrong with a payload by its receiver's published rules; undefined where nothing is. */
export function faults(receiverName: string, payload: unknown): unknown {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const schema: object = JSON.parse(readFileSync(`test/fixtures/receivers/${receiverName}.schema.json`, 'utf8'));
  const check = ajv.compile(schema);
  // As it goes over the wire.
  return check(JSON.parse(JSON.stringify(payload))) ? undefined : check.errors;
}
