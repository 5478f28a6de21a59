import { fold } from '../base/nearest.ts';
import type { Beside, ProviderCode } from './code-rows.ts';
import { PROVIDER_CODES } from './codes.ts';
import { itemsOf, property, shortened } from './fields.ts';

/** Where a code was found: the object that holds it, and whether that is one of a list of errors. */
export interface Standing {
  readonly node: object;
  readonly isListed: boolean;
}

/** Longer texts are prose. */
const LONGEST_CODE = 160;

const EXACT = new Map<string, ProviderCode[]>();
const PARTS: (readonly [part: string, row: ProviderCode])[] = [];
for (const row of PROVIDER_CODES) {
  const key = keyOf(row.code);
  if (row.within) PARTS.push([key, row]);
  // Rows that ask for something beside them know more, and come first.
  else
    EXACT.set(
      key,
      [row, ...(EXACT.get(key) ?? [])].sort((a, b) => Number(!a.beside) - Number(!b.beside)),
    );
}

/** Fields and headers in which any code counts. */
export const CODE_FIELDS: ReadonlySet<string> = new Set(PROVIDER_CODES.flatMap((row) => row.at));

/** The row for what stands in a field, or `undefined`: it is data, or a code that we do not know. */
export function matchCode(field: string, value: unknown, standing: Standing): ProviderCode | undefined {
  if (typeof value === 'number') return exact(field, keyOf(value), value, standing);
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_CODE) return undefined;
  const key = keyOf(value);
  const found = exact(field, key, value, standing);
  if (found !== undefined) return found;
  const core = coreOf(value);
  if (core !== value) return exact(field, keyOf(core), value, standing);
  const stem = (STEM.exec(key) ?? (field === 'name' ? CLASS.exec(key) : null))?.[1];
  if (stem !== undefined) return exact(field, stem, value, standing);
  for (const [part, row] of PARTS) if (row.at.includes(field) && key.includes(part)) return row;
  return undefined;
}

/** The common words with what frameworks put around them: `E_TOO_MANY_REQUESTS`, `ApiRateLimitExceededException`. */
const STEM =
  /^(?:fst)?(?:e|err|error)?(?:api|http|request|user|client|app|account)?(ratelimit|ratelimited|toomanyrequests|throttled|throttling)(?:s|error|exception|fault|exceeded|reached|hit|violation)*$/;

/** A class of a client's own: `QdrantClientResourceExhaustedError`, `HttpThrottlingError`. */
const CLASS =
  /(ratelimit|ratelimited|toomanyrequests|throttled|throttling|resourceexhausted)(?:exceeded|reached)?(?:error|exception)$/;

function exact(field: string, key: string, value: unknown, standing: Standing): ProviderCode | undefined {
  const rows = EXACT.get(key);
  if (rows === undefined) return undefined;
  return rows.find(
    (row) => row.at.includes(field) && (row.beside === undefined || BESIDE[row.beside](standing, String(value))),
  );
}

/** Numbers are compared as numbers, in digits or not; names without case, `_`, `-`, `.` and spaces. */
function keyOf(code: string | number): string {
  if (typeof code === 'number' || /^-?\d+$/.test(code)) return `#${Number(code)}`;
  return fold(code).replaceAll('.', '');
}

/**
 * The code inside its wrapping: `com.amazonaws...#Code`, a problem's `https://...#code`,
 * `Code:http://...`, `Name[/route]`, `code/detail`.
 */
function coreOf(value: string): string {
  const hash = value.lastIndexOf('#');
  if (hash >= 0) return value.slice(hash + 1);
  const end = value.search(/[[:/]/);
  return end > 0 ? value.slice(0, end) : value;
}

/** Words in which gRPC libraries say that one message was too large: the one RESOURCE_EXHAUSTED that no waiting cures. */
const MESSAGE_SIZE = /message .{0,40}(?:larger than|exceeds)|max(?:imum)? message size/i;

const BESIDE: Readonly<Record<Beside, (standing: Standing, value: string) => boolean>> = {
  'fbtrace_id, or type OAuthException': ({ node }) =>
    typeof property(node, 'fbtrace_id') === 'string' || property(node, 'type') === 'OAuthException',
  'in a list of errors': ({ isListed }) => isListed,
  'moreInfo or more_info': ({ node }) => isText(node, 'moreInfo') || isText(node, 'more_info'),
  'metadata or details': ({ node }) => hasGrpc(node) && !saysTooLarge(node),
  'no word of a message size': ({ node }) => !saysTooLarge(node),
  'errorType or category of a rate limit': ({ node }) =>
    ['errorType', 'category'].some((field) => /rate_?limit/i.test(textOf(node, field))),
  'data.rate': ({ node }) => typeof property(property(node, 'data'), 'rate') === 'object',
  clientVersion: ({ node }) => isText(node, 'clientVersion'),
  'name Mongo...': ({ node }) => textOf(node, 'name').startsWith('Mongo'),
  error_msg: ({ node }) => isText(node, 'error_msg'),
  seconds: ({ node }) => typeof property(node, 'seconds') === 'number',
  '@type of FCM': ({ node }) => textOf(node, '@type').includes('fcm'),
  'the type of a problem': (_, value) => /^(?:https?:|urn:).*#/.test(value),
};

function hasGrpc(node: object): boolean {
  const metadata = property(node, 'metadata');
  const details = property(node, 'details');
  const isPresent = typeof metadata === 'object' && metadata !== null;
  return isPresent || typeof details === 'string' || itemsOf(details, 1).length > 0;
}

function saysTooLarge(node: object): boolean {
  return ['details', 'message', 'rawMessage'].some((field) => MESSAGE_SIZE.test(textOf(node, field)));
}

function isText(node: object, field: string): boolean {
  return typeof property(node, field) === 'string';
}

function textOf(node: object, field: string): string {
  const value = property(node, field);
  return typeof value === 'string' ? shortened(value) : '';
}
