import { isAdmissionError } from '../base/errors.ts';
import type { QuotaReading, Verdict } from '../base/verdict.ts';
import { quotasOf, type Recognition, refusalOf, timed } from './decide.ts';
import { type Evidence, gather, isErrorLike } from './evidence.ts';
import { asStatus, isOwn, isPlain, itemsOf, jsonOf, property } from './fields.ts';
import { headerReader } from './headers.ts';
import { remoteRefusal } from './remote.ts';

export const SUCCESS: Verdict = Object.freeze({ outcome: 'success' });
export const FAILED: Verdict = Object.freeze({ outcome: 'failed' });
export const CANCELLED: Verdict = Object.freeze({ outcome: 'cancelled' });

/** Errors in errors in errors: more of them than a retrying client that wraps a retrying client makes. */
const MOST_ERRORS = 24;
const MOST_CONTENTS = 5;
const CONTAINERS = ['headers', 'responseHeaders', 'header'];

/**
 * What an object that was thrown means, read from its structure alone: never from its class, its
 * message in prose or a body that is still a stream.
 */
export function recogniseThrown(thrown: object, how: Recognition): Verdict {
  if (isAdmissionError(thrown)) return CANCELLED;
  const found = readError(thrown, how, { left: MOST_ERRORS });
  if (found.refusal !== undefined) return found.refusal;
  const { statuses, readers, hasOurs } = found.evidence;
  if (isAbort(thrown) || (hasOurs && statuses.length === 0)) return CANCELLED;
  const [status] = statuses;
  const verdict: Verdict = status === undefined ? FAILED : { outcome: 'failed', server: { status } };
  return withQuotas(verdict, quotasOf(readers, how));
}

interface ErrorRead {
  readonly evidence: Evidence;
  readonly refusal?: Verdict | undefined;
}

/**
 * The outermost error that is an answer decides. One that has no answer of its own, or only a status that
 * its thrower has given it, may wrap the downstream's.
 */
function readError(error: object, how: Recognition, budget: { left: number }): ErrorRead {
  budget.left -= 1;
  const evidence = gather(error);
  const refusal = refusalOf(evidence, how);
  // A success by its status says nothing of the errors in its body, which a client may have made instances of.
  const isAnswer = evidence.hasHeaders && evidence.statuses.some((status) => status >= 400);
  if (refusal === undefined ? isAnswer : hasWait(refusal)) return { evidence, refusal };
  const inner = readWrapped(error, evidence, how, budget);
  if (refusal === undefined) return { ...inner, refusal: inner.refusal && timed(inner.refusal, evidence, how) };
  // A wrapper that copies a status leaves the headers behind.
  return { evidence, refusal: inner.refusal === undefined ? refusal : merged(refusal, inner.refusal) };
}

function readWrapped(error: object, evidence: Evidence, how: Recognition, budget: { left: number }): ErrorRead {
  const last = property(error, 'lastError');
  const refusals: Verdict[] = [];
  let inner: Evidence | undefined;
  for (const wrapped of evidence.wrapped) {
    if (budget.left <= 0) break;
    if (isAdmissionError(wrapped)) {
      evidence.hasOurs = true;
      continue;
    }
    const read = readError(wrapped, how, budget);
    if (read.refusal !== undefined) refusals.push(read.refusal);
    // What was tried last says how long to wait now.
    if (read.refusal !== undefined && wrapped === last) return read;
    evidence.hasOurs ||= read.evidence.hasOurs;
    inner ??= read.evidence;
  }
  const told =
    evidence.statuses.length === 0 && inner !== undefined ? { ...inner, hasOurs: evidence.hasOurs } : evidence;
  return { evidence: told, refusal: latest(refusals) };
}

function hasWait({ server }: Verdict): boolean {
  return server?.retryAfterMs !== undefined;
}

/** A refusal with what the error inside, the downstream's own word, says of it. */
function merged(outer: Verdict, inner: Verdict): Verdict {
  const outcome = outer.outcome === 'throttled' && inner.outcome === 'exhausted' ? 'exhausted' : outer.outcome;
  const quotas = outer.quotas ?? inner.quotas;
  const server = { ...inner.server, ...outer.server };
  return quotas === undefined ? { outcome, server } : { outcome, server, quotas };
}

/** Of refusals that came together, the last, with the longest wait that any of them names. */
function latest(refusals: readonly Verdict[]): Verdict | undefined {
  const last = refusals.at(-1);
  let longest = last;
  for (const one of refusals) {
    if ((one.server?.retryAfterMs ?? -1) > (longest?.server?.retryAfterMs ?? -1)) longest = one;
  }
  if (last === undefined || longest === last) return last;
  const { retryAfterMs, readFrom } = longest?.server ?? {};
  if (retryAfterMs === undefined || readFrom === undefined) return last;
  return { ...last, server: { ...last.server, retryAfterMs, readFrom } };
}

