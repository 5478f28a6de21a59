/** Numbers for narrow columns; none is longer than it says. */

/** A duration in at most five characters, four from a second on: `0`, `250ms`, `1.2s`, `41s`, `12m`, `9h`, `30d`. */
export function shortDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '∞';
  if (ms < 0.5) return '0';
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)}s`;
  if (ms < 99_500) return `${Math.round(ms / 1_000)}s`;
  if (ms < 99.5 * 60_000) return `${Math.round(ms / 60_000)}m`;
  if (ms < 99.5 * 3_600_000) return `${Math.round(ms / 3_600_000)}h`;
  return `${Math.min(999, Math.round(ms / 86_400_000))}d`;
}

/** A count in at most four characters: `0`, `999`, `1.2k`, `34k`, `1.5M`. */
export function shortCount(count: number): string {
  if (count < 999.5) return String(Math.round(count));
  if (count < 9_950) return `${(count / 1_000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1_000)}k`;
  if (count < 9.95e6) return `${(count / 1e6).toFixed(1)}M`;
  return `${Math.min(999, Math.round(count / 1e6))}M`;
}

/** Two or more than this a second read better by the second. */
const FAST = 2;

/** Used and sized in one unit, the second for fast lanes and the minute for others: `43/48/min`, `180/200/s`. */
export function usedOf(startsPerSecond: number, sizedPerSecond: number | undefined): string {
  const isFast = (sizedPerSecond ?? startsPerSecond) >= FAST;
  const times = isFast ? 1 : 60;
  const sized = sizedPerSecond === undefined ? '' : `/${shortRate(sizedPerSecond * times)}`;
  return `${shortRate(startsPerSecond * times)}${sized}/${isFast ? 's' : 'min'}`;
}

/** `48/min` */
export function rateText(perSecond: number): string {
  return usedOf(perSecond, undefined);
}

function shortRate(rate: number): string {
  if (rate >= 9.95) return shortCount(rate);
  return String(Number(rate.toFixed(rate < 1 ? 2 : 1)));
}
