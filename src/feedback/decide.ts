import type { ServerWord } from '../base/alert.ts';
import type { QuotaReading, Verdict } from '../base/verdict.ts';
import type { Outcome } from '../base/words.ts';
import { longestOf } from './body-hints.ts';
import type { ProviderCode } from './code-rows.ts';
import { type Evidence, gather } from './evidence.ts';
import type { HeaderReader } from './headers.ts';
import { type FoundHint, headerWaits, readHint, readWait } from './hint.ts';
import { matchCode } from './match.ts';
import { readQuotas } from './quota-headers.ts';

interface Instant {
  /** Epoch milliseconds. */
  readonly wallNow: () => number;
}

/** What recognition needs to know of a downstream. */
export interface Recognition extends Instant {
  /** Statuses that mean "our quota is used up". */
  readonly throttleStatuses: readonly number[];
}

/** 529 is what some model providers answer when they are overloaded. */
const OVERLOADED_ALWAYS = 529;
const OVERLOADED_WITH_HINT = 503;
/** What GitHub, and whoever guards a site, answers to too many requests as well as to the wrong ones. */
const FORBIDDEN = 403;

/** Headers in which servers name an error whose body nobody has read. */
const CODE_HEADERS = ['x-amzn-errortype', 'x-ms-error-code'];

const NO_QUOTAS: readonly QuotaReading[] = [];

/** The refusal that an answer states, or `undefined` where it states none. */
export function refusalOf(evidence: Evidence, how: Recognition): Verdict | undefined {
  const { statuses } = evidence;
  // A client may wrap the answer in an error with a status of its own; the downstream's "no" wins.
  const refused = statuses.find((status) => how.throttleStatuses.includes(status));
  const status = refused ?? statuses.find((found) => found === OVERLOADED_ALWAYS) ?? statuses[0];
  const code = codeOf(evidence, status);
  if (refused !== undefined) {
    const outcome = code?.outcome === 'exhausted' ? 'exhausted' : 'throttled';
    return verdictOf(outcome, status, code, evidence, how);
  }
  if (code !== undefined) return verdictOf(code.outcome, status, code, evidence, how);
  if (status === OVERLOADED_ALWAYS) return verdictOf('overloaded', status, undefined, evidence, how);
  if (status === OVERLOADED_WITH_HINT && namesWait(evidence, how)) {
    const hint = hintOf(evidence, how);
    return hint === undefined ? undefined : verdictOf('overloaded', status, undefined, evidence, how, hint);
  }
  if (status === FORBIDDEN && isSpent(evidence, how)) {
    return verdictOf('throttled', status, undefined, evidence, how);
  }
  return undefined;
}

/** What the headers of an answer say of the server's limits. */
export function quotasOf(readers: readonly HeaderReader[], how: Instant): readonly QuotaReading[] {
  for (const read of readers) {
    const quotas = readQuotas(read, how);
    if (quotas.length > 0) return quotas;
  }
  return NO_QUOTAS;
}

/** A refusal that names no wait, with that of the answer around it. */
export function timed(refusal: Verdict, around: Evidence, how: Recognition): Verdict {
  if (refusal.server?.retryAfterMs !== undefined) return refusal;
  const hint = hintOf(around, how);
  return hint === undefined ? refusal : { ...refusal, server: { ...refusal.server, ...hint } };
}

/** Whether the downstream said no. */
export function isRefusal({ outcome }: Verdict): boolean {
  return outcome === 'throttled' || outcome === 'overloaded' || outcome === 'exhausted';
}

/**
 * What a classifier left unsaid, from the value: a wait that the server named must not get lost.
 * `shape` is the verdict that the value would have had without a classifier.
 */
export function completed(said: Verdict, shape: Verdict, value: object, how: Recognition): Verdict {
  const quotas = said.quotas ?? shape.quotas;
  const more = quotas === undefined ? {} : { quotas };
  if (!isRefusal(said)) return { ...said, ...more };
  const seen = isRefusal(shape) ? shape.server : wordOf(said.outcome, gather(value), how);
  const { retryAfterMs, readFrom, ...rest } = { ...seen };
  const own = said.server ?? {};
  const hint = own.retryAfterMs !== undefined || retryAfterMs === undefined ? {} : { retryAfterMs, readFrom };
  const server = { ...rest, ...hint, ...own } as ServerWord;
  return withReset({ ...said, ...(Object.keys(server).length === 0 ? {} : { server }), ...more });
}

/**
 * A refusal without a wait, held until the reset of what it says is used up: as of headers, so of the
 * numbers that a classifier hands over.
 */
