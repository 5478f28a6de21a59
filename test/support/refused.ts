import { configS } from './configs.ts';
import { Rig } from './rig.ts';

const DAY = 86_400_000;
/** Where a manual clock stands at first. */
export const START = Date.UTC(2026, 0, 1);

export type Fields = Readonly<Record<string, string | readonly string[]>>;

/** A 429 with these headers, thrown as a client does, or returned. */
export function refusal(headers: object, isThrown: boolean, body = 'slow down'): () => unknown {
  if (!isThrown) return () => ({ status: 429, headers, body });
  return () => {
    throw Object.assign(new Error('Too Many Requests'), { status: 429, headers, body });
  };
}

/** A 429 as `fetch` returns it. */
export const fetched = (fields: Fields): Headers =>
  new Headers(
    Object.entries(fields).flatMap(([name, text]) => [text].flat().map((one) => [name, one] as [string, string])),
  );

export const BOTH = [
  ['thrown', true],
  ['returned', false],
] as const;

/** A rig at that instant of the wall clock. */
export function rigAt(wallMs: number, more: Parameters<typeof configS>[0] = {}): Rig {
  const rig = new Rig(configS({ whilePaused: 'wait', ...more }));
  rig.clock.jumpWall(wallMs - START);
  return rig;
}

/** When the next call starts after a first one was refused with these headers: milliseconds after the refusal. */
export async function restartOf(
  headers: object,
  isThrown: boolean,
  wallMs = START,
  longestMs = 2 * DAY,
): Promise<number | undefined> {
  const rig = rigAt(wallMs);
  rig.call({ fn: refusal(headers, isThrown) });
  await rig.settle();
  const next = rig.call();
  await rig.to(longestMs);
  await rig.rest();
  return next.startedMs;
}
