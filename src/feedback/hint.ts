import { type HeaderReader, readHeader } from './headers.ts';
import { type Hint, type HintContext, parseRetryAfter, parseRetryAfterMs } from './retry-after.ts';

/** How long the server asked us to stay away, and where it said so. */
export interface FoundHint {
  readonly retryAfterMs: number;
  /** A header's name, with a remark where its form was unusual. Never its value. */
  readonly readFrom: string;
}

type Reader = (text: string, context: HintContext) => Hint | undefined;

/** In order of precedence: milliseconds say it more exactly. */
const HEADERS: readonly (readonly [name: string, read: Reader])[] = [
  ['retry-after-ms', parseRetryAfterMs],
  ['x-ms-retry-after-ms', parseRetryAfterMs],
  ['retry-after', parseRetryAfter],
];

/**
 * The wait that an outcome names: in a header, or in a `retryAfterMs` of its own (what `report()` is given).
 * Where both are there, the longer counts.
 */
export function findHint(outcome: object, wallNow: () => number): FoundHint | undefined {
  const named = namedHint(outcome);
  const header = headerHint(outcome, wallNow);
  if (named === undefined || header === undefined) return named ?? header;
  return named.retryAfterMs > header.retryAfterMs ? named : header;
}

function namedHint(outcome: object): FoundHint | undefined {
  const ms = property(outcome, 'retryAfterMs');
  if (typeof ms !== 'number' || !(ms >= 0)) return undefined;
  return { retryAfterMs: Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER), readFrom: 'retryAfterMs' };
}

function headerHint(outcome: object, wallNow: () => number): FoundHint | undefined {
  const places = [
    property(outcome, 'headers'),
    property(property(outcome, 'response'), 'headers'),
    property(outcome, 'responseHeaders'),
  ].filter((place) => place !== undefined);
  for (const [name, read] of HEADERS) {
    for (const place of places) {
      const text = readHeader(place, name);
      if (text === undefined) continue;
      const dateHeader = readHeader(place, 'date');
      const ageHeader = readHeader(place, 'age');
      const hint = read(text, { wallNow, dateHeader, ageHeader });
      if (hint === undefined) continue;
      const readFrom = hint.note === undefined ? name : `${name} (${hint.note})`;
      return { retryAfterMs: hint.ms, readFrom };
    }
  }
  return undefined;
}

/** A property of anything; a getter that throws counts as absent. */
export function property(of: unknown, key: string): unknown {
  if (typeof of !== 'object' || of === null) return undefined;
  try {
    return (of as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

export function readHint(read: HeaderReader, context: { readonly wallNow: () => number }): FoundHint | undefined {
  for (const [name, parse] of HEADERS) {
    const text = read(name);
    if (text === undefined) continue;
    const hint = parse(text, { wallNow: context.wallNow, dateHeader: read('date'), ageHeader: read('age') });
    if (hint === undefined) continue;
    return { retryAfterMs: hint.ms, readFrom: hint.note === undefined ? name : `${name} (${hint.note})` };
  }
  return undefined;
}
