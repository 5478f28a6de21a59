import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { nearest } from '../base/nearest.ts';
import type { QuotaInput } from '../policy/input.ts';
import { PROFILE_NAMES } from '../policy/profile.ts';
import { readQuota } from '../policy/quota.ts';
import type { Io } from './io.ts';

/** Beside the package's own files, built or not. */
const FOLDER = new URL('../../config/profiles/', import.meta.url);

/** What the list shows of a profile's file. */
interface Listed {
  readonly title: string;
  readonly policy: { readonly quota?: QuotaInput | readonly QuotaInput[]; readonly maxConcurrent?: number };
  readonly unpublished?: readonly string[];
}

/** Lists the profiles, or prints one with the source of each figure. Resolves to the exit code, or to why it was not understood. */
export async function profiles(argv: readonly string[], io: Io): Promise<number | string> {
  const [name, ...more] = argv;
  if (more.length > 0) return 'profiles takes one name';
  if (name === undefined) {
    const files = await Promise.all(PROFILE_NAMES.map(async (each) => parse(await textOf(each)) as Listed));
    const width = Math.max(...PROFILE_NAMES.map((each) => each.length));
    io.out(files.map((file, at) => `${PROFILE_NAMES[at]!.padEnd(width)}  ${summary(file)}\n`).join(''));
    return 0;
  }
  if (!PROFILE_NAMES.includes(name)) {
    const near = nearest(name, PROFILE_NAMES);
    return `no profile "${name}"; ${near === undefined ? 'penstock profiles lists them' : `did you mean ${near}?`}`;
  }
  io.out(await textOf(name));
  return 0;
}

function textOf(name: string): Promise<string> {
  return readFile(new URL(`${name}.yaml`, FOLDER), 'utf8');
}

/** `60/minute, 2 at a time (unpublished): what it is`. */
function summary({ title, policy: { quota = [], maxConcurrent }, unpublished = [] }: Listed): string {
  const quotas = (Array.isArray(quota) ? quota : [quota]) as readonly QuotaInput[];
  const isGuess = (option: string): string =>
    unpublished.some((each) => each.startsWith(option)) ? ' (unpublished)' : '';
  const limits = [
    quotas.length === 0 ? '' : `${quotas.map((one) => readQuota(one)?.text).join(' and ')}${isGuess('quota')}`,
    maxConcurrent === undefined ? '' : `${maxConcurrent} at a time${isGuess('maxConcurrent')}`,
  ].filter((text) => text !== '');
  return `${limits.join(', ')}: ${title}`;
}
