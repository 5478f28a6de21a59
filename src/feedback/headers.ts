import { isList, property, shortened } from './fields.ts';

/** Reads one header by its lower-case name; several values joined with ', '. */
export interface HeaderReader {
  (name: string): string | undefined;
  /**
   * The lower-case names of the headers there are that match, each once; `undefined` where the container
   * cannot list them and has to be asked name by name.
   */
  readonly matching?: (pattern: RegExp) => readonly string[] | undefined;
}

/** Headers that are looked at in one container: no real answer has more, and an iterator may never end. */
const MOST_HEADERS = 1_000;
/** Of them, those that are read: nobody names more limits. */
const MOST_MATCHING = 64;
/** Longer names are no headers that anybody knows. */
const LONGEST_NAME = 128;

/** Whether a value can hold headers at all: an object of any of the shapes that `headerReader` reads. */
export function isHeaderContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * A reader over a header container of any kind, or `undefined` where the value is none: `Headers` and
 * look-alikes with `get()`, plain and null-prototype objects in any casing, Maps, lists of pairs, of
 * `{ name, value }`, and flat lists (name, value, name, value). Never throws; a getter or an iterator that
 * throws counts as absent, and so does a value that is no text and no number.
 */
export function headerReader(container: unknown): HeaderReader | undefined {
  if (!isHeaderContainer(container) || ArrayBuffer.isView(container)) return undefined;
  const get = methodOf(container, 'get');
  // What an object has as keys of its own it need not be asked for.
  const isOwn = hasOwnNames(container);
  const asking = isOwn ? undefined : get;
  let index: ReadonlyMap<string, string> | 'folded' | undefined;
  const indexed = (name: string): string | undefined => {
    index ??= asking === undefined && isFolded(container) ? 'folded' : indexOf(container);
    return index === 'folded' ? ownText(container, name) : index.get(name);
  };
  const read = isExact(container, asking)
    ? (name: string): string | undefined => asked(container, asking, name) ?? indexed(name)
    : indexed;
  (read as { matching?: HeaderReader['matching'] }).matching = (pattern) => matching(container, get, isOwn, pattern);
  return read;
}

type Method = (...args: unknown[]) => unknown;

/** Whether `get` is to be asked first: that of a Map knows one casing, and own keys are quicker to look up. */
function isExact(container: object, get: Method | undefined): get is Method {
  if (get === undefined) return false;
  return typeof property(container, 'size') !== 'number';
}

/** Whether headers are the object's own keys, as in a plain object and in the class of axios. */
function hasOwnNames(container: object): boolean {
  if (isList(container)) return false;
  try {
    for (const key of Object.keys(container)) if (key.includes('-')) return true;
  } catch {
    // A proxy that does not tell has none.
  }
  return false;
}

function asked(container: object, get: Method, name: string): string | undefined {
  try {
    const value = get.call(container, name);
    if (typeof value === 'object' && value !== null) hush(value);
    return textOf(value);
  } catch {
    // A `get` that is no header getter (it wants other arguments, say): the other shapes may still fit.
    return undefined;
  }
}

/** A `get` that answers later is no header getter; should it reject, nobody else would hear it. */
function hush(value: object): void {
  if (methodOf(value, 'then') !== undefined) Promise.resolve(value).then(undefined, () => undefined);
}

function matching(
  container: object,
  get: Method | undefined,
  isOwn: boolean,
  pattern: RegExp,
): readonly string[] | undefined {
  let found: string[] | undefined;
  eachName(container, isOwn ? undefined : get, (name) => {
    if (name.length > LONGEST_NAME || !pattern.test(name)) return;
    const lower = name.toLowerCase();
    if (found === undefined) found = [lower];
    else if (found.length < MOST_MATCHING && !found.includes(lower)) found.push(lower);
  });
  if (found !== undefined) return found;
  return get !== undefined && !isOwn && !isListed(container) ? undefined : NO_NAMES;
}

const NO_NAMES: readonly string[] = [];

/** Whether the container tells what it holds; an object with a `get` and nothing else may hide all of it. */
function isListed(container: object): boolean {
  if (isList(container)) return true;
  return methodOf(container, 'keys') !== undefined || iteratesEntries(container);
}

