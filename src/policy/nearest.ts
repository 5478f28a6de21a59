import { distance } from 'fastest-levenshtein';

/** The candidate that was probably meant, or undefined where none is near: a third of the letters may differ. */
export function nearest(found: string, candidates: Iterable<string>): string | undefined {
  const plain = fold(found);
  let best: string | undefined;
  let bestAt = Math.max(1, Math.floor(plain.length / 3)) + 1;
  for (const candidate of candidates) {
    const at = distance(plain, fold(candidate));
    if (at < bestAt) {
      best = candidate;
      bestAt = at;
    }
  }
  return best;
}

/** Spelling that never tells two names apart: case, `_` and `-`. */
export function fold(text: string): string {
  return text.toLowerCase().replace(/[-_\s]/g, '');
}
