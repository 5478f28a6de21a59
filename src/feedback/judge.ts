import type { ServerWord } from '../base/alert.ts';
import type { Classifier, Judge, QuotaReading, Verdict } from '../base/verdict.ts';
import type { Outcome } from '../base/words.ts';
import { completed, isRefusal, withReset } from './decide.ts';
import { asStatus, isPlain, itemsOf, jsonOf, property, safeWord } from './fields.ts';
import { FAILED, recogniseReturned, recogniseThrown, SUCCESS } from './recognise.ts';

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

const MOST_QUOTAS = 32;

/** Every outcome there is. */
export const OUTCOMES: ReadonlySet<unknown> = new Set<Outcome>([
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
      const verdict = checked(said, fail);
      // What a classifier takes for a refusal may be JSON in a text: its wait stands in there.
      const seen = typeof value === 'string' && isRefusal(verdict) ? jsonOf(value) : value;
      if (typeof seen !== 'object' || seen === null) return withReset(verdict);
      return completed(verdict, byShape(value, thrown), seen, options);
    } catch (error) {
      fail(error);
      return byShape(value, thrown);
    }
  };
}

/** A classifier is user code: what it returns is not believed unseen. An unusable number leaves the outcome standing. */
export function checked(said: unknown, fail: (error: unknown) => void): Verdict {
  const outcome = property(said, 'outcome');
  if (!OUTCOMES.has(outcome)) {
    if (typeof property(said, 'then') === 'function') {
      void Promise.resolve(said).catch(() => undefined);
      throw new TypeError('a classifier must answer at once: it returned a promise');
    }
    throw new TypeError('a classifier must return undefined or { outcome, server? } with a known outcome');
  }
  const server = checkedWord(property(said, 'server'), fail);
  const readings = itemsOf(property(said, 'quotas'), MOST_QUOTAS);
  const quotas = readings.flatMap(checkedReading);
  if (quotas.length < readings.length) {
    fail(new TypeError('a classifier must give quotas as numbers: [{ limit?, remaining?, resetMs?, windowMs? }]'));
  }
  return {
    outcome: outcome as Outcome,
    ...(server === undefined ? {} : { server }),
    ...(quotas.length === 0 ? {} : { quotas }),
  };
}

/** Only what a word of a server may hold goes on into alerts, whatever else stands beside it. */
function checkedWord(said: unknown, fail: (error: unknown) => void): ServerWord | undefined {
  if (!isPlain(said)) return undefined;
  const retryAfterMs = property(said, 'retryAfterMs');
  if (retryAfterMs !== undefined && !isTime(retryAfterMs)) {
    fail(new TypeError('a classifier must give retryAfterMs in milliseconds, 0 or more'));
  }
  const status = asStatus(property(said, 'status'));
  return {
    ...(status === undefined ? {} : { status }),
    ...bounded(said, 'retryAfterMs'),
    ...worded(said, ['readFrom', 'code']),
    ...counted(said, ['limit', 'remaining']),
    ...bounded(said, 'resetMs'),
  };
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}

/** A time in whole milliseconds; "never" is a very long one. */
function bounded(said: unknown, name: string): Record<string, number> {
  const ms = property(said, name);
  return isTime(ms) ? { [name]: Math.min(Math.ceil(ms), Number.MAX_SAFE_INTEGER) } : {};
}

function worded(said: unknown, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const word = safeWord(property(said, name));
      return word === undefined ? [] : [[name, word]];
    }),
  );
}

function counted(said: unknown, names: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = property(said, name);
      if (typeof value !== 'number' || !(value >= 0)) return [];
      // "Never" is a reset; without an end a count is none.
      if (value === Number.POSITIVE_INFINITY && name !== 'resetMs') return [];
      return [[name, Math.min(value, Number.MAX_SAFE_INTEGER)]];
    }),
  );
}

/** What is a number of a reading that can be believed; nothing where there is none. */
function checkedReading(said: unknown): QuotaReading[] {
  const numbers = counted(said, ['limit', 'remaining', 'resetMs', 'windowMs']);
  return Object.keys(numbers).length === 0 ? [] : [{ ...numbers, ...worded(said, ['unit', 'policy']) }];
}
