import { DURATION_FORM, parseDuration } from '../../base/duration.ts';
import { InvalidCall } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { show } from '../../base/text.ts';
import type { Cost } from '../../base/words.ts';
import type { CallContext } from '../../dispatch/context.ts';

type Writable = { -readonly [Field in keyof CallContext]?: CallContext[Field] };

/** Headers that speak to Penstock begin so; none of them is ever sent. */
const PREFIX = 'x-penstock-';

type Fail = (found: string, expected: string) => never;

/** What each header says of the call, by the rest of its name. */
const READERS: Readonly<Record<string, (text: string, into: Writable, fail: Fail, wallNow: number) => void>> = {
  deadline: (text, into, fail, wallNow) => {
    into.deadline =
      readInstant(text, wallNow) ??
      fail(text, `epoch milliseconds, an ISO 8601 instant, or a duration: ${DURATION_FORM}`);
  },
  priority: (text, into) => {
    into.priority = text as never;
  },
  cost: (text, into, fail) => {
    into.cost = readCost(text) ?? fail(text, 'a whole number, or numbers by unit such as tokens=1200');
  },
  tool: (text, into) => {
    into.tool = text;
  },
  'run-id': (text, into) => {
    into.runId = text;
  },
  account: (text, into) => {
    into.account = text;
  },
};

/** Whether a header is for Penstock alone. */
export function isOurs(name: string): boolean {
  return name.length > PREFIX.length && name.slice(0, PREFIX.length).toLowerCase() === PREFIX;
}

/** What runtimes say of themselves where their caller says nothing: that names nobody. */
const NOBODY: ReadonlySet<string> = new Set(['', 'node', 'undici']);

/** Whether a `User-Agent` says who calls. */
export function isNamed(userAgent: string | null | undefined): boolean {
  return !NOBODY.has(userAgent?.trim() ?? '');
}

/**
 * What `x-penstock-deadline`, `-priority`, `-cost`, `-tool`, `-run-id` and `-account` say of a call.
 *
 * @throws {InvalidCall} that names the header, what was found and what was expected.
 */
export function readContext(
  headers: Iterable<readonly [string, string]>,
  downstream: string,
  wallNow: number,
): CallContext {
  const context: Writable = {};
  for (const [name, value] of headers) {
    if (!isOurs(name)) continue;
    const field = name.slice(PREFIX.length).toLowerCase();
    const text = value.trim();
    const fail: Fail = (found, expected) => {
      throw new InvalidCall(`${downstream}: ${PREFIX}${field}: expected ${expected}, found ${show(found)}`, {
        downstream,
      });
    };
    const read = Object.hasOwn(READERS, field) ? READERS[field] : undefined;
    if (read === undefined)
      fail(name, nearest(field, Object.keys(READERS)) ?? `one of ${Object.keys(READERS).join(', ')}`);
    else read(text, context, fail, wallNow);
  }
  return context;
}

/** Bare digits are an instant, as everywhere: one that is none is refused by the lane, which says what to write. */
function readInstant(text: string, wallNow: number): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  const ms = parseDuration(text);
  if (ms !== undefined) return wallNow + ms;
  const at = /^\d{4}-\d{2}-\d{2}T.*(?:Z|[+-]\d{2}:?\d{2})$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** `2`, `tokens=1200, requests=1`, `{"tokens":1200}`. */
function readCost(text: string): Cost | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const bare = text.replace(/^\{|\}$/g, '');
  const parts = bare.split(/[,;]/).map((part) => /^\s*"?([\w-]+)"?\s*[=:]\s*(\d+)\s*$/.exec(part));
  const pairs = parts.map((match) => [match?.[1], Number(match?.[2])] as const);
  if (pairs.some(([unit]) => unit === undefined)) return undefined;
  return Object.fromEntries(pairs) as Record<string, number>;
}

/** Earliest deadline, any signal, later names win; what is undefined changes nothing. */
export function mergedContext(...contexts: readonly (CallContext | undefined)[]): CallContext {
  const merged: Record<string, unknown> = {};
  const signals: AbortSignal[] = [];
  for (const context of contexts) {
    for (const [field, value] of Object.entries(context ?? {})) {
      if (value === undefined) continue;
      if (field === 'signal') signals.push(value as AbortSignal);
      else merged[field] = field === 'deadline' ? earlier(merged.deadline, value) : value;
    }
  }
  if (signals.length > 0) merged.signal = signals.length === 1 ? signals[0] : AbortSignal.any(signals);
  return merged as CallContext;
}

/** One that is no instant stays, for the lane to refuse with the reason. */
function earlier(one: unknown, other: unknown): unknown {
  if (one === undefined) return other;
  return Number(one) <= Number(other) || Number.isNaN(Number(one)) ? one : other;
}
