import { show } from '../base/text.ts';
import { DEFAULT_STATUS_PORT, readPorts } from '../status/options.ts';

/** Where a snapshot is read. */
export interface Address {
  readonly url: string;
  /** One of a range of ports: nobody need listen there. */
  readonly isOptional: boolean;
}

const PATH = '/snapshot';

/**
 * The addresses that a text names: `9465`, `9465-9480`, `worker-7:9465`, `https://status.internal/checkout`, or
 * `http://127.0.0.1:9465/snapshot/search`.
 *
 * @throws {Error} where it is none.
 */
export function readAddress(text: string): Address[] {
  const short = /^(?:(\[[0-9a-f:.]+\]|[a-z0-9._-]+):)?(\d+(?:-\d+)?)$/i.exec(text);
  const ranged = /^(https?:\/\/(?:\[[0-9a-f:.]+\]|[^/:?#@]+)):(\d+-\d+)(\/.*)?$/i.exec(text);
  if (short !== null) return inRange(`http://${short[1] ?? '127.0.0.1'}`, short[2] ?? '', '');
  if (ranged !== null) return inRange(ranged[1] ?? '', ranged[2] ?? '', ranged[3] ?? '');
  return [{ url: normal(text), isOptional: false }];
}

export const DEFAULT_ADDRESS = `http://127.0.0.1:${DEFAULT_STATUS_PORT}`;

function inRange(origin: string, ports: string, path: string): Address[] {
  const all = readPorts(ports);
  if (all[0] === 0) throw new Error(`${ports}: port 0 is none to read from`);
  return all.map((port) => ({ url: normal(`${origin}:${port}${path}`), isOptional: all.length > 1 }));
}

function normal(text: string): string {
  let url: URL;
  try {
    url = new URL(text.includes('://') ? text : `http://${text}`);
  } catch {
    throw new Error(`${show(text)} is no address; expected something like ${DEFAULT_ADDRESS}`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error(`${show(text)}: only http and https`);
  if (url.username !== '' || url.password !== '')
    throw new Error('a token does not belong into an address: --token-from');
  url.hash = '';
  const path = url.pathname.replace(/\/+$/, '');
  url.pathname = /\/snapshot(\/[^/]+)?$/.test(path) ? path : `${path}${PATH}`;
  return url.href;
}

/** What the texts name, each once; without any the default address. */
export function addressesOf(texts: readonly string[]): Address[] {
  const all = (texts.length > 0 ? texts : [DEFAULT_ADDRESS]).flatMap(readAddress);
  return [...new Map(all.map((one) => [one.url, one])).values()];
}
