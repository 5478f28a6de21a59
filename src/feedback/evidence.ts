import { isAdmissionError } from '../base/errors.ts';
import type { Candidate } from './body-hints.ts';
import type { ProviderCode } from './code-rows.ts';
import { asStatus, isList, isOwn, isPlain, itemsOf, jsonOf, property, quotedJsonOf } from './fields.ts';
import { asBytes, readDetail, readStatusDetails } from './grpc-details.ts';
import { type HeaderReader, headerReader } from './headers.ts';
import { CODE_FIELDS, matchCode } from './match.ts';
import { ASKED, isHint, isOwnHint, RATE_LIMITS, type Role, rolesOf } from './roles.ts';

/** Everything that one answer of a downstream says, wherever in the value it stands; outermost first. */
export interface Evidence {
  readonly statuses: number[];
  readonly readers: HeaderReader[];
  readonly codes: ProviderCode[];
  /** Waits that properties name, not yet read. */
  readonly candidates: Candidate[];
  /** Errors that this one wraps: answers of their own. */
  readonly wrapped: object[];
  /** Whether headers came with it, and not the mere number of a status. */
  hasHeaders: boolean;
  /** Whether a refusal of Penstock's own is a part of it. */
  hasOurs: boolean;
}

/** A hostile or a huge value must cost no more than so many objects, and so many levels. */
const MOST_NODES = 64;
const MOST_DEPTH = 8;
const MOST_ITEMS = 20;
const MOST_KEYS = 100;

/** What reads, or is, the body of a fetch `Response`. */
const READERS: ReadonlySet<string> = new Set(['body', 'data', 'json', 'text']);

const QUOTED: ReadonlySet<unknown> = new Set([429, 503, 529]);

interface Visit {
  readonly node: object;
  readonly depth: number;
  readonly isListed: boolean;
}

/** Gathers what an answer says. Reads properties and headers, and never a body that has not been read. */
export function gather(...seeds: readonly object[]): Evidence {
  return new Walk(seeds).evidence;
}

class Walk {
  readonly evidence: Evidence = {
    statuses: [],
    readers: [],
    codes: [],
    candidates: [],
    wrapped: [],
    hasHeaders: false,
    hasOurs: false,
  };
  readonly #queue: Visit[] = [];
  readonly #seen = new Set<object>();

  constructor(seeds: readonly object[]) {
    for (const node of seeds) this.#push(node, 0, false);
    for (let at = 0; at < this.#queue.length; at += 1) this.#visit(this.#queue[at]!);
  }

  #push(node: object, depth: number, isListed: boolean): void {
    if (depth > MOST_DEPTH || this.#queue.length >= MOST_NODES || this.#seen.has(node)) return;
    this.#seen.add(node);
    if (isAdmissionError(node)) this.evidence.hasOurs = true;
    else if (isList(node)) this.#pushItems(itemsOf(node, MOST_ITEMS), depth);
    else this.#queue.push({ node, depth, isListed });
  }

  /** The items of a list: errors are answers of their own, all else belongs to this one. */
  #pushItems(items: readonly unknown[], depth: number): void {
    for (const item of items) {
      if (typeof item !== 'object' || item === null) continue;
      if (isErrorLike(item)) this.#wrap(item);
      else this.#push(item, depth, true);
    }
  }

  #wrap(error: object): void {
    if (this.#seen.has(error) || this.evidence.wrapped.length >= MOST_ITEMS) return;
    this.#seen.add(error);
    this.evidence.wrapped.push(error);
  }

