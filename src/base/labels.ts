/** Set by Penstock; what routes and silences rely on. */
const OWN_LABELS: ReadonlySet<string> = new Set(['alertname', 'downstream', 'severity', 'owner', 'environment']);

/** Why a label may not have this name. Before 0.27 Alertmanager takes no other names than these. */
export function labelProblem(name: string): string | undefined {
  if (!/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(name)) return 'expected a name of letters, digits and _, such as team';
  if (name.startsWith('__')) return 'names that begin with __ are kept for Alertmanager itself';
  return OWN_LABELS.has(name) ? 'this label is set by Penstock itself' : undefined;
}

/** What may stand in a header of HTTP, as a name. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Those are the request's own, or the signature's. */
const OWN_HEADERS = /^(?:content-.*|host|connection|transfer-encoding|user-agent|webhook-.*)$/i;

/** Why a request may not be given a header of this name. */
export function headerProblem(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return 'expected the name of a header, such as x-api-key';
  return OWN_HEADERS.test(name) ? 'this header is set by Penstock itself' : undefined;
}
