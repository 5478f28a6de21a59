import { DURATION_FORM, parseDuration } from '../../base/duration.ts';
import { InvalidCall } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { show } from '../../base/text.ts';
import type { Duration } from '../../base/words.ts';
import { UNREAD_AFTER_MS } from '../support/stream.ts';

/** What becomes of a request to a host that no downstream claims. */
export type UnknownHosts = 'pass' | 'refuse' | 'lane-per-host';

/** Until when a request counts as running. */
export type LeaseUntil = 'headers' | 'body' | 'end';

/** What `createFetch` and `gate` have in common. */
export interface HttpOptions {
  /** What becomes of a request to a host that no downstream claims. Default `pass`: it is sent ungated. */
  readonly unknownHosts?: UnknownHosts | undefined;
  /** With `lane-per-host`: the downstream that has a lane for each host; made with the policy's `defaults` where the policy does not name it. Default `hosts`. */
  readonly hostLanes?: string | undefined;
  /**
   * Until when a request counts as running: `headers` (default) of its answer, or the end of its `body`: read to its end,
   * cancelled or failed. `end` is the same as `body` here. An answer that is an error (429, 5xx) ends at its headers.
   */
  readonly leaseUntil?: LeaseUntil | undefined;
  /** A body that nobody has begun to read gives its place back after this, with the event `body-unread`. Default 60s. */
  readonly unreadAfter?: Duration | undefined;
  /** The `User-Agent` of requests that have none. */
  readonly userAgent?: string | undefined;
}

/** The same, checked. */
export interface HttpSettings {
  readonly unknownHosts: UnknownHosts;
  /** Nobody has said what becomes of hosts that no downstream claims, nor whose a request is. */
  readonly isByHostsAlone: boolean;
  readonly hostLanes: string;
  readonly untilBody: boolean;
  readonly unreadAfterMs: number;
  readonly userAgent: string | undefined;
}

const CHOICES = {
  unknownHosts: ['pass', 'refuse', 'lane-per-host'],
  leaseUntil: ['headers', 'body', 'end'],
} as const;

const HEADER_TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;

const FIELDS = ['unknownHosts', 'hostLanes', 'leaseUntil', 'unreadAfter', 'userAgent'];

/**
 * Checks options. `functions`: options beside those of `HttpOptions`, each a function.
 *
 * @throws {InvalidCall} that names the field, what was found and what was expected.
 */
export function readHttpOptions(
  given: HttpOptions | undefined,
  where: string,
  functions: readonly string[],
): HttpSettings {
  const fail = (field: string, found: unknown, expected: string): never => {
    throw new InvalidCall(`${where}: ${field}: expected ${expected}, found ${show(found)}`, { downstream: '' });
  };
  if (given !== undefined && (typeof given !== 'object' || given === null)) fail('options', given, 'an object');
  const options = (given ?? {}) as Readonly<Record<string, unknown>> & HttpOptions;
  const known = [...FIELDS, ...functions];
  for (const [field, value] of Object.entries(options)) {
    if (!known.includes(field)) {
      const near = nearest(field, known);
      fail(field, 'an option that there is not', near === undefined ? `one of ${known.join(', ')}` : near);
    }
    if (functions.includes(field) && value !== undefined && typeof value !== 'function')
      fail(field, value, 'a function');
  }
  const { unknownHosts = 'pass', hostLanes = 'hosts', leaseUntil = 'headers', unreadAfter, userAgent } = options;
  for (const [field, value] of Object.entries({ unknownHosts, leaseUntil })) {
    const choices: readonly string[] = CHOICES[field as keyof typeof CHOICES];
    if (!choices.includes(value)) fail(field, value, `one of ${choices.join(', ')}`);
  }
  for (const [field, value] of Object.entries({ hostLanes, userAgent })) {
    if (value !== undefined && (typeof value !== 'string' || value.trim() === '')) fail(field, value, 'a text');
  }
  if (userAgent !== undefined && !HEADER_TEXT.test(userAgent)) {
    fail('userAgent', userAgent, 'a text that a header can hold: one line, without characters beyond Latin-1');
  }
  const unreadAfterMs = unreadAfter === undefined ? UNREAD_AFTER_MS : parseDuration(unreadAfter);
  if (unreadAfterMs === undefined || unreadAfterMs === 0) {
    return fail('unreadAfter', unreadAfter, `more than 0: ${DURATION_FORM}`);
  }
  return {
    unknownHosts,
    isByHostsAlone: options.unknownHosts === undefined && options.lookup === undefined,
    hostLanes,
    untilBody: leaseUntil !== 'headers',
    unreadAfterMs,
    userAgent,
  };
}
