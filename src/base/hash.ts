/**
 * Sixteen hex digits that tell texts apart; no protection against anybody who means harm. Two 32-bit halves,
 * so that no arithmetic beyond the language's own is needed.
 */
export function hash64(text: string): string {
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
