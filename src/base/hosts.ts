/** An account that stands for a host begins with this: then it is no secret, and alerts may name it. */
export const HOST_ACCOUNT = 'host:';

const NAME = String.raw`(?:\*\.)?[^\s/:@*?#%\\[\]<>^|]+`;
const ADDRESS = String.raw`\[[0-9A-Fa-f:.]+\]`;

/** What a pattern of hosts looks like: a name, `*.` and a name, an address (IPv6 in brackets), or `*`; then perhaps a port. */
export const HOST_PATTERN = new RegExp(String.raw`^(?:\*|${NAME}|${ADDRESS})(?::\d{1,5})?$`);

/** The ports that a URL leaves out: with one of them a host is what it is without. */
const DEFAULT_PORTS: ReadonlySet<string> = new Set(['', '80', '443']);

/** One pattern of `hosts`, read. */
export interface HostPattern {
  /** In ASCII, lower case, without a dot at its end; '' for any host. */
  readonly name: string;
  /** It is everything below `name`, not `name` itself. */
  readonly isSuffix: boolean;
  /** Undefined: any port. The default ports are `default`. */
  readonly port: string | undefined;
}

/** Undefined for a text that is no pattern. */
export function readHostPattern(text: string): HostPattern | undefined {
  if (!HOST_PATTERN.test(text)) return undefined;
  const [, whole = '', port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
  if (port !== undefined && Number(port) > 65_535) return undefined;
  const isSuffix = whole.startsWith('*');
  const bare = whole.replace(/^\*\.?/, '');
  const name = bare === '' ? '' : hostName(bare);
  return name === undefined ? undefined : { name, isSuffix, port: port === undefined ? undefined : portKey(port) };
}

/** `default` for a port that URLs leave out. */
export function portKey(port: string): string {
  return DEFAULT_PORTS.has(port) ? 'default' : String(Number(port));
}

/** `api.example.com:8443`, without a default port. */
export function authorityOf({ hostname, port }: { readonly hostname: string; readonly port: string }): string {
  const name = hostname.replace(/\.$/, '');
  return DEFAULT_PORTS.has(port) ? name : `${name}:${port}`;
}

/** What was probably meant by something that is no pattern: of an address the host. */
export function suggestHost(text: string): string | undefined {
  const address = text.trim();
  const url = urlOf(/^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `http://${address}`);
  if (url === undefined || url.hostname === '') return undefined;
  const found = authorityOf(url);
  return found !== text && readHostPattern(found) !== undefined ? found : undefined;
}

/** A name as URLs have it: lower case, international ones in ASCII; undefined where it can be none. */
function hostName(bare: string): string | undefined {
  const name = urlOf(`http://${bare}/`)?.hostname.replace(/\.$/, '');
  return name === '' ? undefined : name;
}

function urlOf(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
