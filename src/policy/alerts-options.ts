import type { PolicyProblem } from '../base/errors.ts';
import { headerProblem, labelProblem } from '../base/labels.ts';
import { fold, nearest } from '../base/nearest.ts';
import type { SinkKind } from '../base/plan.ts';
import { addressProblem, isReference, REFERENCE_FORM } from '../base/secrets.ts';
import { sinkSchemas } from './alerts-schema.ts';
import { type Complain, kindOf, misspelt, plainKey, type SinkDraft } from './alerts-words.ts';
import { noteOf } from './fields.ts';
import { isObject, type Path, pathText, valueAt } from './paths.ts';
import { keysOf, schemaAt } from './shape.ts';

/** What other tools call these options. */
const MEANT: Readonly<Record<string, string>> = {
  webhook: 'webhookFrom',
  webhookurl: 'webhookFrom',
  routingkey: 'routingKeyFrom',
  integrationkey: 'routingKeyFrom',
  servicekey: 'routingKeyFrom',
  secret: 'signingSecretFrom',
  signingsecret: 'signingSecretFrom',
  signature: 'signingSecretFrom',
  authorization: 'authorizationFrom',
  headers: 'headersFrom',
  password: 'passwordFrom',
  bearer: 'bearerFrom',
  bearertoken: 'bearerFrom',
  token: 'bearerFrom',
  file: 'path',
  filename: 'path',
  urls: 'url',
  endpoint: 'url',
  address: 'url',
};

/** Everything about the options of one sink but its filter. */
export function checkOptions({ kind, options }: SinkDraft, index: number, complain: Complain): void {
  const schema = sinkSchemas[kind];
  const keys = keysOf(schema);
  for (const key of Object.keys(options)) {
    if (!keys.includes(key)) complain([index, kind, plainKey(key)], unknownKey(key, keys));
  }
  const sound = Object.fromEntries(keys.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])));
  const result = schema.safeParse(sound);
  const meant = new Set(Object.keys(options).map(meantBy));
  const broken = new Set<string>();
  for (const issue of result.success ? [] : result.error.issues) {
    const [key, inner] = issue.path;
    // Filters have words of their own; one complaint for each value says it all.
    const at = [String(key), ...(typeof inner === 'number' || typeof inner === 'string' ? [inner] : [])];
    if (key === 'only' || broken.has(pathText(at))) continue;
    broken.add(pathText(at));
    // It stands there under another name, which was complained of.
    if (options[String(key)] === undefined && meant.has(String(key))) continue;
    const note = noteOf(schemaAt(schema, at) ?? schema) ?? noteOf(schemaAt(schema, [String(key)]) ?? schema);
    const found = valueAt(options, at);
    const expected = note?.expected ?? 'another value';
    const what = found === undefined ? 'missing; ' : '';
    const shown = found === undefined ? '' : `; found ${kindOf(found)}${secretNote(String(key))}`;
    complain([index, kind, ...at], { message: `${what}expected ${expected}${shown}`, expected });
  }
  checkReferences(sound, (at, message) => {
    if (!broken.has(pathText(at))) complain([index, kind, ...at], { message, expected: REFERENCE_FORM });
  });
  for (const name of isObject(sound.labels) ? Object.keys(sound.labels) : []) {
    const problem = labelProblem(name);
    if (problem !== undefined) complain([index, kind, 'labels', plainKey(name)], { message: problem });
  }
  for (const name of isObject(sound.headersFrom) ? Object.keys(sound.headersFrom) : []) {
    const problem = headerProblem(name);
    if (problem !== undefined) complain([index, kind, 'headersFrom', plainKey(name)], { message: problem });
  }
  checkTogether(sound, kind, (at, message) => complain([index, kind, ...at], { message }));
  checkAddresses(sound, kind, (at, message) => {
    if (!broken.has(pathText(at))) complain([index, kind, ...at], { message });
  });
}

