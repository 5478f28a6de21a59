import { decimal, parseDurationText } from './duration-text.ts';
import { splitList } from './moment.ts';

/** A number of permits as a header writes it. */
export interface Count {
  /** `unknown` where the server says that it does not know; `undefined` where it is no number. */
  readonly value: number | 'unknown' | undefined;
  readonly windowMs?: number | undefined;
}

/** Nobody has more windows than that. */
export const MOST_WINDOWS = 16;

const NONE: readonly Count[] = [];
const PLAIN = /^\d{1,15}$/;
const COUNT = /^(?:name=[^,;]*, ?)?([+-]?[\d.]+)(?: ?(?:;|:|\/) ?(.*))?$/;
const NAMED = /^name=/;
const WINDOW_PARAMETER = /(?:^|;) ?(?:w|window) ?= ?(\d{1,12})(?:;|$)/;
const SECONDS = /^\d{1,12}$/;

/** Reads `100`, `100, 100;w=60`, `10, 1000`, `100:60` (seconds), `100/minute`, `name=default,100;`. */
export function parseCounts(text: string | undefined): readonly Count[] {
  if (text === undefined) return NONE;
  if (PLAIN.test(text)) return [{ value: Number(text) }];
  const parts = NAMED.test(text) ? text.split(';').filter((part) => part.trim() !== '') : splitList(text);
  return parts.slice(0, MOST_WINDOWS).map((part) => countOf(part.trim()));
}

function countOf(text: string): Count {
  const match = COUNT.exec(text);
  if (match === null) return { value: undefined };
  const value = amount(match[1] ?? '');
  const more = match[2];
  if (more === undefined || more === '') return { value };
  const seconds = WINDOW_PARAMETER.exec(more)?.[1] ?? (text.includes(':') && SECONDS.test(more) ? more : undefined);
  if (seconds !== undefined) return { value, windowMs: Number(seconds) * 1_000 || undefined };
  const perMs = text.includes('/') ? parseDurationText(/^\d/.test(more) ? more : `1 ${more}`) : undefined;
  if (perMs !== undefined && perMs > 0) return { value, windowMs: perMs };
  // What follows a semicolon is a comment of the server's; after anything else the number means another thing.
  return { value: text.includes(';') ? value : undefined };
}

/** -1 is how some say that they do not know; further below, more was used than there was. */
function amount(text: string): Count['value'] {
  if (text.startsWith('-')) {
    const over = decimal(text.slice(1), 0);
    if (over === undefined) return undefined;
    return over <= 1 ? 'unknown' : 0;
  }
  if (!/^\d+(?:\.\d*)?$/.test(text)) return undefined;
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

/** Of several counts without limits to match them the most cautious: the least that remains, the most that is used. */
export function mostCautious(counts: readonly Count[], isRemaining: boolean): Count | undefined {
  if (counts.length < 2) return counts[0];
  const numbers = counts.filter((one): one is Count & { value: number } => typeof one.value === 'number');
  if (numbers.length === 0) return counts[0];
  return numbers.reduce((best, one) => {
    const isMoreCautious = isRemaining ? one.value < best.value : one.value > best.value;
    return isMoreCautious ? one : best;
  });
}
