import type { Duration } from './words.ts';

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const TEXT = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** What a duration may look like, for messages. */
export const DURATION_FORM = 'milliseconds, or a text such as "250ms", "30s", "5m", "1h", "1d"';

/** Milliseconds of a duration, or `undefined` for anything that is not one (negative, NaN, infinite, other text). */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const match = TEXT.exec(value.trim());
  if (match === null) return undefined;
  const ms = Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? Number.NaN);
  return Number.isFinite(ms) ? ms : undefined;
}

/** A duration for people: `250 ms`, `1.25 s`, `5 min`, `16.8 min`, `2 h`, `3 days`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return 'for ever';
  if (ms < 1_000) return `${trim(ms)} ms`;
  if (ms < 120_000) return `${trim(ms / 1_000)} s`;
  if (ms < 2 * 3_600_000) return `${trim(ms / 60_000)} min`;
  if (ms < 2 * 86_400_000) return `${trim(ms / 3_600_000)} h`;
  return `${trim(ms / 86_400_000)} days`;
}

function trim(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Milliseconds of an option that was already validated. */
export function durationMs(value: Duration): number {
  const ms = parseDuration(value);
  if (ms === undefined) throw new RangeError(`expected ${DURATION_FORM}, found ${JSON.stringify(value)}`);
  return ms;
}
