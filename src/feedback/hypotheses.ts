import type { AlertFacts } from '../base/alert.ts';
import type { CounterEvidence, Evidence, Finding, QuotaEvidence } from '../base/evidence.ts';
import { quotaText } from '../base/quota-text.ts';
import { REQUESTS } from '../base/words.ts';

/** What others use explains a refusal from so many permits and from this share of the quota on. */
const WORTH_PERMITS = 2;
const WORTH_SHARE = 0.05;
/** So near to the whole quota, the way to the server alone can turn one call into one too many. */
const NEARLY_ALL = 0.9;
const TOO_WIDE = 0.95;
/** A counter was heard of recently within this much of its window. */
const RECENT_SHARE = 0.1;
/** Hints come in whole seconds, rounded up. */
const HINT_SLACK_MS = 1_000;
/** So many permits, or a count over so much of a window, make a rate that can be told. */
const RATE_PERMITS = 10;
const RATE_SHARE = 0.5;
/** A shorter time than this share of a window is none to work out a rate from. */
const SHORTEST_SHARE = 0.1;

type Found<H extends Finding['hypothesis']> = Extract<Finding, { hypothesis: H }> | undefined;

/** A counter of a declared quota. */
export type Matched = CounterEvidence & { readonly declared: QuotaEvidence };

/** All that a hypothesis is judged by. */
export interface Case {
  readonly facts: AlertFacts;
  readonly evidence: Evidence;
  /** The counters that are about a declared quota, those of the answer in question first. */
  readonly counters: readonly Matched[];
}

/** The facts of an alert with their evidence, made ready. */
export function caseOf(facts: AlertFacts, evidence: Evidence): Case {
  return { facts, evidence, counters: matched(evidence) };
}

function matched({ counters, quotas }: Evidence): Matched[] {
  return counters
    .flatMap((counter) => {
      const declared = counter.quota === undefined ? undefined : quotas[counter.quota];
      return declared === undefined ? [] : [{ ...counter, declared }];
    })
    .sort((a, b) => a.ageMs - b.ageMs);
}

/** Whether a limit has nothing left; servers count in slices, and some say 1 for none. */
export function isUsedUp({ limit, remaining }: CounterEvidence): boolean {
  if (remaining === undefined || limit === undefined) return false;
  return remaining < 1 || (limit >= 10 && remaining <= Math.max(1, limit * 0.02));
}

/** A header's limit that is not the declared one; `isLower`: which way. */
export function limitChanged({ counters }: Case, isLower: boolean): Found<'limit-changed'> {
  for (const { limit: said, declared, isWindowSeen } of freshest(counters)) {
    // Whole permits: what is told with a fraction is a rate in another guise.
    const limit = said === undefined ? undefined : Math.floor(said);
    if (limit === undefined || limit === declared.limit || limit === declared.providerBurst) continue;
    const isBucket = isBucketSize(limit, declared);
    // The limit of an hour, shortly before its end, looks like one of a minute: nobody is to raise a quota for that.
    if (!isLower && !isBucket && isWindowSeen !== true) continue;
    if (limit < (isBucket ? declared.providerBurst! : declared.limit) !== isLower) continue;
    const told = isBucket ? `a bucket of ${limit}` : quotaText(limit, declared.unit, declared.windowMs);
    return { hypothesis: 'limit-changed', declared: declared.text, told, isLower, isBucket };
  }
  return undefined;
}

/** Of the counters of each declared quota those that were heard of last: what another one said before is over. */
function freshest(all: readonly Matched[]): Matched[] {
  return all.filter(({ declared, ageMs }) => !all.some((one) => one.declared === declared && one.ageMs < ageMs));
}

/** A provider that runs a bucket names its size as the limit: nearer to what is declared for that than to the rate. */
function isBucketSize(limit: number, { limit: rate, providerBurst }: QuotaEvidence): boolean {
  if (providerBurst === undefined) return false;
  return Math.abs(Math.log(limit / providerBurst)) < Math.abs(Math.log(limit / rate));
}

