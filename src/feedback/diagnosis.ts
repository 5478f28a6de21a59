import type { AlertFacts } from '../base/alert.ts';
import type { Diagnosis, Evidence, Finding, Wish } from '../base/evidence.ts';
import { quotaText } from '../base/quota-text.ts';
import { REQUESTS } from '../base/words.ts';
import { hiddenWindow } from './hidden-window.ts';
import { type Case, caseOf, limitChanged, otherConsumer, policyTooWide, restart } from './hypotheses.ts';

/** One way in which a model of a quota can be wrong. */
export interface Rule {
  readonly hypothesis: Finding['hypothesis'];
  /** The evidence that it takes. */
  readonly when: string;
  readonly find: (all: Case) => Finding | undefined;
}

/** In the order of the alert's word: what rests on the server's own numbers first, what is only possible last. */
export const RULES: readonly Rule[] = [
  {
    hypothesis: 'limit-changed',
    when: 'A header names a limit below the declared one, for the same unit and window.',
    find: (all) => limitChanged(all, true),
  },
  {
    hypothesis: 'other-consumer',
    when: 'The server says that the declared quota is used up, and counts at least 2 permits and 5 % of it more than this process and the other `workers` started since this process first heard of it.',
    find: otherConsumer,
  },
  {
    hypothesis: 'policy-too-wide',
    when: 'This process alone started more than the declared quota in one window; or at least 90 % of it, and nobody else is known to use it, under a policy that may start 95 % of it in one window.',
    find: policyTooWide,
  },
  {
    hypothesis: 'hidden-window',
    when: 'It was refused although the server says that some of the declared quota is left, or with a header that says that a limit which nobody declared is used up; or, without such headers, when more had started within a shorter window than ever before, and more than twice the usual pace.',
    find: hiddenWindow,
  },
  {
    hypothesis: 'limit-changed',
    when: 'A header names a limit above the declared one, its window was told or has been seen to begin anew, and nothing else explains the refusal.',
    find: (all) => limitChanged(all, false),
  },
  {
    hypothesis: 'restart',
    when: 'This process is younger than the longest declared window, and what it started does not explain the refusal: calls of the process before it may still count.',
    find: restart,
  },
];

/**
 * What the evidence of an alert means, best founded first, and the change of the policy that fits it.
 * Nothing is found where nothing is declared: then there is no model that could be wrong.
 */
export function diagnose(facts: AlertFacts): Diagnosis {
  const { evidence, declared } = facts;
  if (evidence === undefined) return { findings: [] };
  if (declared.length === 0) return { findings: [], ...wished(firstQuota(facts, evidence)) };
  const findings = findingsOf(facts, evidence);
  const [first] = findings;
  return { findings, ...wished(first === undefined ? undefined : wishFor(first, evidence)) };
}

function findingsOf(facts: AlertFacts, evidence: Evidence): Finding[] {
  const all = caseOf(facts, evidence);
  if (facts.name === 'QuotaDrift') return found([limitChanged(all, true) ?? limitChanged(all, false)]);
  if (facts.name === 'OtherConsumer') return found([otherConsumer(all)]);
  const findings = found(RULES.filter((rule) => isAbout(facts, rule)).map(({ find }) => find(all)));
  // What is only possible says nothing once something is known.
  const [first] = findings;
  if (first === undefined) return [{ hypothesis: 'unknown', isCounted: evidence.counters.some(isCounted) }];
  return findings.filter((finding) => finding === first || rests(finding));
}

/** Whether a finding rests on the server's own numbers. */
function rests(finding: Finding): boolean {
  if (finding.hypothesis === 'limit-changed' || finding.hypothesis === 'other-consumer') return true;
  if (finding.hypothesis === 'restart') return finding.before !== undefined;
  return finding.hypothesis === 'hidden-window' && (finding.left !== undefined || finding.undeclared !== undefined);
}

/** Where a counter alone says that all is used up, nobody was refused: what only a refusal shows is not known. */
function isAbout({ name, incident }: AlertFacts, { hypothesis }: Rule): boolean {
  return name !== 'QuotaExhausted' || incident.throttles > 0 || hypothesis !== 'hidden-window';
}

function isCounted({ quota, used }: Evidence['counters'][number]): boolean {
  return quota !== undefined && used !== undefined;
}

function found(findings: readonly (Finding | undefined)[]): Finding[] {
  return findings.filter((finding) => finding !== undefined);
}

function wished(wish: Wish | undefined): { wish?: Wish } {
  return wish === undefined ? {} : { wish };
}

function wishFor(finding: Finding, evidence: Evidence): Wish | undefined {
  switch (finding.hypothesis) {
    case 'limit-changed':
      return changed(finding, evidence);
    case 'other-consumer':
      return {
        kind: 'utilization',
        factor: Math.max(0, 1 - (finding.perWindow - workersPart(finding)) / finding.limit),
      };
    case 'hidden-window':
      return finding.limit === undefined ? undefined : { kind: 'add', quota: finding.limit };
    case 'policy-too-wide':
      return { kind: 'narrow', quota: finding.quota };
    default:
      return undefined;
  }
}

/** What the other workers of this policy use is planned for already. */
function workersPart({ workers, others, perWindow }: Extract<Finding, { hypothesis: 'other-consumer' }>): number {
  return others <= 0 ? 0 : (perWindow * Math.min(workers, others)) / others;
}

function changed(
  { declared, isBucket }: Extract<Finding, { hypothesis: 'limit-changed' }>,
  { quotas, counters }: Evidence,
): Wish | undefined {
  const index = quotas.findIndex(({ text }) => text === declared);
  const limit = counters.find((counter) => counter.quota === index && counter.limit !== undefined)?.limit;
  if (limit === undefined) return undefined;
  return isBucket
    ? { kind: 'bucket', quota: declared, size: Math.floor(limit) }
    : { kind: 'limit', quota: declared, limit: Math.floor(limit) };
}

/** A first quota for a downstream that declares none: the server's own word, else what it is known to have answered. */
function firstQuota({ observed, impact, incident }: AlertFacts, { counters }: Evidence): Wish | undefined {
  const told = counters.find(({ limit, windowMs }) => limit !== undefined && windowMs !== undefined);
  if (told?.limit !== undefined && told.windowMs !== undefined) {
    return { kind: 'declare', quota: quotaText(Math.max(1, Math.floor(told.limit)), told.unit, told.windowMs) };
  }
  const widest = observed.windows.filter(({ starts }) => starts > 0).toSorted((a, b) => b.windowMs - a.windowMs)[0];
  if (widest === undefined) return undefined;
  // Calls that were refused or have no answer yet are not known to fit: a burst of a hundred would propose a hundred.
  const answered = widest.starts - impact.inFlight - incident.throttles;
  return { kind: 'declare', quota: quotaText(Math.max(1, answered), REQUESTS, widest.windowMs) };
}