export function withReset(said: Verdict): Verdict {
  const { server = {}, quotas = [] } = said;
  if (!isRefusal(said) || server.retryAfterMs !== undefined) return said;
  const spent = [server, ...quotas].filter(({ remaining = 1 }) => remaining < 1);
  const retryAfterMs = Math.max(-1, ...spent.map(({ resetMs = -1 }) => resetMs));
  if (!(retryAfterMs >= 0)) return said;
  const word = { ...limitOf(said.outcome, quotas), ...server, retryAfterMs: Math.ceil(retryAfterMs) };
  return { ...said, server: { readFrom: 'the reset of what is used up', ...word } };
}

function wordOf(outcome: Outcome, evidence: Evidence, how: Recognition): ServerWord {
  const [status] = evidence.statuses;
  const hint = hintOf(evidence, how);
  return { ...(status === undefined ? {} : { status }), ...hint, ...limitOf(outcome, quotasOf(evidence.readers, how)) };
}

function verdictOf(
  outcome: 'throttled' | 'overloaded' | 'exhausted',
  status: number | undefined,
  code: ProviderCode | undefined,
  evidence: Evidence,
  how: Recognition,
  hint: FoundHint | undefined = hintOf(evidence, how),
): Verdict {
  const quotas = quotasOf(evidence.readers, how);
  const server: ServerWord = {
    ...(status === undefined ? {} : { status }),
    ...hint,
    ...(code === undefined ? {} : { code: String(code.code) }),
    ...limitOf(outcome, quotas),
  };
  return quotas.length === 0 ? { outcome, server } : { outcome, server, quotas };
}

/** Used up for the day beats all; else the outermost code, and headers where a body was left alone. */
function codeOf({ codes, readers }: Evidence, status: number | undefined): ProviderCode | undefined {
  const found = codes.find(({ outcome }) => outcome === 'exhausted') ?? codes[0];
  if (found !== undefined || status === undefined || status < 400) return found;
  for (const read of readers) {
    for (const field of CODE_HEADERS) {
      const row = matchCode(field, read(field), { node: {}, isListed: false });
      if (row !== undefined) return row;
    }
  }
  return undefined;
}

/** The longest of what headers and body say: never come back early. */
function hintOf({ readers, candidates }: Evidence, how: Recognition): FoundHint | undefined {
  let best: FoundHint | undefined;
  for (const read of readers) best = later(best, readHint(read, how));
  if (candidates.length === 0) return best;
  const copied = readers.flatMap((read) => headerWaits(read, how));
  const { wallNow } = how;
  return later(best, longestOf(candidates, { wallNow, headers: readers[0], headerMs: best?.retryAfterMs, copied }));
}

function later(a: FoundHint | undefined, b: FoundHint | undefined): FoundHint | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.retryAfterMs > a.retryAfterMs ? b : a;
}

/**
 * A 403 is about the quota where its headers say so: nothing is left, or come back later. `Retry-After: 0`
 * says neither: some servers send it with every answer.
 */
function isSpent({ readers }: Evidence, how: Recognition): boolean {
  if (quotasOf(readers, how).some(({ remaining }) => remaining !== undefined && remaining < 1)) return true;
  return readers.some((read) => (readWait(read, how)?.retryAfterMs ?? 0) > 0);
}

/** An overloaded server says when to come back; the reset of a limit, which other answers carry too, is no such word. */
function namesWait({ readers, candidates }: Evidence, how: Recognition): boolean {
  return candidates.length > 0 || readers.some((read) => readWait(read, how) !== undefined);
}

/** What is used up for the day is seldom what the headers count: their reset is its reset only where they too have nothing left. */
function limitOf(outcome: Outcome, quotas: readonly QuotaReading[]): ReturnType<typeof tightest> {
  const found = tightest(quotas);
  if (outcome !== 'exhausted' || (found.remaining ?? 1) < 1) return found;
  const { resetMs: _other, ...counted } = found;
  return counted;
}

/** The limit that the refusal is most likely about: nothing left, for the longest time. */
function tightest(quotas: readonly QuotaReading[]): Pick<ServerWord, 'limit' | 'remaining' | 'resetMs'> {
  const known = quotas.filter(({ remaining }) => remaining !== undefined);
  const [best = quotas[0]] = known.toSorted(
    (a, b) => (a.remaining ?? 0) - (b.remaining ?? 0) || (b.resetMs ?? 0) - (a.resetMs ?? 0),
  );
  const { limit, remaining, resetMs } = best ?? {};
  return {
    ...(limit === undefined ? {} : { limit }),
    ...(remaining === undefined ? {} : { remaining }),
    ...(resetMs === undefined ? {} : { resetMs }),
  };
}
