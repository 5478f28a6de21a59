/** Where a request goes to. */
export interface Address {
  /** As URLs have it: in lower case, IPv6 in brackets. */
  readonly hostname: string;
  /** '' for that of the scheme. */
  readonly port: string;
  readonly protocol: 'http:' | 'https:';
  /** For a person: with brackets and, where it is not the one of its scheme, the port. */
  readonly text: string;
}

/** Somebody's name for a host is cut off here. */
const LONGEST = 253;

/** The address of `https://api.example.com:8443`; undefined where it is none. */
export function readOrigin(origin: string): Address | undefined {
  let url: URL;
  try {
    url = new URL(origin);
  } catch {
    return undefined;
  }
  const { hostname } = url;
  if (hostname === '') return undefined;
  const protocol = url.protocol === 'https:' || url.protocol === 'wss:' ? 'https:' : 'http:';
  const standard = protocol === 'https:' ? '443' : '80';
  const port = url.port === standard ? '' : url.port;
  const name = hostname.replace(/\.$/, '').slice(0, LONGEST);
  return { hostname: name, port, protocol, text: port === '' ? name : `${name}:${port}` };
}

/** An undici request, as far as it is read. */
export interface UndiciRequest {
  readonly origin?: unknown;
  readonly path?: unknown;
  readonly method?: unknown;
  /** Of its `host` header, where it has one of its own. */
  readonly host?: unknown;
}

/** The origin of an undici request; that of its path where it goes to a proxy in whole. */
export function undiciOrigin({ origin, path }: UndiciRequest): string {
  if (typeof path === 'string' && path.startsWith('http')) return originIn(path) ?? String(origin);
  return typeof origin === 'string' ? origin : String(origin);
}

/** A request of node:http, as far as it is read. */
export interface NodeRequest {
  readonly protocol?: unknown;
  readonly host?: unknown;
  readonly path?: unknown;
  readonly method?: unknown;
  readonly socketPath?: unknown;
  readonly getHeader?: (name: string) => unknown;
}

/** The origin of a request of node:http: its host, with the port that its `host` header names. */
export function nodeOrigin(request: NodeRequest): string {
  const { protocol, host, path, socketPath } = request;
  if (typeof path === 'string' && path.startsWith('http')) {
    const proxied = originIn(path);
    if (proxied !== undefined) return proxied;
  }
  if (typeof socketPath === 'string') return 'http://unix-socket';
  const name = String(host);
  const bare = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
  const header = request.getHeader?.('host');
  // A header of the caller's own that names another host says nothing about the port.
  const isOwn = typeof header === 'string' && header.startsWith(bare) && /^(?::\d+)?$/.test(header.slice(bare.length));
  const authority = isOwn ? header : bare;
  return `${String(protocol)}//${authority}`;
}

function originIn(path: string): string | undefined {
  return /^https?:\/\/[^/?#]+/i.exec(path)?.[0];
}
