/** A property of anything, own or inherited; a getter, or a proxy, that throws counts as absent. */
export function property(of: unknown, key: string): unknown {
  if (typeof of !== 'object' || of === null) return undefined;
  try {
    return (of as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

/** Whether a property is an object's own; a proxy that throws has none. */
export function isOwn(of: object, key: string): boolean {
  try {
    return Object.hasOwn(of, key);
  } catch {
    return false;
  }
}

/** Whether a value is what a JSON text can hold as an object, of any realm; a stream, an error or a `Response` is not. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    return prototype === null || (Object.getPrototypeOf(prototype) === null && !Array.isArray(value));
  } catch {
    return false;
  }
}

/** Whether a value is an array, of any realm. */
export function isList(value: unknown): value is readonly unknown[] {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** The first of the items of a list; none of what is no list. */
export function itemsOf(value: unknown, most: number): readonly unknown[] {
  try {
    return isList(value) ? value.slice(0, most) : [];
  } catch {
    return [];
  }
}

/** Longer values say nothing that a shorter one could not, and take their time to be read. */
const LONGEST_VALUE = 4_096;

/** The beginning of a text that a server has chosen the length of. */
export function shortened(text: string): string {
  return text.length > LONGEST_VALUE ? text.slice(0, LONGEST_VALUE) : text;
}

/** Longer names are no names. */
const LONGEST_WORD = 64;

/** A name that somebody else has chosen, as it may go into an alert: no URL, no line of its own, not endless. */
export function safeWord(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined;
  const word = shortened(text)
    .replaceAll(/[^\w .,()-]/g, '')
    .trim()
    .slice(0, LONGEST_WORD)
    .trim();
  return word === '' ? undefined : word;
}

/** Longer texts are pages, not errors. */
const LONGEST_JSON = 65_536;

/** What a text holds that is a whole JSON document, an object or a list; prose holds nothing. */
export function jsonOf(text: string): object | undefined {
  if (text.length > LONGEST_JSON || !/^\s*[[{]/.test(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The JSON document that a text ends with, behind words: `429 {"error":{...}}`. */
export function quotedJsonOf(text: string): object | undefined {
  const start = text.length > LONGEST_JSON ? -1 : text.search(/\{\s*"|\[\s*\{\s*"/);
  return start > 0 ? jsonOf(text.slice(start)) : undefined;
}

/** An HTTP status, as a number or as the three digits that some clients keep. */
export function asStatus(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 100 && value <= 599 ? value : undefined;
  if (typeof value !== 'string' || value.length !== 3) return undefined;
  return /^[1-5]\d\d$/.test(value) ? Number(value) : undefined;
}

/** A number from a number, a bigint, digits in a text, or the two halves in which protobuf libraries keep 64 bits. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string') return /^-?\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : undefined;
  const low = property(value, 'low');
  const high = property(value, 'high');
  return typeof low === 'number' && typeof high === 'number' ? high * 2 ** 32 + (low >>> 0) : undefined;
}