function eachName(container: object, get: Method | undefined, tell: (name: string) => void): void {
  const keys = get === undefined || isList(container) ? undefined : methodOf(container, 'keys');
  if (keys === undefined) {
    if (iteratesEntries(container)) eachEntry(container, tell);
    else for (const key of attempt(() => Object.keys(container)) ?? []) tell(key);
    return;
  }
  try {
    let left = MOST_HEADERS;
    for (const name of keys.call(container) as Iterable<unknown>) {
      if (typeof name === 'string') tell(name);
      if (--left === 0) return;
    }
  } catch {
    // What was listed before it broke stands.
  }
}

/** A plain object whose keys are in lower case, as Node and most clients make it, needs no index. */
function isFolded(container: object): boolean {
  if (iteratesEntries(container)) return false;
  for (const key of attempt(() => Object.keys(container)) ?? []) if (key.toLowerCase() !== key) return false;
  return true;
}

function ownText(container: object, name: string): string | undefined {
  try {
    return Object.hasOwn(container, name) ? textOf(Reflect.get(container, name)) : undefined;
  } catch {
    return undefined;
  }
}

/** Every header by its lower-case name, several values joined. */
function indexOf(container: object): ReadonlyMap<string, string> {
  const index = new Map<string, string>();
  const add = (name: string, value: unknown): void => {
    const text = textOf(value);
    if (text === undefined) return;
    const lower = name.toLowerCase();
    const before = index.get(lower);
    index.set(lower, before === undefined ? text : shortened(`${before}, ${text}`));
  };
  if (iteratesEntries(container)) eachEntry(container, add);
  if (index.size > 0 || isList(container)) return index;
  for (const key of attempt(() => Object.keys(container)) ?? [])
    add(
      key,
      attempt(() => Reflect.get(container, key)),
    );
  return index;
}

/** An iterator itself (it has a `next`) can be walked once only: that is left to its owner. */
function iteratesEntries(container: object): container is Iterable<unknown> {
  if (isList(container)) return true;
  if (methodOf(container, Symbol.iterator) === undefined || methodOf(container, 'next') !== undefined) return false;
  return !hasOwnNames(container);
}

/** Pairs, `{ name, value }`, or names and values in turn. */
function eachEntry(container: Iterable<unknown>, tell: (name: string, value: unknown) => void): void {
  let flatName: string | undefined;
  let left = MOST_HEADERS;
  try {
    for (const item of container) {
      if (flatName !== undefined) {
        tell(flatName, item);
        flatName = undefined;
      } else if (typeof item === 'string') flatName = item;
      else tellPair(item, tell);
      if (--left === 0) return;
    }
  } catch {
    // What was told before it broke stands.
  }
}

function tellPair(item: unknown, tell: (name: string, value: unknown) => void): void {
  if (!isHeaderContainer(item)) return;
  if (isList(item)) {
    if (typeof item[0] === 'string') tell(item[0], item[1]);
    return;
  }
  const name = attempt(() => Reflect.get(item, 'name') ?? Reflect.get(item, 'key'));
  if (typeof name === 'string')
    tell(
      name,
      attempt(() => Reflect.get(item, 'value')),
    );
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return shortened(value);
  if (typeof value === 'number') return plainDigits(value);
  if (typeof value === 'bigint') return value.toString();
  return attempt(() => {
    if (!Array.isArray(value)) return undefined;
    // Only one level: a list in a list is no header value, and may contain itself.
    const texts = value.slice(0, MOST_HEADERS).filter((one) => !Array.isArray(one));
    const known = texts.map(textOf).filter((text) => text !== undefined);
    return known.length === 0 ? undefined : shortened(known.join(', '));
  });
}

/** `String(1e21)` has an exponent, which no header number has. */
function plainDigits(value: number): string {
  if (!String(value).includes('e')) return String(value);
  return Math.abs(value) < 1 ? value.toFixed(20) : BigInt(Math.trunc(value)).toString();
}

function methodOf(container: object, name: string | symbol): Method | undefined {
  try {
    const found = (container as Record<string | symbol, unknown>)[name];
    return typeof found === 'function' ? (found as Method) : undefined;
  } catch {
    return undefined;
  }
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
