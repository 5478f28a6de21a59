import { show } from '../../base/text.ts';
import { invalid } from './options.ts';

/** The `fetch` that a transport of the SDK takes, of any realm. */
export type TransportFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` for the HTTP transport of a client. The SDK makes an error of a 429 that has its status and not its
 * headers, and so loses the time that the server names; this one throws it with its response, and the lane of
 * `gateClient` holds as long as the server says. The same for a 503 with `Retry-After`; all else is returned.
 *
 * @throws {InvalidCall} for a `fetch` that is no function.
 * @example
 * const transport = new StreamableHTTPClientTransport(url, { fetch: transportFetch() });
 */
export function transportFetch(base: TransportFetch = (url, init) => globalThis.fetch(url, init)): TransportFetch {
  if (typeof base !== 'function') throw invalid('transportFetch', 'fetch', show(base), 'a function');
  return async (url, init) => {
    const response = await base(url, init);
    const { status, headers } = response;
    if (status !== 429 && !(status === 503 && headers.has('retry-after'))) return response;
    // Nobody reads it, and its socket would wait for that.
    response.body?.cancel().catch(() => undefined);
    throw Object.assign(new Error(`The endpoint has answered with status ${status}`), { code: status, response });
  };
}
