import type { PolicyProblem } from '../base/errors.ts';
import type { DownstreamPolicyInput } from './input.ts';
import { mergeOptions } from './merge.ts';
import { type Path, pathText } from './paths.ts';
import { groundOf } from './profile.ts';

export type OptionName = keyof DownstreamPolicyInput;

/**
 * One downstream while its policy is worked out. Options whose shape is wrong are left out of
 * `options` and named in `broken`: a rule that needs one of them stays silent, all others speak.
 */
export interface Draft {
  readonly name: string;
  readonly own: DownstreamPolicyInput;
  readonly defaults: DownstreamPolicyInput;
  /** Own options over the profile and the defaults. */
  readonly options: DownstreamPolicyInput;
  readonly broken: ReadonlySet<string>;
  readonly problems: PolicyProblem[];
}

/** A downstream whose options are all there, and what is wrong with some of them. */
export function draftOf(
  name: string,
  own: DownstreamPolicyInput,
  defaults: DownstreamPolicyInput,
  broken: ReadonlySet<string>,
  problems: readonly PolicyProblem[],
): Draft {
  const options = mergeOptions(own, groundOf(own, defaults).options);
  return { name, own, defaults, options, broken, problems: [...problems] };
}

/** Whether the downstream itself sets the option, rather than its profile or the defaults. */
export function isOwn(draft: Draft, option: OptionName): boolean {
  return draft.own[option] !== undefined;
}

/** Where an option was written, and who else has to be named for it to be understood. */
function writtenAt(draft: Draft, option: OptionName, inside: Path): { readonly path: Path; readonly about: string } {
  const own: Path = ['downstreams', draft.name];
  if (isOwn(draft, option)) return { path: [...own, option, ...inside], about: '' };
  const { profile } = groundOf(draft.own, draft.defaults);
  const inDefaults = draft.defaults[option] !== undefined;
  if (profile?.options[option] !== undefined && (profile.isOwn || !inDefaults)) {
    const about = `${pathText([option, ...inside])} of profile ${profile.name}: `;
    return profile.isOwn
      ? { path: [...own, 'profile'], about }
      : { path: ['defaults', 'profile'], about: `for ${draft.name}: ${about}` };
  }
  if (inDefaults) return { path: ['defaults', option, ...inside], about: `for ${draft.name}: ` };
  return { path: [...own, option, ...inside], about: '' };
}

/** Notes a problem, unless an option that the rule rests on is broken already. */
export function complain(
  draft: Draft,
  place: { readonly option: OptionName; readonly inside?: Path },
  restsOn: readonly OptionName[],
  problem: Omit<PolicyProblem, 'path'>,
): void {
  if ([place.option, ...restsOn].some((option) => draft.broken.has(option))) return;
  const { path, about } = writtenAt(draft, place.option, place.inside ?? []);
  draft.problems.push({ path: pathText(path), ...problem, message: `${about}${problem.message}` });
}
