import { isError } from '../base/text.ts';
import type { Classifier, Judge, Verdict } from '../base/verdict.ts';
import type { Outcome } from '../base/words.ts';
import { property } from './hint.ts';
import { asStatus, FAILED, recogniseReturned, recogniseThrown, SUCCESS } from './recognise.ts';

export interface JudgeOptions {
  readonly downstream: string;
  /** Statuses that mean "our quota is used up". */
  readonly throttleStatuses: readonly number[];
  /** Asked first; `undefined` leaves the outcome to us. */
  readonly classify?: Classifier | undefined;
  /** Epoch milliseconds. */
  readonly wallNow: () => number;
  /** Told once, at the classifier's first failure. */
  readonly onClassifierFailure: (error: unknown) => void;
}

const OUTCOMES: ReadonlySet<unknown> = new Set<Outcome>([
  'success',
  'throttled',
  'overloaded',
  'exhausted',
  'failed',
  'cancelled',
]);

/**
 * The one place where a call's outcome gets its meaning. The judge never throws: what cannot be read
 * is a plain success where it was returned and a plain failure where it was thrown.
 */
export function createJudge(options: JudgeOptions): Judge {
  const byShape: Judge = (value, thrown) => {
    if (typeof value !== 'object' || value === null) return thrown ? FAILED : SUCCESS;
    try {
      return thrown ? recogniseThrown(value, options) : recogniseReturned(value, options);
    } catch {
      return thrown ? FAILED : SUCCESS;
    }
  };
  const { classify } = options;
  return classify === undefined ? byShape : withClassifier(classify, byShape, options);
}

/**
 * Judges an outcome that was seen elsewhere (`report()`). An error counts as thrown; so does a bare
 * status of 400 and above, which needs no headers here: whoever reports it means an answer.
 */
export function judgeReport(judge: Judge, outcome: unknown): Verdict {
  const status = asStatus(property(outcome, 'status')) ?? asStatus(property(outcome, 'statusCode'));
  const thrown = status === undefined ? isError(outcome) : status >= 400;
  return judge(outcome, thrown);
}

function withClassifier(classify: Classifier, byShape: Judge, options: JudgeOptions): Judge {
  const { downstream } = options;
  let hasFailed = false;
  const fail = (error: unknown): void => {
    if (hasFailed) return;
    hasFailed = true;
    try {
      options.onClassifierFailure(error);
    } catch {
      // A call must not fail for want of somebody to tell.
    }
  };
  return (value, thrown) => {
    try {
      const said: unknown = classify({ value, thrown, downstream });
      if (said === undefined) return byShape(value, thrown);
      return checked(said, fail);
    } catch (error) {
      fail(error);
      return byShape(value, thrown);
    }
  };
}

/** A classifier is user code: what it returns is not believed unseen. An unusable wait leaves the outcome standing. */
function checked(said: unknown, fail: (error: unknown) => void): Verdict {
  const outcome = property(said, 'outcome');
  if (!OUTCOMES.has(outcome)) {
    if (typeof property(said, 'then') === 'function') {
      void Promise.resolve(said).catch(() => undefined);
      throw new TypeError('a classifier must answer at once: it returned a promise');
    }
    throw new TypeError('a classifier must return undefined or { outcome, server? } with a known outcome');
  }
  const verdict = said as Verdict;
  const retryAfterMs: unknown = verdict.server?.retryAfterMs;
  if (retryAfterMs === undefined) return verdict;
  const { retryAfterMs: _unchecked, ...server } = verdict.server ?? {};
  if (typeof retryAfterMs !== 'number' || !(retryAfterMs >= 0)) {
    fail(new TypeError('a classifier must give retryAfterMs in milliseconds, 0 or more'));
    return { outcome: verdict.outcome, server };
  }
  const bounded = Math.min(Math.ceil(retryAfterMs), Number.MAX_SAFE_INTEGER);
  return { outcome: verdict.outcome, server: { ...server, retryAfterMs: bounded } };
}
