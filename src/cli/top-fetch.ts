import type { Snapshot } from '../base/snapshot.ts';

/** More than this is no snapshot. */
const MOST_BYTES = 32 * 1024 * 1024;
export const TIMEOUT_MS = 3_000;

/** Why nothing could be read, in words for whoever sits there. */
export class Unreadable extends Error {
  /** Nobody listens there. */
  readonly isNobody: boolean;

  constructor(message: string, isNobody = false) {
    super(message);
    this.isNobody = isNobody;
  }
}

/**
 * Reads what an address serves: one snapshot, or one per dispatcher.
 *
 * @throws {Unreadable} for whatever is in the way.
 */
export async function fetchSnapshots(url: string, token: string | undefined): Promise<readonly Snapshot[]> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      headers: { accept: 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      // A token goes to the address that was named, and nowhere else.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    text = await readText(response);
  } catch (error) {
    if (error instanceof Unreadable) throw error;
    throw unreachable(error);
  }
  if (response.status !== 200) throw new Unreadable(wordsFor(response.status, token !== undefined));
  return parse(text);
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += part.byteLength;
    if (size > MOST_BYTES) throw new Unreadable('it answers without end: no Penstock status server');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function unreachable(error: unknown): Unreadable {
  const { name, cause } = error as { name?: string; cause?: { code?: string } };
  if (name === 'TimeoutError')
    return new Unreadable(`no answer within ${TIMEOUT_MS / 1_000} s; is the process busy, or stopped?`);
  const code = cause?.code ?? '';
  if (code === 'ECONNREFUSED') {
    return new Unreadable(
      'nothing listens there: does the process run, and does it call serveStatus (penstock/status)?',
      true,
    );
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return new Unreadable('there is no host of that name');
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET')
    return new Unreadable('it hung up; another protocol, or too many readers?');
  return new Unreadable(`it cannot be reached (${code || name || 'for a reason unknown'})`);
}

function wordsFor(status: number, hasToken: boolean): string {
  if (status === 401 && hasToken) return 'the token is not the right one';
  if (status === 401) return 'it wants a token: --token-from VARIABLE, or file:<path>';
  if (status === 403) return 'it does not answer to that host name: allow it there (allowedHosts), or use its address';
  if (status === 404) return 'something answers, but has no such snapshot: another port, or another name?';
  if (status === 500) return 'the process could not make its snapshot';
  if (status >= 300 && status < 400) return `it redirects (${status}): no Penstock status server`;
  return `it answers ${status}: no Penstock status server?`;
}

function parse(text: string): readonly Snapshot[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Unreadable('something answers, but not with a Penstock snapshot');
  }
  const { schema, dispatchers } = record(value);
  const all = Array.isArray(dispatchers) ? dispatchers : [value];
  if (typeof schema === 'number' && schema !== 1) {
    throw new Unreadable(`it speaks schema ${schema}, this penstock reads 1: use the penstock of that program`);
  }
  if (schema !== 1 || !all.every(isSnapshot))
    throw new Unreadable('something answers, but not with a Penstock snapshot');
  return all;
}

function isSnapshot(value: unknown): value is Snapshot {
  const { schema, at, downstreams } = record(value);
  return schema === 1 && typeof at === 'number' && Array.isArray(downstreams) && downstreams.every(isDownstream);
}

function isDownstream(value: unknown): boolean {
  return typeof record(value).downstream === 'string';
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
