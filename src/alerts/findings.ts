import type { Alert, AlertFacts, Suggestion } from '../base/alert.ts';
import { formatDuration } from '../base/duration.ts';
import type { Finding } from '../base/evidence.ts';
import { windowText } from '../base/quota-text.ts';

type Of<H extends Finding['hypothesis']> = Extract<Finding, { hypothesis: H }>;

/** The numbers that a hypothesis rests on. */
export function findingText(finding: Finding): string {
  switch (finding.hypothesis) {
    case 'limit-changed':
      return `The server names ${finding.told} as its limit; ${finding.declared} is declared.`;
    case 'other-consumer':
      return othersText(finding);
    case 'hidden-window':
      return hiddenText(finding);
    case 'policy-too-wide':
      return `${amount(finding.taken)} of the ${finding.share} that we may use of ${finding.quota} had started in one window, by this process alone; our policy lets up to ${amount(finding.worst)} start in one.`;
    case 'restart':
      return finding.before === undefined
        ? ''
        : `${amount(finding.before)} of ${finding.limit} had been used before this process first heard of it.`;
    case 'unknown':
      return '';
  }
}

function othersText(finding: Of<'other-consumer'>): string {
  const { limit, used, ours, others, spanMs, windowMs, perWindow, workers, filled, isRateKnown } = finding;
  const time = formatDuration(Math.round(spanMs / 100) * 100);
  const share = Math.round((perWindow / limit) * 100);
  const ourWorkers = workers > 0 ? `; ${amount(workers)} of them may be our other workers'` : '';
  const rate = isRateKnown
    ? ` That is about ${amount(perWindow)}/${windowText(windowMs)}, ${share} % of the limit.`
    : '';
  if (filled !== undefined) {
    return `Out of the server's bucket ${amount(used)} were taken in ${time}, while ${amount(filled)} flowed in, and ${amount(ours)} of these are this process's: others took ${amount(others)}${ourWorkers}.${rate}`;
  }
  return `The server counts ${amount(used)} of ${limit} used in ${time}, and ${amount(ours)} of these are this process's: others used ${amount(others)}${ourWorkers}.${rate}`;
}

function hiddenText({ bunch, left, undeclared }: Of<'hidden-window'>): string {
  if (undeclared !== undefined) {
    return `The server says that ${amount(undeclared.remaining)} are left of a limit that is not declared: ${undeclared.text}.`;
  }
  const said: string[] = [];
  if (left !== undefined) {
    said.push(
      `It was refused although, by the server's own count, ${amount(left.remaining)} of ${left.limit} were left.`,
    );
  }
  if (bunch !== undefined) {
    const before = bunch.most === 0 ? '' : `; the most that went through before was ${bunch.most}`;
    const refused = bunch.throttled === 1 ? '1 was refused' : `${bunch.throttled} were refused`;
    const open = bunch.unanswered === 0 ? '' : ` and ${bunch.unanswered} had no answer yet`;
    said.push(
      `When the refused call started, ${bunch.starts} had started within ${formatDuration(bunch.windowMs)}, of which ${refused}${open}${before}.`,
    );
  }
  return said.join(' ');
}

/** What to do about what was found first; `declared`: the quotas and where they were read. */
export function findingToDo(
  finding: Finding,
  facts: AlertFacts,
  declared: string,
  suggestion: Alert['suggestion'],
): string {
  const { downstream } = facts;
  const change = suggestion === undefined ? '' : ` In the policy: ${changeText(suggestion)}.`;
  switch (finding.hypothesis) {
    case 'limit-changed':
      return `To do: correct the declared quota of ${downstream}, ${declared}, if the server's number is to last.${change}`;
    case 'other-consumer':
      return othersToDo(finding, facts, suggestion, change);
    case 'hidden-window':
      return hiddenToDo(finding, facts, change);
    case 'policy-too-wide':
      return `To do: our policy for ${downstream} comes too near to ${declared}, or lets more start: the way to the server alone makes one too many of it. Lower \`burst\`, \`providerBurst\` or \`utilization\`.${change}`;
    case 'restart':
      return restartToDo(finding, facts, declared);
    case 'unknown':
      return '';
  }
}