interface Returned {
  readonly status?: unknown;
  readonly statusCode?: unknown;
  /** The headers of an answer as HTTP/2 has them. */
  readonly ':status'?: unknown;
  readonly isError?: unknown;
  readonly type?: unknown;
  readonly jsonrpc?: unknown;
  readonly error?: unknown;
  readonly response?: unknown;
  readonly errors?: unknown;
  readonly data?: unknown;
}

/**
 * What a returned object means. An answer of a downstream has a status and headers (or the `retryAfterMs` of a
 * report), or is a client's result: beside its response, with an error that others throw, or an error beside headers.
 * MCP, JSON-RPC and events of streams mark a failure otherwise; all else is data, whatever it says.
 */
export function recogniseReturned(value: object, how: Recognition): Verdict {
  const fields = value as Returned;
  let status = asStatus(fields.status);
  if (status === undefined) status = asStatus(fields.statusCode ?? fields[':status']);
  // Nearly every value ends here: keep it to a few property reads.
  if (status === undefined) {
    if (fields.isError === true) return recogniseTool(value, how) ?? SUCCESS;
    if (fields.type === 'error' || fields.jsonrpc !== undefined) return recogniseEvent(value, fields, how) ?? SUCCESS;
    const { response } = fields;
    if (typeof response === 'object' && response !== null) return recogniseResult(value, response, how);
    const failure = fields.error ?? fields.errors;
    return typeof failure === 'object' && failure !== null ? recogniseFailure(value, failure, how) : SUCCESS;
  }
  const container = containerOf(value);
  if (container === undefined) return isRefusedResult(value, fields, status) ? judged(value, how) : SUCCESS;
  if (status < 400) {
    const refusal = recogniseBody(value, fields, status, how);
    return refusal ?? withQuotas(SUCCESS, quotasIn(container, how));
  }
  const refusal = refusalOf(gather(value), how);
  if (refusal !== undefined) return refusal;
  return withQuotas(status >= 500 ? { outcome: 'failed', server: { status } } : SUCCESS, quotasIn(container, how));
}

/** A result with the response that it came from beside it, as generated clients return them. */
function recogniseResult(value: object, response: object, how: Recognition): Verdict {
  const status = isLive(response)
    ? asStatus(property(response, 'status') ?? property(response, 'statusCode'))
    : undefined;
  if (status !== undefined && status >= 400) return judged(value, how);
  const refusal = status === undefined ? undefined : refusalIn(value, value, status, how);
  return refusal ?? withQuotas(SUCCESS, quotasIn(property(response, 'headers'), how));
}

/** Whether an object is the response of a client: one without methods may be anybody's record of a response. */
function isLive(response: unknown): response is object {
  if (typeof response !== 'object' || response === null) return false;
  return !isPlain(response) || typeof property(property(response, 'headers'), 'get') === 'function';
}

/** A result whose error holds the response, is an error that a client would throw, or stands beside the headers. */
function recogniseFailure(value: object, failure: object, how: Recognition): Verdict {
  const response = property(failure, 'response');
  if (isLive(response)) return recogniseResult(value, response, how);
  if (isErrorLike(failure)) return readError(failure, how, { left: MOST_ERRORS }).refusal ?? SUCCESS;
  const status = asStatus(property(failure, 'statusCode') ?? property(failure, 'status'));
  return status !== undefined && status >= 400 && headerReader(property(value, 'headers')) !== undefined
    ? judged(value, how)
    : SUCCESS;
}

/** `{ data: null, error: {...}, status: 429, statusText: '...' }`: a client's result that has left the headers out. */
function isRefusedResult(value: object, { data, error }: Returned, status: number): boolean {
  return status >= 400 && data === null && isPlain(error) && typeof property(value, 'statusText') === 'string';
}

function judged(value: object, how: Recognition): Verdict {
  return refusalOf(gather(value), how) ?? SUCCESS;
}

/** An event of a stream that carries an error, or a message of JSON-RPC that does. */
function recogniseEvent(value: object, { type, error }: Returned, how: Recognition): Verdict | undefined {
  if (type !== 'error') {
    const seeds = failureIn(value);
    return seeds === undefined ? undefined : refusalOf(gather(...seeds), how);
  }
  return typeof error === 'object' && error !== null ? readError(error, how, { left: MOST_ERRORS }).refusal : undefined;
}

