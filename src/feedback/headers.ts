/** Whether a value can hold headers at all: an object of any of the shapes that `readHeader` reads. */
export function isHeaderContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/**
 * The value of a header, or `undefined`. `name` is in lower case.
 * Reads `Headers` and look-alikes with `get()`, plain and null-prototype objects in any casing, Maps,
 * lists of pairs and flat lists (name, value, name, value). Several values are joined with commas.
 * Anything else holds no header; nothing here throws.
 */
export function readHeader(container: unknown, name: string): string | undefined {
  if (!isHeaderContainer(container)) return undefined;
  try {
    return fromGet(container, name) ?? fromPairs(container, name) ?? fromKeys(container, name);
  } catch {
    return undefined;
  }
}

function fromGet(container: object, name: string): string | undefined {
  const get: unknown = Reflect.get(container, 'get');
  if (typeof get !== 'function') return undefined;
  try {
    return textOf(get.call(container, name));
  } catch {
    // A `get` that is no header getter (it wants other arguments, say): the other shapes may still fit.
    return undefined;
  }
}

function fromPairs(container: object, name: string): string | undefined {
  if (!(Symbol.iterator in container)) return undefined;
  const found: string[] = [];
  let flatName: string | undefined;
  for (const item of container as Iterable<unknown>) {
    let key: unknown = flatName;
    let value: unknown = item;
    if (Array.isArray(item)) [key, value] = item as unknown[];
    else if (flatName === undefined) {
      flatName = String(item);
      continue;
    }
    flatName = undefined;
    const text = typeof key === 'string' && key.toLowerCase() === name ? textOf(value) : undefined;
    if (text !== undefined) found.push(text);
  }
  return found.length === 0 ? undefined : found.join(', ');
}

function fromKeys(container: object, name: string): string | undefined {
  const found: string[] = [];
  for (const key of Object.keys(container)) {
    if (key.length !== name.length || key.toLowerCase() !== name) continue;
    const text = textOf((container as Record<string, unknown>)[key]);
    if (text !== undefined) found.push(text);
  }
  return found.length === 0 ? undefined : found.join(', ');
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return plainDigits(value);
  if (!Array.isArray(value)) return undefined;
  const texts = value.map(textOf).filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join(', ');
}

/** `String(1e21)` has an exponent, which no header number has. */
function plainDigits(value: number): string {
  if (!String(value).includes('e')) return String(value);
  return Math.abs(value) < 1 ? value.toFixed(20) : BigInt(Math.trunc(value)).toString();
}

/** Looks a header up by its name in lower case. */
export type HeaderReader = (name: string) => string | undefined;

export function headerReader(container: unknown): HeaderReader | undefined {
  return isHeaderContainer(container) ? (name) => readHeader(container, name) : undefined;
}
