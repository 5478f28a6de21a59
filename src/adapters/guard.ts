/// <reference lib="esnext.disposable" preserve="true" />

import { INSIDE, type Inside } from '../base/inside.ts';
import { nearest } from '../base/nearest.ts';
import type { InventorySnapshot } from '../base/snapshot.ts';
import { show } from '../base/text.ts';
import { Watch } from './guard/watch.ts';

export type { ClaimedHost, InventorySnapshot, SeenHost } from '../base/snapshot.ts';

/** What `watchUngated` may be told. */
export interface WatchUngatedOptions {
  /** False: calls that send several requests are counted, and no `hidden-retries` is told. Default: true. */
  readonly hiddenRetries?: boolean | undefined;
  /** So many hosts of downstreams are listed, and as many that belong to none. 1 to 10000, default 200. */
  readonly mostHosts?: number | undefined;
}

/** A dispatcher that is watched. */
export interface UngatedWatch {
  /** The hosts that the process has sent requests to since, and whose they are. */
  readonly inventory: () => InventorySnapshot;
  /**
   * Runs `fn`. Requests within it to hosts of downstreams are meant to pass no gate (an emergency stop, a health
   * check): they are counted as `allowed` and told nobody. Returns what `fn` returns, throws what it throws.
   */
  readonly allow: <T>(fn: () => T) => T;
  /** Ends it; so does the dispatcher's `close`. Twice is once. */
  readonly stop: () => void;
  readonly [Symbol.dispose]: () => void;
}

/** Anything made by `createDispatcher`, or by `with` of one. */
export interface WatchedDispatcher {
  readonly names: () => string[];
}

const MOST_HOSTS = 200;
const LIMIT = 10_000;
const OPTIONS: readonly (keyof WatchUngatedOptions)[] = ['hiddenRetries', 'mostHosts'];

/**
 * Watches the HTTP requests of this process, whoever makes them (`fetch`, undici, node:http and what is built on
 * them), and tells of those to a host of a downstream (`hosts` in the policy) that were made outside any call of it:
 * an event `ungated-request`, and one alert `UngatedRequest` per host and hour. A call that sends more requests than
 * it took permits for is told as `hidden-retries`, once an hour and downstream. Nothing is held up, changed or read
 * but host, port, method and the status of the answer.
 *
 * @throws {TypeError} where it is no dispatcher, where an option is not what it should be, or where this dispatcher is watched already.
 * @example
 * using watch = watchUngated(dispatcher);
 * watch.inventory().unclaimed; // hosts that belong to no downstream
 */
export function watchUngated(dispatcher: WatchedDispatcher, options: WatchUngatedOptions = {}): UngatedWatch {
  const inside = insideOf(dispatcher);
  const { hiddenRetries = true, mostHosts = MOST_HOSTS } = checked(options);
  if (inside.watching.watcher !== undefined) {
    throw new TypeError('watchUngated: this dispatcher is watched already; stop() that watch first, or use it');
  }
  const watch = new Watch(inside, { hiddenRetries, mostHosts });
  const stop = (): void => watch.stop();
  return { inventory: () => watch.inventory(), allow: (fn) => watch.allow(fn), stop, [Symbol.dispose]: stop };
}

function insideOf(dispatcher: unknown): Inside {
  const door = (dispatcher as { readonly [INSIDE]?: unknown } | null | undefined)?.[INSIDE];
  if (typeof door !== 'function') {
    throw new TypeError(`watchUngated: dispatcher: expected what createDispatcher returns, found ${show(dispatcher)}`);
  }
  return (door as () => Inside).call(dispatcher);
}

function checked(options: WatchUngatedOptions): WatchUngatedOptions {
  if (typeof options !== 'object' || options === null) throw unexpected('options', 'an object', options);
  for (const key of Object.keys(options)) {
    if (OPTIONS.includes(key as keyof WatchUngatedOptions)) continue;
    const near = nearest(key, OPTIONS);
    const hint = near === undefined ? `known are ${OPTIONS.join(', ')}` : `did you mean ${near}?`;
    throw new TypeError(`watchUngated: options.${key}: unknown option; ${hint}`);
  }
  const { hiddenRetries, mostHosts } = options;
  if (hiddenRetries !== undefined && typeof hiddenRetries !== 'boolean') {
    throw unexpected('hiddenRetries', 'true or false', hiddenRetries);
  }
  if (mostHosts !== undefined && !(Number.isSafeInteger(mostHosts) && mostHosts >= 1 && mostHosts <= LIMIT)) {
    throw unexpected('mostHosts', `a whole number from 1 to ${LIMIT}`, mostHosts);
  }
  return options;
}

function unexpected(option: string, expected: string, found: unknown): TypeError {
  return new TypeError(`watchUngated: ${option}: expected ${expected}, found ${show(found)}`);
}
