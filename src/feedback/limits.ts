import { REQUESTS } from '../base/words.ts';
import { type Count, MOST_WINDOWS, mostCautious, parseCounts } from './counts.ts';
import { USED_OF_LIMIT } from './dialects.ts';
import { type Family, familiesOf, textOf } from './families.ts';
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

const NO_POLICIES: readonly QuotaPolicy[] = [];

/** Every limit that the headers of these names describe. */
export function limitsOf(read: HeaderReader, names: readonly string[], wallNow: () => number): HeaderLimit[] {
  const { all, usedOfLimit } = familiesOf(names);
  const limits: HeaderLimit[] = usedOfLimit.flatMap((name) => ofUsed(read(name), USED_OF_LIMIT[name]));
  for (const family of all) {
    const policyText = textOf(read, family, 'policy');
    const policies = policyText === undefined ? NO_POLICIES : parsePolicies(policyText);
    const whole = ofWhole(read, family, policies, wallNow);
    const label = labelOf(read, family, policies.length > 0 ? undefined : policyText);
    const counted = ofCounts(read, family, { policies, label, wallNow });
    const sizes = whole.length > 0 ? policies.slice(0, 0) : unmatched(policies, counted);
    limits.push(...whole, ...counted, ...sizes.map((policy) => sizeOf(policy, family, label)));
  }
  return limits;
}

interface Around {
  readonly policies: readonly QuotaPolicy[];
  readonly label: string | undefined;
  readonly wallNow: () => number;
}

/** The limit, or the limits of several windows in step, of headers for `limit`, `remaining`, `reset`. */
function ofCounts(read: HeaderReader, family: Family, { policies, label, wallNow }: Around): HeaderLimit[] {
  const { unit, windowMs } = family.place;
  const limits = parseCounts(textOf(read, family, 'limit') ?? plainWhole(read, family));
  const remaining = parseCounts(textOf(read, family, 'remaining'));
  const side = remaining.length > 0 ? remaining : parseCounts(textOf(read, family, 'used'));
  const resets = resetsOf(read, family, wallNow);
  const window = windowMs ?? windowOf(read, family, limits[0]?.value);
  const isInStep = side.length > 1 && (limits.length === side.length || limits.length === 0);
  const common: Common = {
    unit,
    policy: label,
    resetName: resets.name,
    refuses: refuses(textOf(read, family, 'status')),
  };
  const found: HeaderLimit[] = [];
  for (let at = 0; at < (isInStep ? side.length : 1); at++) {
    const limit = limits[at];
    // Of several windows, one of size 0 is how some say that this one is not limited.
    if (isInStep && limit?.value === 0) continue;
    const count = isInStep ? side[at] : mostCautious(side, remaining.length > 0);
    const listed = isInStep ? policies[at]?.windowMs : windowListed(limit, limits, policies);
    const reset = isInStep && resets.moments.length > 1 ? resets.moments[at] : latest(resets.moments, wallNow);
    const length = window ?? limit?.windowMs ?? count?.windowMs ?? listed;
    const one = counted(
      limit?.value,
      { count: count?.value, isRemaining: remaining.length > 0, reset, length },
      common,
    );
    if (one !== undefined) found.push(one);
  }
  if (!isInStep && limits.length > 1) found.push(...otherSizes(limits, found[0], common));
  return found;
}

/** What the limits of one family share. */
type Common = Pick<HeaderLimit, 'unit' | 'policy' | 'resetName' | 'refuses'>;

interface Rest {
  readonly count: Count['value'];
  readonly isRemaining: boolean;
  readonly reset: Moment | undefined;
  readonly length: number | undefined;
}

/** A limit of 0 is how some say that there is none; -1 is how some say that they do not know. */
function counted(
  most: Count['value'],
  { count, isRemaining, reset, length }: Rest,
  common: Common,
): HeaderLimit | undefined {
  const limit = typeof most === 'number' && most > 0 ? most : undefined;
  let remaining = typeof count === 'number' && most !== 0 ? count : undefined;
  if (!isRemaining && remaining !== undefined)
    remaining = limit === undefined ? undefined : Math.max(0, limit - remaining);
  if (limit === undefined && remaining === undefined && reset === undefined) return undefined;
  return {
    limit,
    remaining,
    reset,
    resetName: common.resetName,
    windowMs: length,
    unit: common.unit,
    policy: common.policy,
    isUnknown: most === 0 || most === 'unknown' || count === 'unknown',
    refuses: common.refuses,
  };
}

interface Resets {
  readonly name?: string;
  readonly moments: readonly (Moment | undefined)[];
}

const NO_RESETS: Resets = { moments: [] };

/** The first header of the family that can be read. */
function resetsOf(read: HeaderReader, family: Family, wallNow: () => number): Resets {
  for (const { name, place } of family.members.reset ?? []) {
    const text = read(name);
    if (text === undefined) continue;
    const parts = splitList(text);
    const moments = parts.slice(0, MOST_WINDOWS).map((part) => parseMoment(part, place.unitMs, wallNow));
    if (moments.some((moment) => moment !== undefined)) return { name, moments };
  }
  return NO_RESETS;
}

