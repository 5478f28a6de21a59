import type { Sample } from '../lib/row.ts';

/** Calls that are under way at any time: enough for two seconds, and never fewer than this. */
const CROWD = 2_000;
/** What is saved up for an idle spell is spent before counting begins. */
const SETTLE_MS = 1_000;
const MS = 10_000;
const SECOND = 1_000;

export type Call = (fn: () => Promise<void>) => Promise<unknown>;

/** Keeps the lane full for eleven seconds; counts the starts of the last ten, in % of what the rate allows. */
export async function pressed(call: Call, rate: number, isQuick: boolean): Promise<Sample> {
  const ms = isQuick ? 1_000 : MS;
  const settleMs = isQuick ? 300 : SETTLE_MS;
  const starts: number[] = [];
  const from = performance.now();
  const end = from + settleMs + ms;
  const start = async () => {
    starts.push(performance.now());
  };
  const press = async (): Promise<void> => {
    while (performance.now() < end) await call(start);
  };
  for (let left = Math.max(CROWD, 2 * rate); left > 0; left -= 1) press().catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, settleMs + ms));
  const counted = starts.filter((at) => at >= from + settleMs && at < end).length;
  if (counted === 0) throw new Error('nothing was started');
  const most = mostInWindow(starts, SECOND);
  return {
    value: (100 * counted) / ((rate * ms) / SECOND),
    more: { mostInOneSecond: most, starts: counted },
  };
}

/** The fullest window of that length, wherever it begins. */
export function mostInWindow(instants: readonly number[], length: number): number {
  let most = 0;
  let first = 0;
  for (const [at, instant] of instants.entries()) {
    while (instant - (instants[first] ?? instant) >= length) first += 1;
    most = Math.max(most, at - first + 1);
  }
  return most;
}
