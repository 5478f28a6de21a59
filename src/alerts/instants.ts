/** The last instant that a date can say. */
const LAST_DATE_MS = 8.64e15;

/** The alerts of a storm name the same few instants again and again, and to write one out is a sixth of what an alert costs. */
const MOST_WRITTEN = 16;
const written = new Map<number, string>();

/** ISO 8601. What no date can say becomes the nearest that can, so that no alert fails for it. */
export function isoInstant(epochMs: number): string {
  const ms = Number.isNaN(epochMs) ? 0 : Math.trunc(Math.min(Math.max(epochMs, -LAST_DATE_MS), LAST_DATE_MS));
  const known = written.get(ms);
  if (known !== undefined) return known;
  if (written.size >= MOST_WRITTEN) written.clear();
  const text = new Date(ms).toISOString();
  written.set(ms, text);
  return text;
}

/** `03:12:41 UTC`, with the date where it is another day than that of `besideMs`. */
export function clockTime(epochMs: number, besideMs = epochMs): string {
  const [date, time] = isoInstant(epochMs).split('T') as [string, string];
  const hhmmss = `${time.slice(0, 8)} UTC`;
  return isoInstant(besideMs).startsWith(date) ? hhmmss : `${date} ${hhmmss}`;
}