function latest(moments: readonly (Moment | undefined)[], wallNow: () => number): Moment | undefined {
  if (moments.length < 2) return moments[0];
  const now = wallNow();
  const leftOf = (moment: Moment): number => ('in' in moment ? moment.in : moment.at - now);
  let best: Moment | undefined;
  for (const one of moments) if (one !== undefined && (best === undefined || leftOf(one) > leftOf(best))) best = one;
  return best;
}

/** An interval beside the limit; where a bucket is refilled bit by bit, what it takes to fill it. */
function windowOf(read: HeaderReader, family: Family, limit: Count['value']): number | undefined {
  const member = family.members.window?.[0];
  const text = member === undefined ? undefined : read(member.name);
  const moment = text === undefined ? undefined : parseMoment(text, member?.place.unitMs ?? 1_000, () => 0);
  if (moment === undefined || !('in' in moment) || moment.in === 0) return undefined;
  const fill = parseCounts(textOf(read, family, 'fill'))[0]?.value;
  if (typeof fill !== 'number' || typeof limit !== 'number' || !(fill > 0)) return moment.in;
  return Math.min(Math.ceil((moment.in * limit) / fill), Number.MAX_SAFE_INTEGER) || undefined;
}

function windowListed(
  limit: Count | undefined,
  limits: readonly Count[],
  policies: readonly QuotaPolicy[],
): number | undefined {
  if (limits.length < 2 && policies.length === 0) return undefined;
  const isAlike = (other: Count): boolean => other.value === limit?.value && other.windowMs !== undefined;
  return limits.find(isAlike)?.windowMs ?? policies.find((policy) => policy.limit === limit?.value)?.windowMs;
}

/** `100, 100;w=60, 10000;w=86400`: of windows beyond the one that is counted only the size is known. */
function otherSizes(limits: readonly Count[], first: HeaderLimit | undefined, common: Common): HeaderLimit[] {
  return limits.slice(1).flatMap(({ value, windowMs }) => {
    const isKnown = windowMs === undefined || (first?.limit === value && first?.windowMs === windowMs);
    return typeof value !== 'number' || isKnown
      ? []
      : [{ unit: common.unit, policy: common.policy, limit: value, windowMs }];
  });
}

function unmatched(policies: readonly QuotaPolicy[], counted: readonly HeaderLimit[]): readonly QuotaPolicy[] {
  return policies.filter(
    ({ limit, windowMs }) => !counted.some((one) => one.limit === limit && one.windowMs === windowMs),
  );
}

function sizeOf({ limit, windowMs, unit, policy }: QuotaPolicy, family: Family, label?: string): HeaderLimit {
  return { limit, windowMs, unit: unit ?? family.place.unit, policy: policy ?? label };
}

/** `RateLimit` and its relatives: the value holds everything. */
function ofWhole(
  read: HeaderReader,
  family: Family,
  policies: readonly QuotaPolicy[],
  wallNow: () => number,
): HeaderLimit[] {
  const resetName = family.members.whole?.[0]?.name;
  const text = textOf(read, family, 'whole');
  if (text === undefined) return [];
  const matched = new Set<QuotaPolicy>();
  const limits = parseRateLimit(text).map((said): HeaderLimit => {
    const policy = policies.find(
      (one) =>
        (said.policy === undefined ? one.limit === said.limit : one.policy === said.policy) &&
        (one.partition === undefined || said.partition === undefined || one.partition === said.partition),
    );
    if (policy !== undefined) matched.add(policy);
    return {
      limit: said.limit ?? policy?.limit,
      remaining: said.remaining,
      reset: said.reset === undefined ? undefined : parseMoment(said.reset, 1_000, wallNow),
      resetName,
      windowMs: policy?.windowMs,
      unit: policy?.unit ?? family.place.unit,
      policy: said.policy ?? family.place.policy,
    };
  });
  if (limits.length === 0) return limits;
  const rest = policies.filter((policy) => !matched.has(policy));
  return [...limits, ...rest.map((policy) => sizeOf(policy, family))];
}

/** `X-Rate-Limit: 700`: a number alone is the limit, where the name says nothing else. */
function plainWhole(read: HeaderReader, family: Family): string | undefined {
  const text = family.place.isPlain ? textOf(read, family, 'whole') : undefined;
  return text !== undefined && /^[\d:, ]+$/.test(text) ? text : undefined;
}

const USED = /^(?:([\w-]+)=)?(\d{1,15})\/(\d{1,15})$/;

function ofUsed(text: string | undefined, windowMs: number | undefined): HeaderLimit[] {
  return splitList(text ?? '').flatMap((part) => {
    const match = USED.exec(part);
    const limit = Number(match?.[3] ?? 0);
    if (match === null || !(limit > 0)) return [];
    const remaining = Math.max(0, limit - Number(match[2]));
    return [{ limit, remaining, windowMs, unit: REQUESTS, policy: match[1] }];
  });
}

function labelOf(read: HeaderReader, family: Family, policyText: string | undefined): string | undefined {
  const label = textOf(read, family, 'label') ?? policyText;
  return label !== undefined && /^[\w .:/-]+$/.test(label) ? label : family.place.policy;
}

function refuses(status: string | undefined): boolean | undefined {
  if (status === undefined) return undefined;
  if (status === 'rejected') return true;
  return status.startsWith('allowed') ? false : undefined;
}
