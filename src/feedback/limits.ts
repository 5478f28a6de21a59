import type { Field, Place } from './dialects.ts';
import { placeOf, USED_OF_LIMIT } from './dialects.ts';
import { decimal } from './duration-text.ts';
import type { HeaderReader } from './headers.ts';
import { type Moment, parseMoment, splitList } from './moment.ts';
import { parsePolicies, parseRateLimit, type QuotaPolicy } from './structured.ts';

/** One limit as an answer's headers describe it. */
export interface HeaderLimit {
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly reset?: Moment | undefined;
  /** The header that the reset was read from. */
  readonly resetName?: string | undefined;
  readonly windowMs?: number | undefined;
  readonly unit: string;
  readonly policy?: string | undefined;
  /** The server sends the headers and says that it does not know (-1), or that there is no limit (0). */
  readonly isUnknown?: boolean;
  /** The server's own word on whether this limit refuses. */
  readonly refuses?: boolean | undefined;
}

interface Said {
  readonly name: string;
  readonly place: Place;
  readonly text: string;
}

/** All that the headers of one limit say. */
class Family {
  readonly place: Place;
  readonly said: Said[] = [];

  constructor(place: Place) {
    this.place = place;
  }

  /** The texts of a field, the best name first. */
  all(field: Field): readonly Said[] {
    return this.said.filter((one) => one.place.field === field).sort((a, b) => a.place.rank - b.place.rank);
  }

  text(field: Field): string | undefined {
    return this.said.find((one) => one.place.field === field)?.text;
  }

  has(...fields: readonly Field[]): boolean {
    return this.said.some((one) => fields.includes(one.place.field));
  }
}

/** Every limit that the headers of these names describe. */
export function limitsOf(read: HeaderReader, names: readonly string[], wallNow: () => number): HeaderLimit[] {
  const families = new Map<string, Family>();
  const limits: HeaderLimit[] = [];
  for (const name of names) {
    const text = read(name)?.trim();
    if (text === undefined || text === '') continue;
    if (Object.hasOwn(USED_OF_LIMIT, name)) limits.push(...usedOfLimit(text, USED_OF_LIMIT[name]));
    const place = placeOf(name);
    if (place === undefined) continue;
    let family = families.get(place.key);
    if (family === undefined) families.set(place.key, (family = new Family(place)));
    family.said.push({ name, place, text });
  }
  if (families.size > 1) lend(families);
  for (const family of families.values()) limits.push(...ofFamily(family, wallNow));
  return limits;
}

/** A reset or a window without a limit of its own belongs to the limits of the same prefix that have none. */
function lend(families: Map<string, Family>): void {
  for (const [key, plain] of families) {
    if (!plain.place.isPlain || plain.has('limit', 'remaining', 'used', 'whole', 'policy')) continue;
    const others = [...families.values()].filter(
      (other) => other !== plain && other.place.prefix === plain.place.prefix && other.has('remaining', 'limit'),
    );
    for (const other of others) {
      for (const field of ['reset', 'window', 'fill'] as const)
        if (!other.has(field)) other.said.push(...plain.all(field));
    }
    if (others.length > 0) families.delete(key);
  }
}

function ofFamily(family: Family, wallNow: () => number): HeaderLimit[] {
  const { unit, policy: named, windowMs } = family.place;
  const policies = family.all('policy').flatMap(({ text }) => parsePolicies(text));
  const label = labelOf(family, policies.length === 0) ?? named;
  const whole = family.all('whole').flatMap((said) => ofWhole(said, policies, wallNow));
  const limits = entries(family.text('limit') ?? plainWhole(family));
  const counts = entries(family.text('remaining'));
  const used = counts.length > 0 ? [] : entries(family.text('used'));
  const resets = resetsOf(family, wallNow);
  const common = { unit, policy: label, resetName: resets.name, refuses: refuses(family.text('status')) };
  const side = counts.length > 0 ? counts : used;
  const windows = windowMs ?? windowOf(family, limits[0]?.value);
  const isParallel = side.length > 1 && (limits.length === side.length || limits.length === 0);
  const found: HeaderLimit[] = [];
  for (let at = 0; at < (isParallel ? side.length : 1); at++) {
    const limit = limits[at];
    const count = isParallel ? side[at] : least(side, counts.length > 0);
    const reset = isParallel && resets.moments.length > 1 ? resets.moments[at] : latest(resets.moments, wallNow);
    const window =
      windows ?? limit?.windowMs ?? count?.windowMs ?? windowIn(isParallel ? at : undefined, limit, limits, policies);
    found.push({ ...common, ...numbers(limit, count, counts.length > 0), reset, windowMs: window });
  }
  const rest = whole.length > 0 ? [] : others(isParallel ? [] : limits.slice(1), policies, found);
  return [...whole, ...found.filter(saysSomething), ...rest.map((one) => ({ unit, policy: label, ...one }))];
}

