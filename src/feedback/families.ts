import { USED_OF_LIMIT } from './dialects.ts';
import { type Field, type Place, placeOf } from './header-names.ts';
import type { HeaderReader } from './headers.ts';

/** A header of a family, under its lower-case name. */
export interface Member {
  readonly name: string;
  readonly place: Place;
}

/** The headers that describe one limit, by what they say of it; of several with one field the best first. */
export interface Family {
  readonly place: Place;
  readonly members: Readonly<Partial<Record<Field, readonly Member[]>>>;
}

/** Which headers of an answer belong together. */
export interface Families {
  readonly all: readonly Family[];
  /** Those whose value is `used/limit`. */
  readonly usedOfLimit: readonly string[];
}

/** The answers of one API have the same headers, and to read their names costs more than to read their values. */
const known = new Map<string, Families>();
const MOST_KNOWN = 256;
/** Nobody has more headers of limits than that. */
const MOST_NAMES = 64;

/** Groups the names of headers (lower case) by the limit that they describe. */
export function familiesOf(names: readonly string[]): Families {
  const few = names.length > MOST_NAMES ? names.slice(0, MOST_NAMES) : names;
  const key = few.join('\n');
  let families = known.get(key);
  if (families === undefined) {
    families = grouped(few);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(key, families);
  }
  return families;
}

interface Draft {
  readonly place: Place;
  readonly members: Partial<Record<Field, Member[]>>;
}

function grouped(names: readonly string[]): Families {
  const drafts = new Map<string, Draft>();
  for (const name of names) {
    const place = placeOf(name);
    if (place === undefined) continue;
    let draft = drafts.get(place.key);
    if (draft === undefined) drafts.set(place.key, (draft = { place, members: {} }));
    (draft.members[place.field] ??= []).push({ name, place });
  }
  for (const [key, plain] of drafts) if (isForOthers(plain) && lend(plain, drafts)) drafts.delete(key);
  const all = [...drafts.values()];
  for (const { members } of all)
    for (const list of Object.values(members)) list.sort((a, b) => a.place.rank - b.place.rank);
  return { all, usedOfLimit: names.filter((name) => Object.hasOwn(USED_OF_LIMIT, name)) };
}

function isForOthers({ place, members }: Draft): boolean {
  return place.isPlain && !(members.limit || members.remaining || members.used || members.whole || members.policy);
}

/** A reset or a window without a limit of its own belongs to the limits of the same prefix that have none. */
function lend(plain: Draft, drafts: ReadonlyMap<string, Draft>): boolean {
  const others = [...drafts.values()].filter(
    ({ place, members }) => place.key !== plain.place.key && place.prefix === plain.place.prefix && hasLimit(members),
  );
  for (const { members } of others)
    for (const field of ['reset', 'window', 'fill'] as const) {
      const lent = plain.members[field];
      if (lent !== undefined) members[field] ??= [...lent];
    }
  return others.length > 0;
}

function hasLimit(members: Draft['members']): boolean {
  return members.limit !== undefined || members.remaining !== undefined;
}

/** The text of a field's best header; an empty one says nothing. */
export function textOf(read: HeaderReader, family: Family, field: Field): string | undefined {
  const list = family.members[field];
  if (list === undefined) return undefined;
  for (const { name } of list) {
    const text = read(name)?.trim();
    if (text) return text;
  }
  return undefined;
}
