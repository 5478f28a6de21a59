import { readdir } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { PolicyError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';

const EXTENSIONS: ReadonlySet<string> = new Set(['.yaml', '.yml', '.json']);
/** `downstreams.schema.json` lies beside a policy and is none. */
const NO_ENVIRONMENTS: ReadonlySet<string> = new Set(['schema']);

/**
 * The overlay of an environment: `config/downstreams.yaml` has that of `prod` in `config/downstreams.prod.yaml`.
 *
 * @throws {PolicyError} where there is none; it names those that there are.
 */
export async function overlayOf(base: string, environment: string): Promise<string> {
  const folder = dirname(base);
  const ending = extname(base);
  const stem = basename(base, ending);
  const found = new Map<string, string>();
  for (const name of (await readdir(folder).catch(() => [])).sort()) {
    const own = extname(name);
    const inner = name.slice(stem.length + 1, -own.length);
    if (!EXTENSIONS.has(own) || !name.startsWith(`${stem}.`) || inner === '' || NO_ENVIRONMENTS.has(inner)) continue;
    if (name === basename(base) || `${stem}.${inner}${own}` !== name) continue;
    // That with the ending of the base, where there are several.
    if (!found.has(inner) || own === ending) found.set(inner, name);
  }
  const overlay = found.get(environment);
  if (overlay !== undefined) return join(folder, overlay);
  const near = nearest(environment, found.keys());
  const hint =
    found.size === 0
      ? 'there are no overlays beside the policy'
      : near === undefined
        ? `there are: ${[...found.keys()].join(', ')}`
        : `did you mean ${near}? There are: ${[...found.keys()].join(', ')}`;
  const path = join(folder, `${stem}.${environment}${ending}`);
  throw new PolicyError([{ path, message: `there is no such file; ${hint}`, found: environment }], 'policy');
}
