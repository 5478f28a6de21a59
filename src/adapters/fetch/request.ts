import type { CallContext } from '../../dispatch/context.ts';
import { isNamed, isOurs } from './headers.ts';

/** What `fetch` takes as its second argument, and what Penstock is to know of the call. */
export interface GatedInit extends RequestInit {
  readonly penstock?: CallContext | undefined;
}

/** A request as it was asked for, before anything of it is used. */
export interface Asked {
  /** Undefined for what is no request over HTTP: that goes its way. */
  readonly url: URL | undefined;
  readonly signal: AbortSignal | undefined;
  /** Whether it says who calls, by itself or by the option `userAgent`. */
  readonly hasUserAgent: boolean;
  /** The headers that speak to Penstock. */
  readonly ours: readonly (readonly [string, string])[];
  /** What goes on with the request: nothing of ours is in it. */
  readonly initWith: (signal: AbortSignal | undefined) => RequestInit | undefined;
}

/** What of a `Request` is looked at, whichever implementation it is of. */
type RequestLike = Pick<Request, 'url' | 'headers' | 'signal'>;

/** Reads a request. Its body is not touched. */
export function readAsked(input: unknown, init: GatedInit | undefined, userAgent: string | undefined): Asked {
  const request = isRequest(input) ? input : undefined;
  // As for `fetch`: headers that are given replace those of the request, and null is no signal.
  const given = init?.headers ?? request?.headers;
  const signal = (init?.signal === undefined ? request?.signal : init.signal) ?? undefined;
  const headers = new Headers(given);
  const ours = [...headers].filter(([name]) => isOurs(name));
  const isUnnamed = !isNamed(headers.get('user-agent'));
  const isChanged = ours.length > 0 || (isUnnamed && userAgent !== undefined);
  for (const [name] of ours) headers.delete(name);
  if (isUnnamed && userAgent !== undefined) headers.set('user-agent', userAgent);
  const initWith = (ends: AbortSignal | undefined): RequestInit | undefined => {
    if (!isChanged && ends === undefined && init?.penstock === undefined) return init as RequestInit | undefined;
    return { ...fieldsOf(init), ...(isChanged && { headers }), ...(ends !== undefined && { signal: ends }) };
  };
  return {
    url: urlOf(request?.url ?? input),
    signal,
    hasUserAgent: !isUnnamed || userAgent !== undefined,
    ours,
    initWith,
  };
}

function isRequest(input: unknown): input is RequestLike {
  if (typeof input !== 'object' || input === null || input instanceof URL) return false;
  const { url, headers } = input as Partial<RequestLike>;
  return typeof url === 'string' && typeof headers === 'object';
}

/** The fields of an init, inherited ones too: a `Request` may stand in its place. */
function fieldsOf(init: GatedInit | undefined): RequestInit {
  const fields: Record<string, unknown> = {};
  for (const field in init) if (field !== 'penstock') fields[field] = init[field as keyof GatedInit];
  return fields;
}

function urlOf(input: unknown): URL | undefined {
  const text = String(input);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}
