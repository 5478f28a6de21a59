import { readFile } from 'node:fs/promises';
import { nearest } from '../base/nearest.ts';
import { describeDownstream } from '../policy/describe.ts';
import { PROFILE_NAMES, profileOf } from '../policy/profile.ts';
import { resolveDownstream } from '../policy/resolve.ts';
import type { Io } from './io.ts';

/** Beside the package's own files, built or not. */
const FOLDER = new URL('../../config/profiles/', import.meta.url);

/** Lists the profiles, or prints one with the source of each figure. Resolves to the exit code, or to why it was not understood. */
export async function profiles(argv: readonly string[], io: Io): Promise<number | string> {
  const [name, ...more] = argv;
  if (more.length > 0) return 'profiles takes one name';
  if (name === undefined) {
    const lines = PROFILE_NAMES.map((each) => describeDownstream(resolveDownstream(each, profileOf(each))).sentence);
    io.out(`${lines.join('\n')}\n`);
    return 0;
  }
  if (!PROFILE_NAMES.includes(name)) {
    const near = nearest(name, PROFILE_NAMES);
    return `no profile "${name}"; ${near === undefined ? 'penstock profiles lists them' : `did you mean ${near}?`}`;
  }
  io.out(await readFile(new URL(`${name}.yaml`, FOLDER), 'utf8'));
  return 0;
}
