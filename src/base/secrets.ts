/** Variables by name. */
type Variables = Readonly<Record<string, string | undefined>>;

/** What a reference to a secret may look like, for messages. */
export const REFERENCE_FORM =
  'the name of an environment variable in capitals, such as SLACK_WEBHOOK_URL, or file: and an absolute path, such as file:/run/secrets/slack';

/** A variable in capitals, or an absolute path. */
export const REFERENCE_PATTERN = /^(?:[A-Z_][A-Z0-9_]{0,127}|file:\/.*\S)$/;

/** A variable's name is made of words; a key of this many capitals and digits in one piece is none. */
const LONGEST_WORD = 20;

/** Whether a text names a secret. False for whatever may be one itself. */
export function isReference(text: string): boolean {
  if (!REFERENCE_PATTERN.test(text)) return false;
  if (text.startsWith('file:')) return pathOf(text).startsWith('/') && !pathOf(text).startsWith('//');
  return text.split('_').every((word) => word.length < LONGEST_WORD || !/\d/.test(word));
}

/** `file:/run/secrets/slack`, or the same as an address: `file:///run/secrets/slack`. */
function pathOf(reference: string): string {
  return reference.slice('file:'.length).replace(/^\/\/(?=\/)/, '');
}

/** What a reference leads to, or why it leads nowhere; the reason names the reference and no value. */
export type Found = { readonly value: string } | { readonly missing: string };

/** Read anew at each use, so that a secret may be exchanged while the process runs. */
export function readReference(reference: string, env: Variables): Found {
  if (!reference.startsWith('file:')) {
    const value = Object.hasOwn(env, reference) ? env[reference]?.trim() : undefined;
    if (value === undefined) return { missing: `the environment variable ${reference} is not set` };
    return value === '' ? { missing: `the environment variable ${reference} is empty` } : { value };
  }
  const path = pathOf(reference);
  const fs = filesystem();
  if (fs === undefined) return { missing: `${path} cannot be read: there is no file system here` };
  try {
    const value = fs
      .readFileSync(path, 'utf8')
      .replace(/^\uFEFF/, '')
      .trim();
    return value === '' ? { missing: `the file ${path} is empty` } : { value };
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    if (code === 'ENOENT') return { missing: `there is no file ${path}` };
    return { missing: `the file ${path} cannot be read${typeof code === 'string' ? ` (${code})` : ''}` };
  }
}

interface Files {
  readonly readFileSync: (path: string, encoding: 'utf8') => string;
}

/** Node's, where this is Node: asked for when it is needed, so that the core runs without. */
function filesystem(): Files | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  return process?.getBuiltinModule?.('node:fs') as Files | undefined;
}

/** An address with more than a host in it. */
const ADDRESS = /:\/\/[^\s/?#]*(?:@|[/?#]\S)/;

/** Such an address, or a word as long and as mixed as keys are: nobody's quota or name looks like that. */
export function looksSecret(text: string): boolean {
  return ADDRESS.test(text) || text.split(/[\s/,;=]+/).some(isKeyLike);
}

function isKeyLike(word: string): boolean {
  return word.length >= LONGEST_PLAIN_SEGMENT && /\d/.test(word) && /[a-z]/i.test(word);
}

const SECRET_PARAMETER = /token|key|secret|sig|auth|pass|pwd|credential|code/i;
/** Hosts whose addresses are secrets as a whole. */
const SECRET_HOSTS =
  /(^|\.)(hooks\.slack(?:-gov)?\.com|webhook\.office\.com|discord(?:app)?\.com|hooks\.zapier\.com|chat\.googleapis\.com)$/i;
const LONGEST_PLAIN_SEGMENT = 24;

/** Why a text is no address that may stand in a policy; undefined where it may. Names no part of it. */
export function addressProblem(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'this is no address; expected one such as http://127.0.0.1:9093';
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return 'expected an address that begins with http:// or https://';
  if (url.username !== '' || url.password !== '')
    return 'a user or password in an address would be a secret in a policy';
  const isSecretPath = url.pathname.split('/').some(isKeyLike);
  const isSecretQuery = parametersOf(url).some(([name, value]) => SECRET_PARAMETER.test(name) || isKeyLike(value));
  if (isSecretPath || isSecretQuery || SECRET_HOSTS.test(url.hostname)) {
    return 'this address looks like a secret, which must not stand in a policy';
  }
  return undefined;
}

/** Those behind `#` too: some keep their token there, although it is never sent. */
function parametersOf({ searchParams, hash }: URL): [string, string][] {
  return [...searchParams, ...new URLSearchParams(hash.slice(1))];
}
