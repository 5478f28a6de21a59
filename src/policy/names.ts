import type { PolicyProblem } from '../base/errors.ts';
import { type Path, pathText } from './paths.ts';

/** What every override starts with. */
export const PREFIX = 'PENSTOCK__';

/** `my-api` as a variable spells it: `MY_API`. Letters of any script stay letters. */
export function variablePart(name: string): string {
  return name.toUpperCase().replace(/[^\p{L}\p{N}]/gu, '_');
}

/** `maxWait` as a variable spells it: `MAX_WAIT`. */
export function optionPart(option: string): string {
  return variablePart(option.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_'));
}

const DEFAULTS_PART = 'DEFAULTS';

export function downstreamPlace(name: string): Path {
  return ['downstreams', name];
}

/** What is wrong with a downstream's name, if anything. */
export function nameProblem(name: string): PolicyProblem | undefined {
  const path = pathText(downstreamPlace(name));
  if (name.trim() === '') {
    return { path, message: 'the name of a downstream is empty; a variable that is not set?', found: name };
  }
  if (variablePart(name) === DEFAULTS_PART) {
    const message = `a downstream cannot be called ${name}: ${PREFIX}${DEFAULTS_PART}__ sets the defaults of all`;
    return { path, message, found: name };
  }
  return undefined;
}

/** Downstreams that one environment variable would mean at once. */
export function findTwins(names: readonly string[]): PolicyProblem[] {
  const byPart = new Map<string, string>();
  const problems: PolicyProblem[] = [];
  for (const name of names) {
    const part = variablePart(name);
    const first = byPart.get(part);
    if (first === undefined) byPart.set(part, name);
    else {
      problems.push({
        path: pathText(downstreamPlace(name)),
        message: `${first} and ${name} are the same in the environment (${PREFIX}${part}__...); rename one of them`,
        found: name,
      });
    }
  }
  return problems;
}
