import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Bodies } from './body.ts';
import type { Guard } from './guard.ts';

/** Kept nowhere, taken for nothing else, and no part of somebody's page. */
const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
} as const;
const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const AT_NAME = '/snapshot/';

/** Answers one request; whatever goes wrong stays here. */
export function answer(request: IncomingMessage, response: ServerResponse, guard: Guard, bodies: Bodies): void {
  response.on('error', () => undefined);
  // Nobody reads a body here: the connection ends with the answer, not with all that is still to come.
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0;
  if (hasBody) response.setHeader('connection', 'close');
  try {
    const denial = guard.judge(request);
    if (denial !== undefined) {
      send(response, denial.status, TEXT, `${denial.text}\n`, denial.headers);
      return;
    }
    const path = pathOf(request.url ?? '/');
    if (path === '/') {
      send(response, 200, TEXT, hint(bodies.names));
      return;
    }
    const name = path?.startsWith(AT_NAME) === true ? path.slice(AT_NAME.length) : undefined;
    const body = path === '/snapshot' || name !== undefined ? bodies.text(name) : undefined;
    if (body === undefined) send(response, 404, TEXT, 'Not here. GET /snapshot is.\n');
    else send(response, 200, JSON_TYPE, body);
  } catch {
    if (response.headersSent) response.destroy();
    else send(response, 500, TEXT, 'The snapshot could not be made.\n');
  }
}

function send(
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, { ...HEADERS, 'content-type': type, 'content-length': length, ...headers });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}

function hint(names: readonly string[]): string {
  const several = names.map((name) => `GET /snapshot/${encodeURIComponent(name)}\n`).join('');
  return `Penstock status: GET /snapshot (JSON), or: penstock top\n${several}`;
}

/** The path without its query; undefined where it cannot be read. */
function pathOf(url: string): string | undefined {
  try {
    return decodeURIComponent(new URL(url, 'http://status').pathname);
  } catch {
    return undefined;
  }
}
