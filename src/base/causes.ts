import { type AdmissionError, isAdmissionError } from './errors.ts';

/** An SDK wraps an error once or twice, and a runtime around it once more. */
const MOST_CAUSES = 8;

/**
 * An error and what it was made of, outermost first: its `cause`, or the `lastError` of one who has tried several
 * times. Ends at a circle, and where something cannot be read.
 */
export function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let next = error; chain.length < MOST_CAUSES && !chain.includes(next); next = within(next)) {
    if (next === undefined || next === null) break;
    chain.push(next);
  }
  return chain;
}

/** The refusal of Penstock's own that an error is, or was made of. */
export function admissionWithin(error: unknown): AdmissionError | undefined {
  return causesOf(error).find(isAdmissionError);
}

function within(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  try {
    const { cause, lastError } = error as { readonly cause?: unknown; readonly lastError?: unknown };
    return cause ?? lastError;
  } catch {
    return undefined;
  }
}
