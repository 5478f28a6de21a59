import { REQUESTS } from './words.ts';

/** Windows that have a word, longest first. */
export const WINDOW_WORDS: readonly (readonly [word: string, short: string, ms: number])[] = [
  ['day', 'd', 86_400_000],
  ['hour', 'h', 3_600_000],
  ['minute', 'm', 60_000],
  ['second', 's', 1_000],
];

/** `60/minute`, `200000 tokens/minute`, `1/3s`: a quota as a policy writes it. */
export function quotaText(limit: number, unit: string, windowMs: number): string {
  return `${limit}${unit === REQUESTS ? '' : ` ${unit}`}/${windowText(windowMs)}`;
}

/** `minute`, `10s`, `250ms`: a window as a policy writes it. */
export function windowText(windowMs: number): string {
  for (const [word, short, ms] of WINDOW_WORDS) {
    if (windowMs === ms) return word;
    if (windowMs > ms && windowMs % ms === 0) return `${windowMs / ms}${short}`;
  }
  return `${windowMs}ms`;
}