const WHO =
  'To do: find out who else uses this credential, or whether a call makes several requests (retries of a client library, pages, a cost that is not declared)';

function othersToDo(
  { plan, left, limit, windowMs }: Of<'other-consumer'>,
  { downstream, declared }: AlertFacts,
  suggestion: Alert['suggestion'],
  change: string,
): string {
  const window = windowText(windowMs);
  const others = limit - left;
  if (left < 1)
    return `Others use up all of it, no \`utilization\` leaves room for both. ${WHO}; this process needs a credential of its own.`;
  if (plan.worst <= left) {
    const most = plan.worst > plan.sized ? ` (${amount(plan.worst)} at most, after an idle spell)` : '';
    return `We use ${amount(plan.sized)}/${window}${most}, others ${amount(others)}, together ${amount(Math.max(plan.sized, plan.worst) + others)} of ${amount(limit)}: the policy leaves room for both. ${WHO}, in case they come to use more.`;
  }
  const isForAll = declared.length > 1 && suggestion !== undefined && lowersUtilization(suggestion);
  const all = isForAll
    ? ` \`utilization\` is for every quota of ${downstream}: the others become narrower with it.`
    : '';
  return `${WHO}. Leave them their part: lower \`utilization\` and \`burst\` of ${downstream}.${change}${all}`;
}

function lowersUtilization({ path, from, to }: Suggestion): boolean {
  if (path.endsWith('.utilization')) return true;
  const read = (options: unknown): unknown => (options as { readonly utilization?: unknown } | null)?.utilization;
  return read(to) !== undefined && read(from) !== read(to);
}

function hiddenToDo(
  { limit, undeclared }: Of<'hidden-window'>,
  { downstream, impact }: AlertFacts,
  change: string,
): string {
  if (undeclared !== undefined) {
    const how = limit === undefined ? ', once its window is known' : '';
    return `To do: declare that limit of ${downstream} as one more quota${how}.${change}`;
  }
  const atOnce =
    impact.inFlight > 0 ? `, or of calls at once (${impact.inFlight} were in flight: \`maxConcurrent\`)` : '';
  const known = limit === undefined ? 'How much it allows is not known. ' : '';
  return `${known}To do: ask for a limit of ${downstream} in a shorter window${atOnce}, and declare it as one more quota.${change}`;
}

function restartToDo({ before, windowMs }: Of<'restart'>, facts: AlertFacts, declared: string): string {
  const window = formatDuration(windowMs);
  const why =
    before === undefined
      ? `this process is younger than the window (${window}), so calls of the one before it may still count`
      : `calls of the process before it most likely still count, for one window (${window}) at most`;
  const again =
    before === undefined
      ? `the declared quota of ${facts.downstream} is wrong: ${declared}`
      : 'somebody else uses this credential';
  // Calls that are refused are somebody's loss, whatever the cause.
  const isLoss = facts.action.kind === 'pause' && facts.impact.refused > 0;
  const first = isLoss
    ? 'To do, if these calls cannot wait for the end of the pause: make them in another way. The policy may be right'
    : 'Nothing is to be done now';
  return `${first}: ${why}. If it happens again without a restart, ${again}.`;
}

/** `downstreams.carrier.quota: "60/minute" -> "40/minute"`, or what to add where nothing stands. */
export function changeText({ path, from, to, inForce, variable }: Suggestion): string {
  const wins =
    variable === undefined ? '' : `; ${variable} in the environment wins over the policy: change or remove it there`;
  const instead = inForce === undefined ? '' : ` (${JSON.stringify(inForce)} is in force)`;
  if (from !== null) return `${path}: ${JSON.stringify(from)} -> ${JSON.stringify(to)}${instead}${wins}`;
  const at = path.lastIndexOf('.');
  return `add \`${path.slice(at + 1)}: ${JSON.stringify(to)}\` to ${path.slice(0, at)}${instead}${wins}`;
}

function amount(permits: number): string {
  return String(Math.round(permits));
}
