import { type Environment, MODE_VARIABLE, modeOfAll } from './environment.ts';
import { optionPart, PREFIX, variablePart } from './names.ts';
import { isObject, pathText } from './paths.ts';

const MODE_PART = optionPart('mode');

/**
 * Where the mode of each downstream comes from, the more specific first: a variable of its own, `PENSTOCK_MODE`,
 * its own option, `defaults`, the top of the policy. A downstream that is not in the answer has the default.
 * `policy`: with or without the environment's overrides in place.
 */
export function modeOrigins(policy: unknown, env: Environment = {}): ReadonlyMap<string, string> {
  const origins = new Map<string, string>();
  if (!isObject(policy) || !isObject(policy.downstreams)) return origins;
  const { defaults, mode, downstreams } = policy;
  const variable = (name: string): string | undefined => {
    const own = `${PREFIX}${variablePart(name)}__${MODE_PART}`;
    return env[own] === undefined ? undefined : own;
  };
  const ofAll = modeOfAll(env) === undefined ? undefined : MODE_VARIABLE;
  const inDefaults = isObject(defaults) && defaults.mode !== undefined ? 'defaults.mode' : undefined;
  const below = variable('defaults') ?? inDefaults ?? (mode === undefined ? undefined : 'mode');
  for (const [name, options] of Object.entries(downstreams)) {
    const isOwn = isObject(options) && options.mode !== undefined;
    const own = isOwn ? pathText(['downstreams', name, 'mode']) : undefined;
    const origin = variable(name) ?? ofAll ?? own ?? below;
    if (origin !== undefined) origins.set(name, origin);
  }
  return origins;
}