function meantBy(key: string): string | undefined {
  const folded = fold(key);
  return Object.hasOwn(MEANT, folded) ? MEANT[folded] : undefined;
}

function unknownKey(key: string, keys: readonly string[]): Omit<PolicyProblem, 'path'> {
  const meant = meantBy(key);
  const near = meant !== undefined && keys.includes(meant) ? meant : nearest(key, keys);
  const note = near?.endsWith('From') ? ` (it takes the name of a secret, not the secret)` : '';
  const { message, ...rest } = misspelt('unknown option', near, keys.join(', '));
  return { message: `${message}${note}`, ...rest };
}

function secretNote(key: string): string {
  return key.endsWith('From') ? '; it is not shown, for it may be the secret itself' : '';
}

function checkReferences(
  options: Readonly<Record<string, unknown>>,
  complain: (at: Path, message: string) => void,
): void {
  const message = `expected ${REFERENCE_FORM}; what stands there looks like the secret itself, and is not shown`;
  for (const [key, value] of Object.entries(options)) {
    if (!key.endsWith('From')) continue;
    const entries: [Path, unknown][] = isObject(value)
      ? Object.entries(value).map(([header, inner]) => [[key, header], inner])
      : [[[key], value]];
    for (const [at, inner] of entries) if (typeof inner === 'string' && !isReference(inner)) complain(at, message);
  }
}

/** Options that are right one by one and cannot be used together: found here, not when a process starts with them. */
function checkTogether(
  { username, passwordFrom, bearerFrom, headersFrom, authorizationFrom, url }: Readonly<Record<string, unknown>>,
  kind: SinkKind,
  complain: (at: Path, message: string) => void,
): void {
  if (kind === 'alertmanager') {
    if ((username === undefined) !== (passwordFrom === undefined))
      complain(['username'], 'username and passwordFrom belong together');
    if ((username ?? passwordFrom) !== undefined && bearerFrom !== undefined)
      complain(['bearerFrom'], 'expected either a password or a bearer token');
    if (typeof username === 'string' && username.includes(':'))
      complain(['username'], 'a user of basic authentication holds no colon');
    const several = Array.isArray(url);
    for (const [index, each] of (several ? url : [url]).entries())
      if (typeof each === 'string' && OLD_API.test(each))
        complain(several ? ['url', index] : ['url'], 'the API v1 is gone; expected the address without /api/v1');
  }
  if (kind !== 'webhook' || !isObject(headersFrom)) return;
  const seen = new Set(authorizationFrom === undefined ? [] : ['authorization']);
  for (const name of Object.keys(headersFrom)) {
    if (seen.has(name.toLowerCase())) complain(['headersFrom', plainKey(name)], 'this header is named twice');
    seen.add(name.toLowerCase());
  }
}

const OLD_API = /\/api\/v1(?:\/alerts)?\/*$/;

const SAFER: Partial<Readonly<Record<SinkKind, string>>> = {
  webhook: 'name it with urlFrom',
  alertmanager: 'name passwords and tokens with passwordFrom or bearerFrom',
  pagerduty: 'the routing key belongs in routingKeyFrom',
};

function checkAddresses(
  { url, urlFrom }: Readonly<Record<string, unknown>>,
  kind: SinkKind,
  complain: (at: Path, message: string) => void,
): void {
  const several = Array.isArray(url);
  for (const [index, each] of (several ? url : [url]).entries()) {
    const problem = typeof each === 'string' ? addressProblem(each) : undefined;
    if (problem === undefined) continue;
    complain(several ? ['url', index] : ['url'], problem.includes('secret') ? `${problem}; ${SAFER[kind]}` : problem);
  }
  if (kind !== 'webhook') return;
  if (url === undefined && urlFrom === undefined)
    complain(['urlFrom'], 'missing; expected url, or urlFrom with the name of a secret');
  if (url !== undefined && urlFrom !== undefined) complain(['urlFrom'], 'expected either url or urlFrom, not both');
}
