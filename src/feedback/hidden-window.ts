import type { AlertFacts } from '../base/alert.ts';
import type { BunchEvidence, CounterEvidence, Evidence, Finding } from '../base/evidence.ts';
import { quotaText } from '../base/quota-text.ts';
import { REQUESTS } from '../base/words.ts';
import { type Case, isRecent, isUsedUp, type Matched } from './hypotheses.ts';

/** Starts bunch where there are more than so many times the usual pace. */
const BUNCHED = 2;
/** With so much of the limit left a moment ago, it is not used up now. */
const MUCH_LEFT = 0.2;
/** Hints come in whole seconds, rounded up. */
const HINT_SLACK_MS = 500;

const PLAIN_NAME = /^[\w.-]{1,32}$/;

type Found = Extract<Finding, { hypothesis: 'hidden-window' }> | undefined;

/** A limit that nobody declared: in a shorter window, in another one that headers name, or in something else. */
export function hiddenWindow({ facts, evidence, counters }: Case): Found {
  const told = undeclared(evidence);
  if (told !== undefined) return told;
  const answered = counters.filter((counter) => counter.remaining !== undefined && isTelling(counter));
  if (answered.some(isUsedUp)) return undefined;
  const [left] = answered.filter(({ limit, declared }) => limit !== undefined && declared.unit === REQUESTS);
  const bunch = densest(facts, evidence, left !== undefined);
  const limit = bunch === undefined ? undefined : limitOf(bunch, left !== undefined);
  const shown = { ...(bunch === undefined ? {} : { bunch }), ...(limit === undefined ? {} : { limit }) };
  if (left?.remaining !== undefined && left.limit !== undefined) {
    return { hypothesis: 'hidden-window', ...shown, left: { remaining: left.remaining, limit: left.limit } };
  }
  const isYoung = facts.observed.processUpMs < facts.longestWindowMs;
  return bunch === undefined || isYoung ? undefined : { hypothesis: 'hidden-window', ...shown };
}

/** It was said in this answer; or a moment before, with room for more than has started since. */
function isTelling(counter: Matched): boolean {
  const { ageMs, limit = 0, remaining = 0 } = counter;
  return ageMs === 0 || (isRecent(counter) && remaining >= limit * MUCH_LEFT);
}

/** A header that says: of a limit that nobody declared, nothing is left. */
function undeclared({ counters }: Evidence): Found {
  const counter = counters.find((one) => one.quota === undefined && one.ageMs === 0 && isUsedUp(one));
  if (counter?.limit === undefined || counter.remaining === undefined) return undefined;
  const { limit, remaining, unit, windowMs } = counter;
  if (windowMs === undefined) {
    return { hypothesis: 'hidden-window', undeclared: { text: nameOf(counter, limit, unit), remaining } };
  }
  const text = quotaText(Math.max(1, Math.floor(limit)), unit, windowMs);
  return {
    hypothesis: 'hidden-window',
    undeclared: { text, remaining },
    ...(unit === REQUESTS ? { limit: text } : {}),
  };
}

function nameOf({ policy }: CounterEvidence, limit: number, unit: string): string {
  // A name that is a path or a sentence may be anything: such go into no alert.
  return policy === undefined || !PLAIN_NAME.test(policy) ? `${limit} ${unit}` : `${limit} ${unit} (${policy})`;
}

/** The shortest window in which more had started than ever before. */
function densest({ server }: AlertFacts, evidence: Evidence, isCertain: boolean): BunchEvidence | undefined {
  const { retryAfterMs = 0 } = server;
  const bunched = evidence.bunches.filter((bunch) => {
    const { windowMs, starts, most } = bunch;
    const isHinted = retryAfterMs >= windowMs / 2 && retryAfterMs <= windowMs + HINT_SLACK_MS;
    const pace = paceIn(windowMs, evidence);
    // As many have gone through in such a window before: it is not that one.
    if (starts <= most) return false;
    if (isCertain) return starts > 1 && starts > pace;
    return starts > (isHinted ? pace + 1 : BUNCHED * pace + 1);
  });
  const fitting = bunched.find(({ windowMs }) => windowMs + HINT_SLACK_MS >= retryAfterMs);
  return fitting ?? (isCertain ? bunched[0] : undefined);
}

/** What this process starts in such a window where it never bunches. */
function paceIn(windowMs: number, { quotas }: Evidence): number {
  const paces = quotas
    .filter(({ unit }) => unit === REQUESTS)
    .map((quota) => (quota.sized * windowMs) / quota.windowMs);
  return Math.min(...paces);
}

/** What was let through in that window; undefined while answers are missing. */
function limitOf(
  { windowMs, starts, throttled, unanswered, most }: BunchEvidence,
  isCertain: boolean,
): string | undefined {
  const answered = starts - throttled;
  if (unanswered > 0 || answered < 1) return undefined;
  return quotaText(isCertain ? answered : Math.max(answered, most), REQUESTS, windowMs);
}
