/** What a client library throws for a 429: an error with a status and a response. */
export function thrown429(retryAfter?: string): Error {
  const headers = new Headers(retryAfter === undefined ? {} : { 'retry-after': retryAfter });
  return Object.assign(new Error('Too Many Requests'), { status: 429, response: { status: 429, headers } });
}

/** The same as a value: shaped like a response. */
export function returned429(retryAfter?: string): Response {
  return new Response(null, {
    status: 429,
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  });
}
