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

/** A profile that a downstream names beats the defaults; one that the defaults name is beaten by whatever else they say. */
export function groundOf(own: DownstreamPolicyInput, defaults: DownstreamPolicyInput): Ground {
  const name = own.profile ?? defaults.profile;
  const whole = name === undefined ? undefined : profileOf(name);
  if (name === undefined || whole === undefined) return { options: defaults };
  const isOwn = own.profile !== undefined;
  const options = besides(whole, isOwn ? own : mergeOptions(own, defaults));
  return {
    options: isOwn ? mergeOptions(options, defaults) : mergeOptions(defaults, options),
    profile: { name, options, isOwn },
  };
}

/**
 * What is left of a profile beside options that beat it: with another quota, neither its burst nor its word on where
 * the quota was read; with a cooldown that doubles, no ladder.
 */
function besides(profile: DownstreamPolicyInput, upper: DownstreamPolicyInput): DownstreamPolicyInput {
  const { source, burst, ...rest } = profile;
  const ofQuota = { ...(source === undefined ? {} : { source }), ...(burst === undefined ? {} : { burst }) };
  const { base, max, ladder } = upper.cooldown ?? {};
  const doubles = ladder === undefined && (base !== undefined || max !== undefined);
  const { ladder: _steps, ...doubling } = profile.cooldown ?? {};
  return {
    ...(upper.quota === undefined ? ofQuota : {}),
    ...rest,
    ...(doubles && profile.cooldown !== undefined ? { cooldown: doubling } : {}),
  };
}
