import type { PolicyProblem } from '../base/errors.ts';
import type { DownstreamPolicyInput } from './input.ts';
import { isObject, type Path, pathText } from './paths.ts';

export type OptionName = keyof DownstreamPolicyInput;

/**
 * One downstream while its policy is worked out. Options whose shape is wrong are left out of
 * `options` and named in `broken`: a rule that needs one of them stays silent, all others speak.
 */
export interface Draft {
  readonly name: string;
  readonly own: DownstreamPolicyInput;
  readonly defaults: DownstreamPolicyInput;
  /** Own options over the defaults. */
  readonly options: DownstreamPolicyInput;
  readonly broken: ReadonlySet<string>;
  readonly problems: PolicyProblem[];
}

/** Options that are objects are merged key by key; all others replace the default. */
const MERGED: readonly OptionName[] = ['cooldown', 'warm', 'defaultCost'];

export function mergeOptions(own: DownstreamPolicyInput, defaults: DownstreamPolicyInput): DownstreamPolicyInput {
  const merged: Record<string, unknown> = { ...defaults };
  for (const [key, value] of Object.entries(own)) {
    if (value === undefined) continue;
    const below = merged[key];
    const isMerged = MERGED.includes(key as OptionName) && isObject(value) && isObject(below);
    merged[key] = isMerged ? { ...below, ...withoutUndefined(value) } : value;
  }
  return merged as DownstreamPolicyInput;
}

function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined));
}

/** Whether the downstream itself sets the option, rather than the defaults. */
export function isOwn(draft: Draft, option: OptionName): boolean {
  return draft.own[option] !== undefined;
}

/** Where an option was written: in the downstream, else in the defaults, else where it would belong. */
export function placeOf(draft: Draft, option: OptionName): Path {
  const inherited = !isOwn(draft, option) && draft.defaults[option] !== undefined;
  return inherited ? ['defaults', option] : ['downstreams', draft.name, option];
}

/** Notes a problem, unless an option that the rule rests on is broken already. */
export function complain(
  draft: Draft,
  place: { readonly option: OptionName; readonly inside?: Path },
  restsOn: readonly OptionName[],
  problem: Omit<PolicyProblem, 'path'>,
): void {
  if ([place.option, ...restsOn].some((option) => draft.broken.has(option))) return;
  const path = placeOf(draft, place.option);
  const about = path[0] === 'defaults' ? `for ${draft.name}: ` : '';
  draft.problems.push({
    path: pathText([...path, ...(place.inside ?? [])]),
    ...problem,
    message: `${about}${problem.message}`,
  });
}
