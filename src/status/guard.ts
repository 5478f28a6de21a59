import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/** Why a request is not answered. */
export interface Denial {
  readonly status: 401 | 403 | 404 | 405;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Says who may read: a program on this machine, or one that has the token. */
export class Guard {
  readonly #token: Uint8Array | undefined;
  readonly #hosts: ReadonlySet<string>;

  constructor(token: string | undefined, hosts: readonly string[]) {
    this.#token = token === undefined ? undefined : digest(token);
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()));
  }

  /** Undefined if the request may be answered. Nothing is said of what there is before that. */
  judge(request: IncomingMessage): Denial | undefined {
    if (!this.#isForUs(request.headers.host)) {
      return { status: 403, text: 'The Host header names a machine that this server does not go by (allowedHosts).' };
    }
    if (this.#token !== undefined && !this.#hasToken(request.headers.authorization)) {
      return { status: 401, text: 'A token is needed.', headers: { 'www-authenticate': 'Bearer' } };
    }
    if (request.method === 'GET' || request.method === 'HEAD') return undefined;
    return { status: 405, text: 'This server is read-only.', headers: { allow: 'GET, HEAD' } };
  }

  /**
   * A page whose name has been made to point at this machine (DNS rebinding) can read what it gets, but its
   * requests carry that name: only addresses and names of the machine's own are answered.
   */
  #isForUs(host: string | undefined): boolean {
    const name = hostName(host ?? '');
    if (name === undefined) return false;
    return isLoopbackName(name) || isIP(name) !== 0 || this.#hosts.has(name);
  }

  /** Digests have one length and show nothing of how much of a guess was right. */
  #hasToken(authorization: string | undefined): boolean {
    const match = /^bearer +(\S+) *$/i.exec(authorization ?? '');
    return match?.[1] !== undefined && this.#token !== undefined && timingSafeEqual(digest(match[1]), this.#token);
  }
}

/** Whether nobody but this machine can reach an address that is listened on. */
export function isLoopback(host: string): boolean {
  if (isIP(host) === 4) return host.startsWith('127.');
  return host === '::1' || isLoopbackName(host.toLowerCase());
}

/** `localhost` and what is below it always mean this machine (RFC 6761, section 6.3). */
function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

/** The name in a Host header, without its port and without the brackets of an IPv6 address. */
function hostName(host: string): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^[\]:/?#@\s]+))(?::\d{1,5})?$/i.exec(host);
  return (match?.[1] ?? match?.[2])?.toLowerCase().replace(/\.$/, '');
}

function digest(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
