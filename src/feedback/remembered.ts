import type { Judge, Verdict } from '../base/verdict.ts';
import { isRefusal } from './decide.ts';

/** What a lane has read from an error, for as long as somebody has the error. */
const READINGS = new WeakMap<object, Verdict>();

/** A judge whose readings of errors can be recalled: a lane knows its policy and its classifier, an error does not. */
export function remembering(judge: Judge): Judge {
  return (value, thrown) => {
    const verdict = judge(value, thrown);
    if (thrown && typeof value === 'object' && value !== null) remember(value, verdict);
    return verdict;
  };
}

/** An error passes outwards through the lanes of nested calls: the first that reads a refusal in it knows best. */
function remember(error: object, verdict: Verdict): void {
  const before = READINGS.get(error);
  if (before === undefined || (isRefusal(verdict) && !isRefusal(before))) READINGS.set(error, verdict);
}

/** What a lane has read from the very same error; `undefined` where none has. */
export function recall(error: unknown): Verdict | undefined {
  return typeof error === 'object' && error !== null ? READINGS.get(error) : undefined;
}
