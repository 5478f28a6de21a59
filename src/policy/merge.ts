import type { DownstreamPolicyInput } from './input.ts';
import { isObject } from './paths.ts';

/** Options that are objects are merged key by key; all others replace what they stand on. */
const MERGED: readonly string[] = ['cooldown', 'warm', 'defaultCost'] satisfies (keyof DownstreamPolicyInput)[];

/** The upper options over the lower ones. */
export function mergeOptions(upper: DownstreamPolicyInput, lower: DownstreamPolicyInput): DownstreamPolicyInput {
  const merged: Record<string, unknown> = { ...lower };
  for (const [key, value] of Object.entries(upper)) {
    if (value === undefined) continue;
    const below = merged[key];
    const isMerged = MERGED.includes(key) && isObject(value) && isObject(below);
    merged[key] = isMerged ? { ...below, ...withoutUndefined(value) } : value;
  }
  return merged as DownstreamPolicyInput;
}

function withoutUndefined(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined));
}