function saysSomething(limit: HeaderLimit): boolean {
  return limit.limit !== undefined || limit.remaining !== undefined || limit.reset !== undefined;
}

/** A limit of 0 is how some say that there is none; -1 is how some say that they do not know. */
function numbers(limit: Entry | undefined, count: Entry | undefined, isRemaining: boolean): Partial<HeaderLimit> {
  const most = limit?.value;
  const isUnknown = most === 'unknown' || count?.value === 'unknown';
  if (most === 0) return { isUnknown: true };
  const known = typeof most === 'number' ? most : undefined;
  const value = typeof count?.value === 'number' ? count.value : undefined;
  const left =
    isRemaining || value === undefined ? value : known === undefined ? undefined : Math.max(0, known - value);
  return { limit: known, remaining: left, isUnknown };
}

interface Entry {
  readonly value: number | 'unknown' | undefined;
  readonly windowMs?: number | undefined;
}

const ENTRY = /^(?:name=[^,;]*, ?)?([+-]?[\d.]+)(?: ?(?:;|:|\/) ?(.*))?$/;
const NAMED = /^name=/;
const WINDOW_PARAMETER = /(?:^|;) ?(?:w|window) ?= ?(\d+)(?:;|$)/;

/** `100`, `100, 100;w=60`, `10, 1000`, `100:60` (seconds), `name=default,100;`. */
function entries(text: string | undefined): readonly Entry[] {
  if (text === undefined) return [];
  const parts = NAMED.test(text) ? text.split(';').filter((part) => part.trim() !== '') : splitList(text);
  return parts.slice(0, MOST_ENTRIES).map((part) => entry(part.trim()));
}

/** Nobody has more windows than that. */
const MOST_ENTRIES = 16;

function entry(text: string): Entry {
  const match = ENTRY.exec(text);
  if (match === null) return { value: undefined };
  const value = amount(match[1] ?? '');
  const more = match[2];
  if (more === undefined || more === '') return { value };
  const parameter = WINDOW_PARAMETER.exec(more);
  if (parameter !== null) return { value, windowMs: Number(parameter[1]) * 1_000 || undefined };
  if (text.includes(':') && /^\d+$/.test(more)) return { value, windowMs: Number(more) * 1_000 || undefined };
  // What follows a semicolon is a comment of the server's; anything else makes the number another one.
  return { value: text.includes(';') ? value : undefined };
}

