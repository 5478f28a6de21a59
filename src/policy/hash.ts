import type { DownstreamPlan } from '../base/plan.ts';

/** Two 32-bit halves, so that no arithmetic beyond the language's own is needed. */
function hash64(text: string): string {
  let low = 0x811c9dc5;
  let high = 0x1b873593;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13);
  }
  low = Math.imul(low ^ (high >>> 16), 0xc2b2ae35);
  high = Math.imul(high ^ (low >>> 15), 0x27d4eb2f);
  return hex(high ^ (low >>> 13)) + hex(low ^ (high >>> 16));
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, '0');
}

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
