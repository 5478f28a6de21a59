import { type Clock, systemClock } from '../base/clock.ts';
import { show } from '../base/text.ts';
import type { SnapshotSource } from './body.ts';
import { isLoopback } from './guard.ts';
import { checkToken, type Environment, readToken } from './secret.ts';

/** Where a status server listens, and `penstock top` looks, if nobody says otherwise. */
export const DEFAULT_STATUS_PORT = 9465;

/** One dispatcher, or several by name. */
export type StatusSources = SnapshotSource | Readonly<Record<string, SnapshotSource>>;

export interface StatusOptions {
  /**
   * Default 9465; 0: any that is free. A range (`'9465-9480'`) takes the first that is free, for several processes
   * on one machine.
   */
  readonly port?: number | string | undefined;
  /** Address to listen on; default 127.0.0.1. Any that other machines reach needs a token. */
  readonly host?: string | undefined;
  /** Where the token stands: a variable (`STATUS_TOKEN`) or a file (`file:/run/secrets/status`). */
  readonly tokenFrom?: string | undefined;
  /** The token itself, from a store of secrets of your own. */
  readonly token?: string | undefined;
  /** Names besides `localhost` and addresses that a request's Host header may carry. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Where `tokenFrom` looks; default: the process's environment. */
  readonly env?: Environment | undefined;
  /** For tests: `ManualClock`. */
  readonly clock?: Clock | undefined;
}

/** Options that were checked, with their defaults. */
export interface Settings {
  readonly ports: readonly number[];
  readonly host: string;
  readonly token: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly clock: Clock;
}

/** Options are an error as soon as one of them is: what is misspelt must not leave a server open. */
const KNOWN = new Set(['port', 'host', 'tokenFrom', 'token', 'allowedHosts', 'env', 'clock']);
const MOST_PORTS = 1_000;

export async function readOptions(options: StatusOptions): Promise<Settings> {
  for (const key of Object.keys(options)) if (!KNOWN.has(key)) throw new Error(`status: unknown option ${show(key)}`);
  const { host = '127.0.0.1', allowedHosts = [], clock = systemClock } = options;
  if (typeof host !== 'string' || host === '')
    throw new Error(`status: host: expected an address, found ${show(host)}`);
  if (!Array.isArray(allowedHosts) || !allowedHosts.every((name: unknown) => typeof name === 'string'))
    throw new Error("status: allowedHosts: expected a list of names, such as ['status.example']");
  const ports = readPorts(options.port ?? DEFAULT_STATUS_PORT);
  const token = await tokenOf(options);
  if (token === undefined && !isLoopback(host)) {
    throw new Error(
      `status: host ${host} can be reached from other machines: give a token (tokenFrom), or listen on 127.0.0.1`,
    );
  }
  return { ports, host, token, allowedHosts: [host, ...allowedHosts], clock };
}

/** The ports that a number or a range such as `9465-9480` names, in order. */
export function readPorts(port: number | string): readonly number[] {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(String(port));
  const first = Number(match?.[1]);
  const last = Number(match?.[2] ?? match?.[1]);
  const isRange = match !== null && last <= 65_535 && last - first < MOST_PORTS && (first > 0 || last === 0);
  if (!isRange || last < first) {
    throw new Error(`status: port: expected 0 to 65535, or a range such as 9465-9480; found ${show(port)}`);
  }
  return Array.from({ length: last - first + 1 }, (_, n) => first + n);
}

async function tokenOf({ token, tokenFrom, env }: StatusOptions): Promise<string | undefined> {
  if (token !== undefined && tokenFrom !== undefined) throw new Error('status: token or tokenFrom, not both');
  if (token !== undefined) return checkToken(token, 'status: token');
  return tokenFrom === undefined ? undefined : readToken(tokenFrom, env ?? process.env);
}
