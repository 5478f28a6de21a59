import { isHintKey } from './body-hints.ts';
import { CODE_FIELDS } from './match.ts';

/** What a property of an error, or of a body, may hold. */
export type Role = 'status' | 'headers' | 'response' | 'part' | 'body' | 'text' | 'error' | 'cause';

function words(text: string): readonly string[] {
  return text.split(' ');
}

/** What properties hold, by name. Fields of codes and of waits are known elsewhere. */
const ROLES: Readonly<Record<Role, readonly string[]>> = {
  status: [
    ...words('status statusCode :status httpStatusCode code error_code status_code httpStatus networkStatusCode'),
    ...words('http_status httpCode responseStatus responseCode'),
  ],
  headers: words('headers responseHeaders header metadata rawHeaders'),
  /** Objects of any class that belong to the answer. */
  response: [
    ...words('response $response rawResponse httpResponse rawHttpResponse apiResponse fullResponse originalResponse'),
    ...words('res networkError meta'),
  ],
  part: words('error raw $metadata $retryable'),
  /** JSON, already parsed; anything of another class here is a stream, bytes or a client's own affair. */
  body: [
    ...words('data body details errorDetails statusDetails error_details errorInfo errorInfoMetadata result payload'),
    ...words('extensions cost http parameters response_metadata innererror reason graphQLErrors json fault detail'),
    ...words('error_data additional_data info shape rate violations Error CancellationReasons debug sys _meta output'),
    ...words('metadata quotaErrorDetails quota_error_details rawError responseBody parsedBody responseData errorBody'),
  ],
  /** JSON, not yet parsed. */
  text: words('message body data text responseBody bodyAsText responseText response error details'),
  /** Plain: more of the same answer. An error: one that is wrapped. */
  error: words('errors original originalError inner innerError source suppressed'),
  cause: words('lastError cause jse_cause'),
};

/** A client's own reading of the counters. */
export const RATE_LIMITS: ReadonlySet<string> = new Set(['rateLimit', 'rate_limit']);

/** Waits that instances are asked for: theirs may be inherited, or getters, or not enumerable. */
const HINTS = words(
  'retryAfter retryAfterMs retryAfterSeconds retryAfterInMs retryAfterInMilliseconds retryDelay seconds',
);

/** Names that instances are asked for, those that many a server writes with a dash left out. */
export const ASKED: readonly string[] = [
  ...new Set([...Object.values(ROLES).flat(), ...CODE_FIELDS, ...HINTS, ...RATE_LIMITS]),
].filter((name) => !name.includes('-'));

const ASKED_SET: ReadonlySet<string> = new Set(ASKED);
const NO_ROLES: ReadonlySet<Role> = new Set();
const ROLES_OF = new Map<string, ReadonlySet<Role>>();
for (const role of Object.keys(ROLES) as Role[]) {
  for (const name of ROLES[role]) ROLES_OF.set(name, new Set([...(ROLES_OF.get(name) ?? []), role]));
}

/** What a property of this name may hold; nothing for most. */
export function rolesOf(name: string): ReadonlySet<Role> {
  return ROLES_OF.get(name) ?? NO_ROLES;
}

/** Whether a property of this name may state a wait. */
export function isHint(key: string): boolean {
  return /^(?:retry|backoff|seconds$|penstock)/i.test(key) && isHintKey(key);
}

/** Whether an instance has to be read a property that it is not asked for anyway. */
export function isOwnHint(key: string): boolean {
  return !ASKED_SET.has(key) && isHint(key);
}
