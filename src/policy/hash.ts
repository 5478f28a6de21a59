import { hash64 } from '../base/hash.ts';
import type { DownstreamPlan } from '../base/plan.ts';

/** JSON with sorted keys; what JSON has no word for (`Infinity`) is written as a text. */
export function canonicalText(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : `"${value}"`;
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalText(inner)}`).join(',')}}`;
}

/**
 * Sixteen hex digits that change when any resolved option of any downstream does, and not with the
 * order in which they are written. For telling policies apart, not for security.
 */
export function policyHash(plans: Iterable<DownstreamPlan>): string {
  const lines = Array.from(plans, canonicalText);
  return hash64(lines.sort().join('\n'));
}
