import type { WatchedCall, Watching } from '../../base/inside.ts';
import { REQUESTS } from '../../base/words.ts';

/** Puts somebody around every call, or takes them away; a watcher stands outside a cover. */
export function stand<K extends 'watcher' | 'cover'>(watching: Watching, as: K, who: Watching[K]): void {
  watching[as] = who;
  const { watcher, cover } = watching;
  watching.by =
    watcher === undefined || cover === undefined
      ? (watcher ?? cover)
      : { run: (call, fn) => watcher.run(call, (inner) => cover.run(inner, fn)) };
}

/** Requests that a call has taken permits for. */
export function permitsOf({ plan, costs }: WatchedCall): number {
  let most = 1;
  for (const [i, { unit }] of plan.quotas.entries()) if (unit === REQUESTS) most = Math.max(most, costs[i] ?? 1);
  return most;
}
