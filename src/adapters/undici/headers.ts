import { isNamed, isOurs } from '../fetch/headers.ts';

type Pair = readonly [string, string];

/** The headers of a request, taken apart. */
export interface SentHeaders {
  /** Those that speak to Penstock. */
  readonly ours: readonly Pair[];
  readonly isNamed: boolean;
  /** What is sent; the very headers that were given where nothing is to be changed. */
  readonly sent: unknown;
}

/** Reads the headers of a request in any of the forms that undici takes. */
export function readHeaders(given: unknown, userAgent: string | undefined): SentHeaders {
  const pairs = pairsOf(given);
  const ours = pairs.filter(([name]) => isOurs(name));
  const agents = pairs.filter(([name]) => name.toLowerCase() === 'user-agent');
  const hasName = agents.some(([, value]) => isNamed(value));
  const isSet = !hasName && userAgent !== undefined;
  if (ours.length === 0 && !isSet) return { ours, isNamed: hasName, sent: given };
  const kept = pairs.filter(([name]) => !isOurs(name) && !(isSet && name.toLowerCase() === 'user-agent'));
  const all = isSet ? [...kept, ['user-agent', userAgent] as const] : kept;
  return { ours, isNamed: hasName || isSet, sent: all.flat() };
}

/** Of `['name', 'value', ...]`, of an object whose values may be lists, of `Headers` or a `Map`. */
function pairsOf(given: unknown): Pair[] {
  if (typeof given !== 'object' || given === null) return [];
  if (Array.isArray(given) && !Array.isArray(given[0])) return flat(given);
  const isIterable = typeof (given as { [Symbol.iterator]?: unknown })[Symbol.iterator] === 'function';
  const entries = isIterable ? [...(given as Iterable<readonly [unknown, unknown]>)] : Object.entries(given);
  return entries.flatMap(([name, value]) => valuesOf(value).map((one) => [text(name), one] as const));
}

function flat(list: readonly unknown[]): Pair[] {
  const pairs: Pair[] = [];
  for (let i = 0; i + 1 < list.length; i += 2) {
    for (const value of valuesOf(list[i + 1])) pairs.push([text(list[i]), value]);
  }
  return pairs;
}

function valuesOf(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value.map(text) : [text(value)];
}

/** Raw headers are bytes, each a character. */
function text(value: unknown): string {
  return value instanceof Uint8Array ? String.fromCharCode(...value) : String(value);
}

/** The headers of an answer by name, as a judge of answers reads them. */
export function answerHeaders(raw: unknown): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of pairsOf(raw)) {
    const key = name.toLowerCase();
    headers[key] = headers[key] === undefined ? value : `${headers[key]}, ${value}`;
  }
  return { ...headers };
}
