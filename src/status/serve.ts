import { createServer, type Server } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { show } from '../base/text.ts';
import { answer } from './answer.ts';
import { Bodies, type SnapshotSource } from './body.ts';
import { Guard } from './guard.ts';
import { readOptions, type Settings, type StatusOptions, type StatusSources } from './options.ts';

export type { SnapshotSource } from './body.ts';
export { DEFAULT_STATUS_PORT, type StatusOptions, type StatusSources } from './options.ts';

/** A status server that listens. */
export interface StatusServer {
  /** `http://127.0.0.1:9465` */
  readonly url: string;
  readonly port: number;
  /** Stops listening and ends every connection; twice is once. */
  readonly close: () => Promise<void>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
}

const MOST_CONNECTIONS = 64;
/** A client gets this long to send its few lines, and may then be silent for as long between two requests. */
const CLIENT_MS = 5_000;
const MOST_HEADER_BYTES = 8_192;

/**
 * Serves the snapshot of a dispatcher as JSON at `/snapshot`, for `penstock top` and for `curl`; of several, by
 * name, one each at `/snapshot/<name>`. Read-only, on this machine alone unless told otherwise. It never keeps
 * the process alive, and nothing that a client does reaches the program.
 *
 * @throws {Error} (rejects) where an option is wrong or the port is taken.
 * @example
 * const status = await serveStatus(dispatcher);
 * console.log(`penstock top ${status.url}`);
 */
export async function serveStatus(sources: StatusSources, options: StatusOptions = {}): Promise<StatusServer> {
  const { byName, isOne } = readSources(sources);
  const settings = await readOptions(options);
  const guard = new Guard(settings.token, settings.allowedHosts);
  const bodies = new Bodies(byName, isOne, settings.clock);
  const limits = {
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: CLIENT_MS,
    requestTimeout: CLIENT_MS,
    keepAliveTimeout: CLIENT_MS,
    connectionsCheckingInterval: 1_000,
  };
  const server = createServer(limits, (request, response) => answer(request, response, guard, bodies));
  server.maxConnections = MOST_CONNECTIONS;
  // Neither the server nor a client that stays connected is a reason for the process to live on.
  server.on('connection', (socket) => socket.unref());
  server.on('clientError', (_, socket) => socket.destroy());
  await listen(server, settings);
  server.on('error', () => undefined);
  server.unref();
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  };
  return { url: urlOf(settings.host, port), port, close, [Symbol.asyncDispose]: close };
}

/**
 * The same where the operator has switched it on, so that a program can offer it and leave it off: with
 * `PENSTOCK_STATUS` set to `on`, a port, a range of ports, or `host:port`; `PENSTOCK_STATUS_TOKEN_FROM` names the
 * token. Resolves to undefined where the variable is missing, empty or `off`. The variables win over `options`.
 */
export async function serveStatusFromEnv(
  sources: StatusSources,
  options: StatusOptions = {},
): Promise<StatusServer | undefined> {
  const env = options.env ?? process.env;
  const value = (env.PENSTOCK_STATUS ?? '').trim();
  if (['', 'off', 'false', 'no', '0'].includes(value.toLowerCase())) return undefined;
  const tokenFrom = env.PENSTOCK_STATUS_TOKEN_FROM?.trim();
  const token = tokenFrom === undefined || tokenFrom === '' ? {} : { tokenFrom, token: undefined };
  if (['on', 'true', 'yes', '1'].includes(value.toLowerCase())) return serveStatus(sources, { ...options, ...token });
  const match = /^(?:(\[[0-9a-f:.]+\]|[^:\s]+):)?([\d-]+)$/i.exec(value);
  if (match === null) {
    throw new Error(`PENSTOCK_STATUS: expected on, off, a port or host:port; found ${show(value)}`);
  }
  const host = match[1]?.replace(/^\[|\]$/g, '');
  const where = { port: match[2], ...(host === undefined ? {} : { host }) };
  return serveStatus(sources, { ...options, ...where, ...token });
}

function readSources(sources: StatusSources): { byName: Map<string, SnapshotSource>; isOne: boolean } {
  if (isSource(sources)) return { byName: new Map([['', sources]]), isOne: true };
  const entries = typeof sources === 'object' && sources !== null ? Object.entries(sources) : [];
  if (entries.length === 0 || Array.isArray(sources)) {
    throw new Error('status: expected a dispatcher, or several by name: { checkout, search }');
  }
  for (const [name, source] of entries) {
    if (!isSource(source)) throw new Error(`status: ${show(name)}: expected a dispatcher, found ${show(source)}`);
  }
  return { byName: new Map(entries), isOne: false };
}

function isSource(value: unknown): value is SnapshotSource {
  return typeof value === 'object' && value !== null && typeof (value as SnapshotSource).snapshot === 'function';
}

/** Listens on the first port that is free. */
async function listen(server: Server, { ports, host }: Settings): Promise<void> {
  for (const port of ports) {
    const error = await failureOf(server, port, host);
    if (error === undefined) return;
    if (error.code === 'EADDRINUSE' && port !== ports.at(-1)) continue;
    const range = ports.length > 1 ? `${ports[0]}-${port}` : String(port);
    throw new Error(`status: cannot listen on ${host} port ${range}: ${reasonOf(error.code)}`, { cause: error });
  }
}

function failureOf(server: Server, port: number, host: string): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const settle = (error?: NodeJS.ErrnoException): void => {
      server.off('error', settle).off('listening', settle);
      resolve(error);
    };
    server.once('error', settle).once('listening', settle);
    // Exclusive, or the workers of a cluster share one port and each request is answered by another.
    server.listen({ port, host, exclusive: true });
  });
}

function reasonOf(code: string | undefined): string {
  if (code === 'EADDRINUSE') return 'in use already; give another port, a range, or 0 for any that is free';
  if (code === 'EACCES') return 'not allowed; ports below 1024 usually are not';
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'this machine has no such address';
  return code ?? 'it failed';
}

/** Where a program on this machine reads it: an address that stands for all is none to connect to. */
function urlOf(host: string, port: number): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${isIP(reached) === 6 ? `[${reached}]` : reached}:${port}`;
}