/** The server counts more than we started. */
export function otherConsumer({ facts, counters }: Case): Found<'other-consumer'> {
  const isRefusal = facts.name !== 'OtherConsumer';
  for (const counter of counters) {
    const { used, ours, oursAtMost, declared, spanMs = declared.windowMs, limit } = counter;
    if (used === undefined || ours === undefined || oursAtMost === undefined || limit === undefined) continue;
    if (isRefusal && !(isUsedUp(counter) && isRecent(counter))) continue;
    const workers = declared.limit - declared.share;
    const known = workers + (isRefusal ? beforeUs(counter, facts) : 0);
    if (used - oursAtMost - known < worth(limit)) continue;
    const others = used - ours;
    const { windowMs } = declared;
    const perWindow = (others * windowMs) / Math.max(spanMs, windowMs * SHORTEST_SHARE);
    return {
      hypothesis: 'other-consumer',
      limit: counter.filled !== undefined && limit === declared.providerBurst ? declared.limit : limit,
      used,
      ours,
      others,
      workers,
      spanMs,
      windowMs,
      perWindow: Math.min(declared.limit, perWindow),
      isRateKnown: others >= RATE_PERMITS || spanMs >= windowMs * RATE_SHARE,
      ...(counter.filled === undefined ? {} : { filled: counter.filled }),
    };
  }
  return undefined;
}

/** What the process before this one may have used of what still counts. */
function beforeUs({ before = 0, declared }: Matched, { observed }: AlertFacts): number {
  return observed.processUpMs < declared.windowMs ? before : 0;
}

/** Said a moment ago, if not in this answer: some refuse without a word of their counters. */
export function isRecent({ ageMs, declared }: Matched): boolean {
  return ageMs <= declared.windowMs * RECENT_SHARE;
}

function worth(limit: number): number {
  return Math.max(WORTH_PERMITS, limit * WORTH_SHARE);
}

/** Our own policy lets too much start in one window. */
export function policyTooWide({ evidence, counters }: Case): Found<'policy-too-wide'> {
  for (const quota of evidence.quotas) {
    const { text, taken, share, sized, burst, unit } = quota;
    const worst = burst - 1 + Math.ceil(sized - 1e-9);
    if (
      taken > share ||
      // The refused one is among them, and has used up nothing.
      (unit === REQUESTS &&
        taken - 1 >= share * NEARLY_ALL &&
        worst >= share * TOO_WIDE &&
        isOursAlone(quota, counters))
    ) {
      return { hypothesis: 'policy-too-wide', quota: text, taken, share, worst };
    }
  }
  return undefined;
}

/** Nothing that the server says speaks against it. */
function isOursAlone(quota: QuotaEvidence, counters: readonly Matched[]): boolean {
  return counters.every((counter) => {
    if (counter.declared !== quota) return true;
    const { used, ours, limit, ageMs } = counter;
    if (ageMs === 0 && limit !== undefined && counter.remaining !== undefined && !isUsedUp(counter)) return false;
    return used === undefined || ours === undefined || limit === undefined || used - ours < worth(limit);
  });
}

/** Whether the server wants to be left alone for longer than any declared window lasts. */
function asksForLonger({ server, longestWindowMs }: AlertFacts): boolean {
  return (server.retryAfterMs ?? 0) > longestWindowMs * (1 + RECENT_SHARE) + HINT_SLACK_MS;
}

/** A full bucket has met a used one: calls of the process before this one still count. */
export function restart({ facts, counters }: Case): Found<'restart'> {
  // What the process before this one used is over after one window: nobody would be sent away for longer.
  if (asksForLonger(facts)) return undefined;
  for (const counter of counters) {
    const { limit } = counter;
    const before = beforeUs(counter, facts);
    if (limit !== undefined && isUsedUp(counter) && isRecent(counter) && before >= worth(limit))
      return { hypothesis: 'restart', before, limit };
  }
  const { processUpMs } = facts.observed;
  const isCounted = counters.some(({ used, ageMs }) => used !== undefined && ageMs === 0);
  return processUpMs < facts.longestWindowMs && !isCounted ? { hypothesis: 'restart' } : undefined;
}