  #visit(visit: Visit): void {
    const { node } = visit;
    const isBody = isPlain(node);
    // The body of a fetch Response is its caller's: some make a stream, or warn, when they are asked for it.
    // What a client has put onto a Response, as `data` say, it has parsed.
    const isFetch = !isBody && typeof property(node, 'bodyUsed') === 'boolean';
    for (const key of isBody ? keysOf(node) : isFetch ? fetchKeysOf(node) : [...ASKED, ...ownKeysOf(node)]) {
      if (isFetch && READERS.has(key) && (key === 'body' || !isOwn(node, key))) continue;
      const value = property(node, key);
      if (value === undefined || value === null || typeof value === 'function') continue;
      const roles = rolesOf(key);
      if (typeof value === 'object') this.#object(key, value, roles, visit);
      else this.#scalar(key, value, roles, visit);
    }
    this.#detail(visit);
  }

  #scalar(key: string, value: unknown, roles: ReadonlySet<Role>, { node, depth, isListed }: Visit): void {
    if (roles.has('status')) this.#status(key, value, depth);
    // The headers of HTTP/2 hold the status too.
    if (key === ':status') this.#headers(key, node, depth);
    if (CODE_FIELDS.has(key)) {
      const row = matchCode(key, value, { node, isListed });
      if (row !== undefined) this.evidence.codes.push(row);
    }
    if (isHint(key)) this.evidence.candidates.push({ key, value, node });
    if (typeof value !== 'string' || !roles.has('text')) return;
    const json = jsonOf(value) ?? (key === 'message' && hasRefused(node) ? quotedJsonOf(value) : undefined);
    if (json !== undefined) this.#push(json, depth + 1, false);
  }

  /** A `code`, or whatever stands in a body, is a status only where it says that something failed. */
  #status(key: string, value: unknown, depth: number): void {
    const status = asStatus(value);
    if (status === undefined) return;
    if (status >= 400 || (depth <= 1 && key !== 'code' && key !== 'error_code')) this.evidence.statuses.push(status);
  }

  #object(key: string, value: object, roles: ReadonlySet<Role>, { node, depth }: Visit): void {
    const { evidence } = this;
    if (roles.has('headers')) this.#headers(key, value, depth);
    if (isHint(key)) evidence.candidates.push({ key, value, node });
    if (RATE_LIMITS.has(key)) this.#rateLimit(value);
    if (key === 'throttleStatus') evidence.candidates.push({ key, value, node });
    if (key === '$retryable' && property(value, 'throttling') === true) this.#named('$retryable', 'throttling', node);
    if (roles.has('cause')) this.#wrap(value);
    else if (roles.has('error') && isErrorLike(value)) this.#wrap(value);
    else if (roles.has('response') || isResponse(value)) this.#push(value, depth + 1, false);
    // A wrapper's own answer to its caller, not the downstream's: its headers are no evidence of one.
    else if (key === 'output') this.#push(value, depth + 2, false);
    else if (roles.has('part') && !ArrayBuffer.isView(value)) this.#push(value, depth + 1, false);
    else if (roles.has('body') || roles.has('error')) {
      if (isPlain(value) || itemsOf(value, 1).length > 0) this.#push(value, depth + 1, false);
    }
  }

  #headers(key: string, value: object, depth: number): void {
    const read = headerReader(value);
    if (read === undefined) return;
    this.evidence.readers.push(read);
    this.#status(':status', property(value, ':status'), depth);
    if (key !== 'metadata' && depth <= 1) this.evidence.hasHeaders = true;
    const bytes = asBytes(rawHeader(value, 'grpc-status-details-bin'));
    if (bytes === undefined) return;
    for (const detail of readStatusDetails(bytes)) this.#push(detail, depth + 1, false);
  }

  /** A client's own reading of the counters, as it would stand in headers. */
  #rateLimit(value: object): void {
    const fields: Readonly<Record<string, unknown>> = {
      'x-ratelimit-limit': property(value, 'limit'),
      'x-ratelimit-remaining': property(value, 'remaining'),
      'x-ratelimit-reset': property(value, 'reset') ?? property(value, 'resetAt'),
    };
    this.evidence.readers.push((name) => {
      const field = fields[name];
      return typeof field === 'number' || typeof field === 'string' ? String(field) : undefined;
    });
  }

  #named(field: string, code: string, node: object): void {
    const row = matchCode(field, code, { node, isListed: false });
    if (row !== undefined) this.evidence.codes.push(row);
  }

  /** A detail of google.rpc whose message is still in bytes, as Connect keeps it. */
  #detail({ node, depth }: Visit): void {
    const type = property(node, '@type') ?? property(node, 'type') ?? property(node, 'typeUrl');
    if (typeof type !== 'string' || !type.includes('google.rpc.')) return;
    const bytes = asBytes(property(node, 'value'));
    const detail = bytes === undefined ? undefined : readDetail(type, bytes);
    if (detail !== undefined) this.#push(detail, depth + 1, false);
  }
}

/** What an instance says under names of its own: waits, and the response that it came from. */
function ownKeysOf(node: object): readonly string[] {
  return keysOf(node).filter((key) => isOwnHint(key) || isResponse(property(node, key)));
}

/** Whether a value is a fetch `Response`, of any library. */
function isResponse(value: unknown): boolean {
  return typeof property(value, 'bodyUsed') === 'boolean' && typeof property(value, 'status') === 'number';
}

/** Only of an answer that was a refusal anyway is it read what a client quotes behind words of its own. */
function hasRefused(node: object): boolean {
  return ['status', 'statusCode', 'code'].some((key) => QUOTED.has(property(node, key)));
}

/** All that a fetch Response says of itself, and what a client has put onto it. */
function fetchKeysOf(response: object): ReadonlySet<string> {
  return new Set(['status', 'headers', ...keysOf(response)]);
}

/** Whether a value is an error by its shape, and no data. */
export function isErrorLike(value: object): boolean {
  return !isPlain(value) && typeof property(value, 'message') === 'string';
}

function keysOf(node: object): readonly string[] {
  try {
    return Object.keys(node).slice(0, MOST_KEYS);
  } catch {
    return [];
  }
}

/** A header as its container keeps it: binary values are bytes there. */
function rawHeader(container: object, name: string): unknown {
  const get = property(container, 'get');
  try {
    return typeof get === 'function' ? get.call(container, name) : property(container, name);
  } catch {
    return undefined;
  }
}
