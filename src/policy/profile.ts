import type { DownstreamPolicyInput } from './input.ts';
import { mergeOptions } from './merge.ts';
import { deepFreeze } from './paths.ts';
import { PROFILE_TEXTS } from './profile-texts.ts';

/** Profiles by name, in alphabetical order: policies of APIs that are known. */
export const PROFILE_NAMES: readonly string[] = Object.keys(PROFILE_TEXTS);

const read = new Map<string, DownstreamPolicyInput>();

/** What a profile says; undefined where there is none of that name. */
export function profileOf(name: string): DownstreamPolicyInput | undefined {
  const known = read.get(name);
  if (known !== undefined) return known;
  const text = Object.hasOwn(PROFILE_TEXTS, name) ? PROFILE_TEXTS[name] : undefined;
  if (text === undefined) return undefined;
  const options = deepFreeze(JSON.parse(text) as DownstreamPolicyInput);
  read.set(name, options);
  return options;
}

/** What a downstream's own options stand on. */
export interface Ground {
  /** Its profile and the defaults, put together. */
  readonly options: DownstreamPolicyInput;
  readonly profile?: { readonly name: string; readonly options: DownstreamPolicyInput; readonly isOwn: boolean };
}

/**
 * A profile that a downstream names beats the defaults; one that the defaults name is beaten by whatever else they say.
 * Where the quota is not the profile's, neither is the word on where it was read.
 */
export function groundOf(own: DownstreamPolicyInput, defaults: DownstreamPolicyInput): Ground {
  const name = own.profile ?? defaults.profile;
  const whole = name === undefined ? undefined : profileOf(name);
  if (name === undefined || whole === undefined) return { options: defaults };
  const isOwn = own.profile !== undefined;
  const { source: _source, ...unsourced } = whole;
  const options = own.quota !== undefined || (!isOwn && defaults.quota !== undefined) ? unsourced : whole;
  return {
    options: isOwn ? mergeOptions(options, defaults) : mergeOptions(defaults, options),
    profile: { name, options, isOwn },
  };
}
