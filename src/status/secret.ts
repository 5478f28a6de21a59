import { readFile } from 'node:fs/promises';
import { isReference } from '../base/secrets.ts';

/** Where names are looked up: `process.env`, or what a test gives. */
export type Environment = Readonly<Record<string, string | undefined>>;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FILE = 'file:';

/**
 * The token that a reference names: a variable of the environment (`STATUS_TOKEN`), or a file
 * (`file:/run/secrets/status`), of which blanks at both ends do not count. No message repeats what was read.
 *
 * @throws {Error} where there is nothing, or nothing that a header can carry.
 */
export async function readToken(reference: string, env: Environment): Promise<string> {
  if (typeof reference !== 'string') throw new Error('tokenFrom: expected the name of a variable or file:<path>');
  if (reference.startsWith(FILE)) {
    const path = reference.slice(FILE.length).replace(/^\/\/(?=\/)/, '');
    return checkToken((await readText(path)).trim(), `the file ${path}`);
  }
  // A token that was given in place of its name must not end up in a message.
  const value = NAME.test(reference) && Object.hasOwn(env, reference) ? env[reference] : undefined;
  if (value === undefined) {
    if (isReference(reference)) throw new Error(`tokenFrom: the variable ${reference} is not set`);
    throw new Error(
      'tokenFrom: expected the name of a variable that is set, or file:<path>, not the token itself; it is not shown',
    );
  }
  return checkToken(value.trim(), `the variable ${reference}`);
}

/** A token as it is, if a header can carry it; `what` says where it came from. */
export function checkToken(token: unknown, what: string): string {
  if (typeof token !== 'string' || token === '') throw new Error(`${what}: the token is empty`);
  // The characters of a bearer token (RFC 6750, section 2.1) and the rest of visible ASCII.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error(`${what}: the token has blanks or characters beyond ASCII`);
  return token;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as { code?: unknown };
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${String(code)})`;
    throw new Error(`tokenFrom: ${path}: ${why}`);
  }
}
