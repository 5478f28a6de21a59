import type { Alert, AlertFacts, Hypothesis, WindowCount } from '../base/alert.ts';
import { formatDuration } from '../base/duration.ts';
import type { HoldCause } from '../base/words.ts';
import { clockTime } from './instants.ts';

/**
 * Three paragraphs for somebody who was asleep a minute ago: what Penstock has done and until when;
 * what was seen, numbers first; what to change, or that nothing is to be done.
 */
export function explanationOf(
  facts: AlertFacts,
  hypothesis: Hypothesis,
  suggestion: Alert['suggestion'],
): string {
  return [whatWasDone(facts), whatWasSeen(facts), whatToDo(facts, hypothesis, suggestion)].join('\n');
}

/** The one paragraph of an incident that is over. */
export function explainEnd(last: Alert, quietMs: number, count: number): string {
  const alerts = count === 1 ? '1 alert' : `${count} alerts`;
  const since = `since ${clockTime(Date.parse(last.incident.startedAt))}`;
  const quiet = `${last.downstream} is quiet again: nothing for ${formatDuration(quietMs)}, after ${alerts} ${since}.`;
  const isKnown = last.hypothesis !== 'unknown' || last.name !== 'QuotaModelWrong';
  return isKnown
    ? `${quiet}\nNothing is to be done now.`
    : `${quiet}\nNothing is to be done now, but the cause was not found: it may come back.`;
}

const CAUSES: Readonly<Record<HoldCause, string>> = {
  'retry-after': 'as long as the server asked for',
  'quota-reset': 'until its quota starts afresh',
  cooldown: 'a time of our own choice, because the server named none',
  operator: 'because an operator said so',
};

function whatWasDone({ downstream, at, action, impact }: AlertFacts): string {
  const waiting = impact.waiting === 1 ? '1 call waits' : `${impact.waiting} calls wait`;
  if (action.kind === 'none' || action.until === undefined) {
    return `Penstock has not slowed ${downstream} down: its calls start as before.`;
  }
  const until = `until ${clockTime(action.until, at)} (${formatDuration(Math.max(0, action.until - at))})`;
  const why = action.cause === undefined ? '' : `, ${CAUSES[action.cause]}`;
  const step = action.step !== undefined && action.step > 1 ? ` (step ${action.step})` : '';
  if (action.kind === 'hold') {
    return `Penstock starts no call to ${downstream} ${until}${why}${step}; ${waiting} and will run then, unless a deadline comes first.`;
  }
  const refused = impact.refused === 0 ? 'none so far' : `${impact.refused} so far`;
  return `Penstock has paused ${downstream} ${until}${why}${step}. New calls are refused (RATE_LIMITED), ${refused}; ${waiting}.`;
}

function whatWasSeen(facts: AlertFacts): string {
  const { incident, observed, impact, name, detail } = facts;
  const said: string[] = [];
  if (detail !== undefined) said.push(sentence(detail));
  if (name !== 'QuotaModelWrong' && name !== 'QuotaExhausted') {
    said.push(
      `${impact.inFlight} in flight, ${impact.waiting} waiting, the oldest for ${formatDuration(impact.oldestWaitMs)}.`,
    );
    return said.join(' ');
  }
  if (incident.throttles > 0) said.push(sentence(throttles(facts)));
  const starts = [...observed.windows].sort((a, b) => b.windowMs - a.windowMs).map(windowText);
  if (starts.length > 0) said.push(`Calls started by this process: ${starts.join('; ')}.`);
  if (observed.sinceHoldMs !== undefined) {
    said.push(`The last hold ended ${formatDuration(observed.sinceHoldMs)} before.`);
  }
  said.push(`The process has been up for ${formatDuration(observed.processUpMs)}.`);
  return said.join(' ');
}

function throttles({ incident, server }: AlertFacts): string {
  const count = incident.throttles === 1 ? '1 call was' : `${incident.throttles} calls were`;
  const row = incident.inARow > 1 ? `, the ${ordinal(incident.inARow)} in a row` : '';
  const status = server.status === undefined ? '' : `status ${server.status}, `;
  return `${count} throttled in this incident${row}: ${status}${wait(server)}`;
}

function wait({ retryAfterMs, readFrom, capped }: AlertFacts['server']): string {
  if (retryAfterMs === undefined) return 'without a time to come back';
  const from = readFrom === undefined ? '' : ` in ${readFrom}`;
  const longer = capped === true ? ', which is longer than maxHold allows' : '';
  return `come back in ${formatDuration(retryAfterMs)}${from}${longer}`;
}

function windowText({ windowMs, starts, declared, sized }: WindowCount): string {
  const counted = `${starts} in ${formatDuration(windowMs)}`;
  if (declared === undefined) return counted;
  const used = sized === undefined ? '' : `, ${Math.floor(sized)} used by us`;
  return `${counted} (${declared} declared${used})`;
}

function whatToDo(facts: AlertFacts, hypothesis: Hypothesis, suggestion: Alert['suggestion']): string {
  switch (facts.name) {
    case 'QuotaModelWrong':
      return facts.declared.length === 0 ? declareOne(facts, suggestion) : correctTheQuota(facts, hypothesis);
    case 'QuotaExhausted':
      return `To do: have the quota of ${facts.downstream} raised, or stop the work that uses it up. Seconds of waiting do not cure it.`;
    case 'LaneStalled':
      return 'To do: find out why these calls do not end. Pass call.signal on to the client, and give the calls a deadline or maxRun.';
    case 'QuotaDrift':
    case 'OtherConsumer':
      return `Nothing is to be done now. If it lasts, correct the quota of ${facts.downstream} in the policy.`;
    case 'UngatedRequest':
      return `To do: send these requests through callDownstream('${facts.downstream}', ...).`;
    case 'PolicyRejected':
      return 'To do: correct the policy file. The policy in force was kept.';
    case 'SinkFailing':
      return 'To do: look after the sink. Its alerts wait and are tried again.';
  }
}

function declareOne({ downstream, action }: AlertFacts, suggestion: Alert['suggestion']): string {
  const first = `${downstream} declares no quota, so no model of ours was wrong.`;
  const example = suggestion === undefined ? '' : `; ${suggestion.to} is what it last took, a place to start`;
  const unlimited = action.kind === 'none' ? ', in place of `unlimited`' : '';
  return `${first} To do, by day: find out its limit and declare it as \`quota\`${unlimited}${example}.`;
}

function correctTheQuota(facts: AlertFacts, hypothesis: Hypothesis): string {
  const quotas = facts.declared.map(({ text }) => text).join(' and ');
  const ask = facts.owner === undefined ? 'ask its provider' : `ask ${facts.owner}`;
  const source = facts.source === undefined ? '' : ` (declared after: ${facts.source})`;
  if (hypothesis === 'restart') {
    return `Nothing is to be done now: the process is younger than the longest window (${formatDuration(facts.longestWindowMs)}), so calls of the one before it may still count. If it happens again without a restart, the quota of ${facts.downstream} is wrong.`;
  }
  if (hypothesis === 'policy-too-wide') {
    return `To do: our policy allowed more starts than ${quotas}${source}. Lower \`burst\`, \`providerBurst\` or \`utilization\` of ${facts.downstream}.`;
  }
  return `Our starts were within ${quotas}${source}. Why it throttled us is not known: the limit may be lower, it may be counted in a shorter window, or somebody else may use the same credential. To do, if it comes back: ${ask} which limit applies, and lower \`quota\` or \`utilization\` of ${facts.downstream}.`;
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}

function ordinal(n: number): string {
  const suffix = n % 100 >= 11 && n % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
  return `${n}${suffix}`;
}
