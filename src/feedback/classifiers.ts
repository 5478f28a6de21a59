import type { Classifier, Verdict } from '../base/verdict.ts';
import type { Outcome } from '../base/words.ts';
import type { CodeOutcome } from './code-rows.ts';
import { type Evidence, gather } from './evidence.ts';
import { asNumber, isPlain, itemsOf, jsonOf, property } from './fields.ts';
import { matchCode } from './match.ts';
import { readProse } from './prose.ts';
import { graphqlFailureIn, textsOf } from './recognise.ts';

const MOST_RECORDS = 500;

/**
 * Reads GraphQL results without a response around them, as `fn` returns them when it returns the parsed
 * body: `{ data, errors }`, `{ data, error: { graphQLErrors } }` and the like. A known
 * code in any error is a refusal, even beside partial data. By name: `classify: graphql`.
 *
 * @example
 * createDispatcher({ downstreams: { shop: { quota: '2/second', classify: 'shop' } } }, { classify: { shop: graphql() } });
 */
export function graphql(): Classifier {
  return ({ value: returned, thrown }) => {
    if (thrown) return undefined;
    const value = parsed(returned);
    const errors = property(value, 'errors');
    const seeds = graphqlFailureIn(value) ?? (isPlain(errors) ? [errors] : []);
    return seeds.length === 0 ? undefined : fromCodes(gather(...seeds));
  };
}

/**
 * Reads the text of MCP tool results that call themselves errors: "Too many requests, retry in 35 s" is
 * throttled, for 35 s. JSON in them is read without a classifier. By name: `classify: mcpToolResult`.
 *
 * @example
 * createDispatcher({ downstreams: { notes: { quota: '3/second', classify: 'mcpToolResult' } } });
 */
export function mcpToolResult(): Classifier {
  return ({ value: returned, thrown }) => {
    const answer = parsed(returned);
    const value = property(answer, 'jsonrpc') === '2.0' ? property(answer, 'result') : answer;
    if (thrown || property(value, 'isError') !== true) return undefined;
    for (const text of textsOf(value)) {
      if (jsonOf(text) !== undefined) continue;
      const said = readProse(text);
      if (said === undefined) continue;
      const { outcome, retryAfterMs } = said;
      return { outcome, server: retryAfterMs === undefined ? {} : { retryAfterMs, readFrom: 'the text' } };
    }
    return undefined;
  };
}

/** Where batch operations of AWS return what they have not done, and the code of each item's error. */
const LEFT_OVER = ['UnprocessedItems', 'UnprocessedKeys'];
const RECORDS: readonly (readonly [list: string, code: string])[] = [
  ['Records', 'ErrorCode'],
  ['RequestResponses', 'ErrorCode'],
  ['Failed', 'Code'],
];

/**
 * Reads batch operations of AWS that succeed in part: `UnprocessedItems` and `UnprocessedKeys` (DynamoDB),
 * and items of Kinesis, Firehose and SQS that were throttled one by one. What was left over because the
 * answer grew too large looks the same, and counts too. By name: `classify: awsPartial`.
 *
 * @example
 * createDispatcher({ downstreams: { table: { quota: '1000/second', classify: 'awsPartial' } } });
 */
export function awsPartial(): Classifier {
  return ({ value: returned, thrown }) => {
    if (thrown) return undefined;
    const value = parsed(returned);
    const leftOver = LEFT_OVER.find((name) => isFilled(property(value, name)));
    if (leftOver !== undefined) return { outcome: 'throttled', server: { code: leftOver } };
    for (const [list, field] of RECORDS) {
      for (const node of itemsOf(property(value, list), MOST_RECORDS)) {
        if (typeof node !== 'object' || node === null) continue;
        const row = matchCode(field === 'ErrorCode' ? field : 'Code', property(node, field), { node, isListed: true });
        if (row !== undefined) return { outcome: row.outcome, server: { code: String(row.code) } };
      }
    }
    return undefined;
  };
}

/** What `fn` has returned, parsed where it has returned JSON as text. */
function parsed(returned: unknown): unknown {
  return typeof returned === 'string' ? jsonOf(returned) : returned;
}

function isFilled(value: unknown): boolean {
  if (itemsOf(value, 1).length > 0) return true;
  return isPlain(value) && Object.values(value).some((items) => !Array.isArray(items) || items.length > 0);
}

/**
 * Asks a predicate of yours whether a JSON body is a refusal. It gets the body that `fn` has returned, or
 * that the client has parsed into a response or an error; where there is none, it is not asked. `true`
 * means `throttled`. A wait that the body names in a known property is read from it.
 *
 * @example
 * const classify = { geo: jsonBody((body) => (body as { status?: string }).status === 'OVER_QUERY_LIMIT') };
 * createDispatcher({ downstreams: { geo: { quota: '50/second' } } }, { classify });
 */
export function jsonBody(predicate: (body: unknown) => boolean | CodeOutcome | undefined): Classifier {
  return ({ value }) => {
    const body = bodyOf(value);
    if (body === undefined) return undefined;
    const said: unknown = predicate(body);
    if (said === undefined || said === false) return undefined;
    // A promise is true to anybody who does not look: handed on, it is reported as what it is.
    if (typeof property(said, 'then') === 'function') return said as Verdict;
    return { outcome: (said === true ? 'throttled' : said) as Outcome };
  };
}

/** The parsed body: of a response, of an error that carries one, or the value itself. */
function bodyOf(value: unknown): unknown {
  if (typeof value === 'string') return jsonOf(value);
  const response = property(value, 'response');
  const places = [
    ...[property(response, 'data'), property(response, 'body'), property(value, 'data'), property(value, 'body')],
    ...[property(value, 'responseBody'), property(value, 'bodyAsText'), property(value, 'error')],
  ];
  const hasStatus = ['status', 'statusCode'].some((name) => asNumber(property(value, name)) !== undefined);
  if (isPlain(value) && !hasStatus) return value;
  for (const place of places) {
    const body = typeof place === 'string' ? jsonOf(place) : place;
    if (isPlain(body) || itemsOf(body, 1).length > 0) return body;
  }
  if (isPlain(value) || itemsOf(value, 1).length > 0) return value;
  const message = property(value, 'message');
  return typeof message === 'string' ? jsonOf(message) : undefined;
}

function fromCodes({ codes, statuses }: Evidence): Verdict | undefined {
  const found = codes.find(({ outcome }) => outcome === 'exhausted') ?? codes[0];
  if (found !== undefined) return { outcome: found.outcome, server: { code: String(found.code) } };
  return statuses.includes(429) ? { outcome: 'throttled' } : undefined;
}

/** The classifiers that a policy may name without code. */
export const READY_MADE: Readonly<Record<string, () => Classifier>> = { graphql, mcpToolResult, awsPartial };