/** -1 is how some say that they do not know; further below, more was used than there was. */
function amount(text: string): number | 'unknown' | undefined {
  if (text.startsWith('-')) {
    const over = decimal(text.slice(1), 0);
    return over === undefined ? undefined : over <= 1 ? 'unknown' : 0;
  }
  if (!/^\d+(?:\.\d*)?$/.test(text)) return undefined;
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/** Of several counts without limits to match, the most cautious. */
function least(side: readonly Entry[], isRemaining: boolean): Entry | undefined {
  const known = side.filter((one): one is Entry & { value: number } => typeof one.value === 'number');
  if (known.length === 0) return side[0];
  return known.reduce((best, one) => {
    const isMoreCautious = isRemaining ? one.value < best.value : one.value > best.value;
    return isMoreCautious ? one : best;
  });
}

interface Resets {
  readonly name?: string;
  readonly moments: readonly (Moment | undefined)[];
}

/** The first header of the family that can be read. */
function resetsOf(family: Family, wallNow: () => number): Resets {
  for (const { name, place, text } of family.all('reset')) {
    const moments = splitList(text)
      .slice(0, MOST_ENTRIES)
      .map((part) => parseMoment(part, place.unitMs, wallNow));
    if (moments.some((moment) => moment !== undefined)) return { name, moments };
  }
  return { moments: [] };
}

function latest(moments: readonly (Moment | undefined)[], wallNow: () => number): Moment | undefined {
  if (moments.length < 2) return moments[0];
  const now = wallNow();
  const known = moments.filter((moment) => moment !== undefined);
  const of = (moment: Moment): number => ('in' in moment ? moment.in : moment.at - now);
  return known.reduce<Moment | undefined>(
    (best, one) => (best === undefined || of(one) > of(best) ? one : best),
    undefined,
  );
}

/** An interval beside the limit; where a bucket is refilled bit by bit, what it takes to fill it. */
function windowOf(family: Family, limit: Entry['value']): number | undefined {
  const said = family.all('window')[0];
  if (said === undefined) return undefined;
  const moment = parseMoment(said.text, said.place.unitMs, () => 0);
  if (moment === undefined || !('in' in moment) || moment.in === 0) return undefined;
  const fill = entries(family.text('fill'))[0]?.value;
  if (typeof fill !== 'number' || typeof limit !== 'number' || fill === 0) return moment.in;
  return Math.min(Math.ceil((moment.in * limit) / fill), Number.MAX_SAFE_INTEGER);
}

function windowIn(
  at: number | undefined,
  limit: Entry | undefined,
  limits: readonly Entry[],
  policies: readonly QuotaPolicy[],
): number | undefined {
  if (at !== undefined) return policies[at]?.windowMs;
  const listed = limits.find(
    (other) => other !== limit && other.value === limit?.value && other.windowMs !== undefined,
  );
  return listed?.windowMs ?? policies.find((policy) => policy.limit === limit?.value)?.windowMs;
}

/** Further windows of the same limit, of which only the size is known. */
function others(
  listed: readonly Entry[],
  policies: readonly QuotaPolicy[],
  found: readonly HeaderLimit[],
): Pick<HeaderLimit, 'limit' | 'windowMs' | 'policy'>[] {
  const sizes = [
    ...listed.flatMap(({ value, windowMs }) => (typeof value === 'number' ? [{ limit: value, windowMs }] : [])),
    ...policies.map(({ limit, windowMs, policy, unit }) => ({
      limit,
      windowMs,
      ...(policy === undefined ? {} : { policy }),
      ...(unit === undefined ? {} : { unit }),
    })),
  ];
  const isKnown = (one: { limit?: number | undefined; windowMs?: number | undefined }): boolean =>
    found.some(({ limit, windowMs }) => limit === one.limit && windowMs === one.windowMs);
  return sizes.filter(({ windowMs }) => windowMs !== undefined).filter((one) => !isKnown(one));
}

/** `RateLimit` and its relatives: the value holds everything. */
function ofWhole({ name, place, text }: Said, policies: readonly QuotaPolicy[], wallNow: () => number): HeaderLimit[] {
  const matched = new Set<QuotaPolicy>();
  const limits = parseRateLimit(text).map((said): HeaderLimit => {
    const policy = policies.find(
      (one) =>
        (said.policy === undefined ? one.limit === said.limit : one.policy === said.policy) &&
        (one.partition === undefined || said.partition === undefined || one.partition === said.partition),
    );
    if (policy !== undefined) matched.add(policy);
    const reset = said.reset === undefined ? undefined : parseMoment(said.reset, 1_000, wallNow);
    return {
      limit: said.limit ?? policy?.limit,
      remaining: said.remaining,
      reset,
      resetName: name,
      windowMs: policy?.windowMs,
      unit: policy?.unit ?? place.unit,
      policy: said.policy ?? place.policy,
    };
  });
  if (limits.length === 0) return [];
  const rest = policies.filter((policy) => !matched.has(policy));
  return [
    ...limits,
    ...rest.map(({ limit, windowMs, unit, policy }) => ({ limit, windowMs, unit: unit ?? place.unit, policy })),
  ];
}

/** `X-Rate-Limit: 700`: a number alone is the limit, where the name says nothing else. */
function plainWhole(family: Family): string | undefined {
  const text = family.place.isPlain ? family.text('whole') : undefined;
  return text !== undefined && /^[\d:, ]+$/.test(text) ? text : undefined;
}

const USED = /^(?:([\w-]+)=)?(\d+)\/(\d+)$/;

function usedOfLimit(text: string, windowMs: number | undefined): HeaderLimit[] {
  return splitList(text).flatMap((part) => {
    const match = USED.exec(part);
    const limit = Number(match?.[3] ?? 0);
    if (match === null || !(limit > 0)) return [];
    const remaining = Math.max(0, limit - Number(match[2]));
    return [{ limit, remaining, windowMs, unit: 'requests', policy: match[1] }];
  });
}

function labelOf(family: Family, mayBePolicy: boolean): string | undefined {
  const label = family.text('label') ?? (mayBePolicy ? family.text('policy') : undefined);
  return label !== undefined && /^[\w .:/-]+$/.test(label) ? label : undefined;
}

function refuses(status: string | undefined): boolean | undefined {
  if (status === undefined) return undefined;
  return /^allowed/.test(status) ? false : status === 'rejected' ? true : undefined;
}