/** What an answer that is a success by its status says of itself in a body that its client has parsed. */
function recogniseBody(value: object, fields: Returned, status: number, how: Recognition): Verdict | undefined {
  // A fetch Response has parsed nothing, and some warn when they are asked for `data`, unless a client has put it there.
  if (property(value, 'bodyUsed') !== undefined && !isOwn(value, 'data')) return undefined;
  const { errors, data } = fields;
  if (errors === undefined && !isPlain(data)) {
    const body = property(value, 'body');
    return isPlain(body) ? refusalIn(body, value, status, how) : undefined;
  }
  return refusalIn(value, value, status, how) ?? (isPlain(data) ? refusalIn(data, value, status, how) : undefined);
}

/** A body marks a failure by GraphQL's `errors`, by `ok: false`, or as JSON-RPC. Anything else in it is data. */
function refusalIn(body: object, answer: object, status: number, how: Recognition): Verdict | undefined {
  const seeds = failureIn(body);
  if (seeds === undefined) return undefined;
  const evidence = gather(...seeds);
  const refused = evidence.statuses.filter((found) => how.throttleStatuses.includes(found));
  const read = headerReader(containerOf(answer));
  const readers = read === undefined ? evidence.readers : [read, ...evidence.readers];
  return refusalOf({ ...evidence, readers, statuses: [...refused, status] }, how);
}

/** The parts of a body that state a failure; `undefined` where it states none. */
function failureIn(body: unknown): object[] | undefined {
  const listed = graphqlFailureIn(body);
  if (listed !== undefined) return listed;
  const error = property(body, 'error');
  if (property(body, 'ok') === false && typeof error === 'string') {
    return [{ error, response_metadata: property(body, 'response_metadata') }];
  }
  return property(body, 'jsonrpc') === '2.0' && isPlain(error) ? [error] : undefined;
}

/** The errors of a GraphQL result, as the body or a client has them, and what stands beside them of costs. */
export function graphqlFailureIn(body: unknown): object[] | undefined {
  const errors = property(body, 'errors');
  const error = property(body, 'error');
  const lists = [
    errors,
    property(errors, 'graphQLErrors'),
    property(error, 'graphQLErrors'),
    property(error, 'errors'),
  ];
  const list = lists.find((one) => itemsOf(one, 1).length > 0);
  if (list === undefined) return undefined;
  // Instances in a list are answers of their own to whoever walks over it; here they are what the list says.
  const instances = itemsOf(list, MOST_ERRORS).filter(
    (one) => typeof one === 'object' && one !== null && !isPlain(one),
  );
  return [...(instances as object[]), list as object, { extensions: property(body, 'extensions') }];
}

/** A tool's result that calls itself an error: JSON in it is structure, text is not. */
function recogniseTool(result: object, how: Recognition): Verdict | undefined {
  const seeds = [property(result, 'structuredContent'), ...textsOf(result).map(jsonOf), property(result, '_meta')];
  const remote = remoteRefusal(seeds);
  if (remote !== undefined) return remote;
  const objects = seeds.filter((seed) => typeof seed === 'object' && seed !== null);
  return objects.length === 0 ? undefined : refusalOf(gather(...objects), how);
}

/** The texts of a tool's result. */
export function textsOf(result: unknown): string[] {
  return itemsOf(property(result, 'content'), MOST_CONTENTS).flatMap((item) => {
    const text = property(item, 'text');
    return typeof text === 'string' ? [text] : [];
  });
}

function containerOf(value: object): object | undefined {
  for (const key of CONTAINERS) {
    const place = property(value, key);
    if (typeof place === 'object' && place !== null) return place;
  }
  const inner = property(property(value, 'response'), 'headers');
  if (typeof inner === 'object' && inner !== null) return inner;
  if (property(value, ':status') !== undefined) return value;
  return typeof property(value, 'retryAfterMs') === 'number' ? {} : undefined;
}

function quotasIn(container: unknown, how: Recognition): readonly QuotaReading[] {
  const read = headerReader(container);
  return read === undefined ? [] : quotasOf([read], how);
}

function withQuotas(verdict: Verdict, quotas: readonly QuotaReading[]): Verdict {
  return quotas.length === 0 ? verdict : { ...verdict, quotas };
}

/** The shapes in which runtimes and clients say that somebody aborted the call. */
export function isAbort(thrown: object): boolean {
  const name = property(thrown, 'name');
  if (name === 'AbortError' || name === 'CanceledError') return true;
  const code = property(thrown, 'code');
  return code === 'ABORT_ERR' || code === 'ERR_CANCELED';
}
