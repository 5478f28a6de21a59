/**
 * Writes `src/policy/profile-texts.ts` from `config/profiles/*.yaml`: the core reads no files, so the profiles travel
 * in it. `--write` updates the file; without it the exit code says whether it is in step.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import * as z from 'zod';
import type { DownstreamPolicyInput } from '../src/policy/input.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'config', 'profiles');
const TARGET = join(ROOT, 'src', 'policy', 'profile-texts.ts');

const day = z.string().regex(/^\d{4}(-\d{2}(-\d{2})?)?$/);

/** One figure of a profile: where its provider states it, and when that was written or read. */
const figure = z
  .strictObject({ path: z.string(), says: z.string(), source: z.string(), date: day.optional(), read: day.optional() })
  .refine(({ date, read }) => date !== undefined || read !== undefined, 'a figure needs its date, or when it was read');

const shape = z.strictObject({
  title: z.string(),
  policy: z.record(z.string(), z.unknown()),
  figures: z.array(figure).default([]),
  unpublished: z.array(z.string()).default([]),
  note: z.string().optional(),
});

export type Figure = z.infer<typeof figure>;

/** A profile as its file says it. */
export interface ProfileFile {
  readonly name: string;
  readonly title: string;
  readonly policy: DownstreamPolicyInput;
  readonly figures: readonly Figure[];
  /** Options whose values the provider does not publish: choices of ours. */
  readonly unpublished: readonly string[];
  readonly note?: string | undefined;
}

/** Every profile, in alphabetical order. Throws where a file is not of the right form. */
export function profileFiles(): ProfileFile[] {
  const names = readdirSync(FOLDER)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .sort();
  return names.map((name) => {
    const read = shape.safeParse(parse(readFileSync(join(FOLDER, `${name}.yaml`), 'utf8')));
    if (!read.success) throw new Error(`config/profiles/${name}.yaml: ${z.prettifyError(read.error)}`);
    return { name, ...read.data };
  });
}

/** Where the quota was read, for alerts. */
export function sourceOf({ name, figures, unpublished }: ProfileFile): string {
  const quota =
    figures.find(({ path }) => path.startsWith('quota')) ?? figures.find(({ path }) => path !== 'retriesOff');
  if (unpublished.includes('quota') || quota === undefined) return `unpublished, a cautious guess (profile ${name})`;
  return `${quota.source}, ${quota.date ?? `read ${quota.read}`} (profile ${name})`;
}

/** The module as it should be: one line a profile, which no formatter would leave so. */
export function profilesModule(): string {
  const rows = profileFiles().map((file) => {
    const text = JSON.stringify({ source: sourceOf(file), ...file.policy });
    return `  ${JSON.stringify(file.name)}: ${JSON.stringify(text)},\n`;
  });
  return `// Written by \`npm run profiles\` from config/profiles.\n\n/** The policy of each profile, as JSON. */\nexport const PROFILE_TEXTS: Readonly<Record<string, string>> = {\n${rows.join('')}};\n`;
}

export function isProfilesModuleInStep(): boolean {
  return readFileSync(TARGET, 'utf8') === profilesModule();
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (process.argv.includes('--write')) writeFileSync(TARGET, profilesModule());
  else if (!isProfilesModuleInStep()) {
    console.error('src/policy/profile-texts.ts is not in step with config/profiles: npm run profiles');
    process.exitCode = 1;
  }
}
