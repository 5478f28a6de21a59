import { parseDictionary, parseList, Token } from 'structured-headers';

/** One limit as `RateLimit` says it. */
export interface ServiceLimit {
  readonly policy?: string | undefined;
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  /** Seconds as the drafts have it, as text: an epoch is told from them by its size, as everywhere. */
  readonly reset?: string | undefined;
  readonly partition?: string | undefined;
}

/** One policy as `RateLimit-Policy` says it. */
export interface QuotaPolicy {
  readonly policy?: string | undefined;
  readonly limit?: number | undefined;
  readonly windowMs?: number | undefined;
  readonly unit?: string | undefined;
  readonly partition?: string | undefined;
}

/** Told apart before it is parsed: to parse a dictionary as a list makes an error, which takes its time. */
const DICTIONARY = /^[a-z*][\w.*-]*=/;

type Parameters = ReadonlyMap<string, unknown>;

/** `RateLimit`: a list of names (`"default";r=50;t=30`), or the dictionary of draft 07. Malformed: nothing. */
export function parseRateLimit(text: string): readonly ServiceLimit[] {
  if (!DICTIONARY.test(text)) {
    return (listOf(text) ?? []).flatMap(([value, parameters]) => {
      const policy = nameOf(value);
      const remaining = amount(parameters.get('r'));
      if (policy === undefined || remaining === undefined) return [];
      return [{ policy, remaining, reset: digits(parameters.get('t')), partition: bytes(parameters.get('pk')) }];
    });
  }
  const all = dictionaryOf(text);
  if (all === undefined) return [];
  const first = (...keys: string[]): unknown => keys.map((key) => all.get(key)).find((value) => value !== undefined);
  const said = {
    limit: amount(first('limit', 'total', 'q')),
    remaining: amount(first('remaining', 'r')),
    reset: digits(first('reset', 'resets', 't')),
  };
  return said.limit === undefined && said.remaining === undefined ? [] : [said];
}

/** `RateLimit-Policy`: `"burst";q=100;w=60`, or `100;w=60` of older drafts. Malformed: nothing. */
export function parsePolicies(text: string): readonly QuotaPolicy[] {
  return (listOf(text) ?? []).flatMap(([value, parameters]) => {
    const policy = nameOf(value);
    const limit = policy === undefined ? amount(value) : amount(parameters.get('q'));
    const windowS = amount(parameters.get('w')) ?? amount(parameters.get('window'));
    if (limit === undefined) return [];
    const windowMs = windowS === undefined || windowS === 0 ? undefined : windowS * 1_000;
    return [{ policy, limit, windowMs, unit: nameOf(parameters.get('qu')), partition: bytes(parameters.get('pk')) }];
  });
}

/** The items of a list. Inner lists, which no limit is, are left out. */
function listOf(text: string): readonly (readonly [unknown, Parameters])[] | undefined {
  const list = parsed(() => parseList(text));
  return list?.filter(([value]) => !Array.isArray(value)) as (readonly [unknown, Parameters])[] | undefined;
}

/** Every member of a dictionary and every parameter of a member: some write semicolons for the commas. */
function dictionaryOf(text: string): ReadonlyMap<string, unknown> | undefined {
  const dictionary = parsed(() => parseDictionary(text));
  if (dictionary === undefined) return undefined;
  const all = new Map<string, unknown>();
  for (const [key, [value, parameters]] of dictionary) {
    all.set(key, value);
    for (const [name, more] of parameters) all.set(name, more);
  }
  return all;
}

function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    // A malformed field is to be ignored as a whole.
    return undefined;
  }
}

/** A string, or a token, as an earlier draft had it. */
function nameOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return value instanceof Token ? value.toString() : undefined;
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

function digits(value: unknown): string | undefined {
  return amount(value)?.toString();
}

/** A partition key is only ever compared. */
function bytes(value: unknown): string | undefined {
  return value instanceof ArrayBuffer ? new Uint8Array(value).join() : undefined;
}
