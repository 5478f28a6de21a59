import { distance } from 'fastest-levenshtein';

/**
 * The candidate that was probably meant, or undefined where none is near: two letters or a third
 * of them may differ, or one is the beginning of the other (`maximum`, `max`).
 */
export function nearest(found: string, candidates: Iterable<string>): string | undefined {
  const plain = fold(found);
  const tolerated = Math.min(Math.max(2, Math.floor(plain.length / 3)), plain.length - 1);
  let best: string | undefined;
  let bestAt = tolerated + 1;
  for (const candidate of candidates) {
    const folded = fold(candidate);
    const at = isBeginning(plain, folded) ? Math.min(tolerated, distance(plain, folded)) : distance(plain, folded);
    if (at < bestAt) {
      best = candidate;
      bestAt = at;
    }
  }
  return best;
}

const SHORTEST_BEGINNING = 3;

function isBeginning(a: string, b: string): boolean {
  const shorter = Math.min(a.length, b.length);
  return shorter >= SHORTEST_BEGINNING && (a.startsWith(b) || b.startsWith(a));
}

/** Spelling that never tells two names apart: case, `_` and `-`. */
export function fold(text: string): string {
  return text.toLowerCase().replace(/[-_\s]/g, '');
}
