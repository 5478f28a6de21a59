import type { Alert, AlertFacts, AlertName, WindowCount } from '../base/alert.ts';
import { formatDuration } from '../base/duration.ts';
import type { Finding } from '../base/evidence.ts';
import { REQUESTS } from '../base/words.ts';
import { changeText, findingText, findingToDo } from './findings.ts';
import { clockTime } from './instants.ts';
import { subjectOf } from './subject.ts';
import { beyondTheModel, isUnenforced, nothingHeld } from './unenforced.ts';

/**
 * Three paragraphs for somebody who was asleep a minute ago: what Penstock has done and until when;
 * what was seen, numbers first; what to change, or that nothing is to be done.
 */
export function explanationOf(facts: AlertFacts): string {
  return [whatWasDone(facts), whatWasSeen(facts), whatToDo(facts)].join('\n');
}

/** What is said of an incident that is over. */
export function explainEnd(last: Alert, sinceIso: string, quietMs: number, count: number): string {
  const since = clockTime(Date.parse(sinceIso), Date.parse(last.at));
  const seen = count === 1 ? 'one alert' : `${count} alerts`;
  const after = `nothing for ${formatDuration(quietMs)}, after ${seen} since ${since}.`;
  switch (last.name) {
    case 'QuotaExhausted':
      return `${subjectOf(last)} has refused no call for want of quota: ${after}\nThat this is cured is not known: see whether its quota was raised or has started afresh, or whether nobody has called.`;
    case 'QuotaDrift':
    case 'OtherConsumer':
      return `${last.name} of ${subjectOf(last)} is over: ${after}\nNothing is to be done now.`;
    case 'UngatedRequest':
      return `No request to ${last.downstream} was seen that passed no gate: ${after}\nNothing is urgent now. Where the code was not changed they may come back: \`penstock guard\` finds the place.`;
    case 'SinkFailing':
      return `${nameless(last)} takes alerts again, after ${seen} since ${since}.\nNothing is to be done, unless alerts were dropped: those it will not hear of.`;
    case 'PolicyRejected':
      return `A policy was accepted again, after ${seen} since ${since}.\nNothing is to be done now.`;
    default:
      return `${subjectOf(last)} is quiet again: ${after}\n${restOf(last)}`;
  }
}

/** `sink:slack` is the sink slack. */
function nameless({ downstream }: Pick<AlertFacts, 'downstream'>): string {
  return `The sink ${downstream.slice(downstream.indexOf(':') + 1)}`;
}

/** What is left of an incident that is over: a wrong policy is still wrong. */
function restOf({ name, hypothesis, suggestion }: Alert): string {
  if (name !== 'QuotaModelWrong') return 'Nothing is to be done now.';
  if (hypothesis === 'unknown') return 'Nothing is to be done now, but the cause was not found: it may come back.';
  if (suggestion === undefined) return 'Nothing is to be done now.';
  return `Nothing is urgent now, but it may come back as long as the policy stands as it did. In the policy: ${changeText(suggestion)}.`;
}

const ABOUT_A_QUOTA: ReadonlySet<AlertName> = new Set([
  'QuotaModelWrong',
  'QuotaExhausted',
  'QuotaDrift',
  'OtherConsumer',
]);

const ABOUT_NO_CALL: ReadonlySet<AlertName> = new Set(['SinkFailing', 'PolicyRejected', 'UngatedRequest']);

function whatWasDone(facts: AlertFacts): string {
  const { name, at, action, impact } = facts;
  const downstream = subjectOf(facts);
  if (isUnenforced(facts) && ABOUT_A_QUOTA.has(name)) return nothingHeld(facts);
  if (name === 'SinkFailing')
    return 'Penstock keeps what this sink can still be told and tries again. No call waits for it.';
  if (name === 'UngatedRequest')
    return `Penstock has let these requests go their way: it sees them, and cannot hold them. The quota of ${downstream} is counted without them.`;
  if (name === 'PolicyRejected')
    return 'Penstock goes on with the policy in force. Nothing of the new one was applied.';
  if (action.kind === 'none' || action.until === undefined) {
    if (name === 'LaneStalled') {
      return 'Penstock cannot end a call from outside: it fires call.signal when its time is up, and gives its place to the next one leaseGrace later.';
    }
    return name === 'QuotaModelWrong' || name === 'QuotaExhausted'
      ? `Penstock has not slowed ${downstream} down: its calls start as before.`
      : 'Penstock has taken no action.';
  }
  const until = `until ${clockTime(action.until, at)} (in ${formatDuration(Math.max(0, action.until - at))})${cause(facts)}.`;
  const waiting = counted(impact.waiting, 'call waits', 'calls wait');
  if (action.kind === 'hold') {
    const then = impact.waiting === 0 ? '' : ' and will start then, unless a deadline comes first';
    return `Penstock holds ${downstream} back ${until} ${waiting}${then}.`;
  }
  const refused = counted(impact.refused, 'call was refused', 'calls were refused');
  return `Penstock has paused ${downstream} ${until} New calls are refused at once (RATE_LIMITED): ${refused.toLowerCase()} so far. ${waiting}.`;
}

function cause(facts: AlertFacts): string {
  switch (facts.action.cause) {
    case 'retry-after':
      return ', as the server asked';
    case 'quota-reset':
      return ', when its quota starts afresh';
    case 'cooldown':
      return `; ${ownChoice(facts)}`;
    case 'operator':
      return ', as an operator asked';
    default:
      return '';
  }
}

/** Why a hold is as long as we chose: what is exhausted has no steps, and waits for a reset rather than for seconds. */
function ownChoice({ name, action, server }: AlertFacts): string {
  const { retryAfterMs, resetMs } = server;
  if (name === 'QuotaExhausted') {
    if (resetMs !== undefined) return 'the server named an earlier reset, this is our own choice';
    const wait = retryAfterMs === undefined ? '' : ', and its wait is too short for one';
    return `the server named no reset${wait}, this is our own choice`;
  }
  const named = retryAfterMs !== undefined ? 'a shorter time' : resetMs !== undefined ? 'no wait' : 'no time';
  const step = action.step === undefined ? 'this is our own choice' : `this is step ${action.step} of our own cooldown`;
  return `the server named ${named}, ${step}`;
}

function whatWasSeen(facts: AlertFacts): string {
  const { incident, observed, impact, name, detail, findings = [] } = facts;
  const said: string[] = [];
  if (detail !== undefined) said.push(sentence(detail));
  if (ABOUT_NO_CALL.has(name)) {
    return [...said, `This process has been up for ${formatDuration(observed.processUpMs)}.`].join(' ');
  }
  if (!ABOUT_A_QUOTA.has(name)) {
    const oldest = impact.waiting === 0 ? '' : `, the oldest for ${formatDuration(impact.oldestWaitMs)}`;
    said.push(`${impact.inFlight} in flight, ${impact.waiting} waiting${oldest}.`);
    return said.join(' ');
  }
  if (incident.throttles > 0) said.push(throttles(facts));
  said.push(...findings.map(findingText).filter((text) => text !== ''));
  const starts = [...observed.windows].sort((a, b) => b.windowMs - a.windowMs).map(windowText);
  // Both count the same window up to another instant.
  const isBunchTold = findings.some((finding) => finding.hypothesis === 'hidden-window' && finding.bunch !== undefined);
  const until = isBunchTold ? ' until this alert' : '';
  if (starts.length > 0) said.push(`Started by this process${until}: ${starts.join('; ')}.`);
  if (observed.sinceHoldMs !== undefined) {
    said.push(`The last hold ended ${formatDuration(observed.sinceHoldMs)} before.`);
  }
  said.push(`This process has been up for ${formatDuration(observed.processUpMs)}.`);
  return said.join(' ');
}

function throttles(facts: AlertFacts): string {
  const { incident, server, findings = [] } = facts;
  const isLeftTold = findings.some((finding) => finding.hypothesis === 'hidden-window' && finding.left !== undefined);
  const calls = counted(incident.throttles, 'call was throttled', 'calls were throttled');
  const row = incident.inARow > 1 ? `, the ${ordinal(incident.inARow)} in a row` : '';
  const status = server.status === undefined ? '' : ` with status ${server.status}`;
  return `${calls}${status} in this incident${row}. ${wait(facts)}${isLeftTold ? '' : left(server)}`;
}

function left({ limit, remaining, resetMs, retryAfterMs }: AlertFacts['server']): string {
  if (limit === undefined && remaining === undefined) return '';
  const of = limit === undefined ? '' : ` of ${limit}`;
  // Without a wait the reset is told in its place.
  const reset =
    resetMs === undefined || retryAfterMs === undefined ? '' : `, with a reset in ${formatDuration(resetMs)}`;
  return remaining === undefined
    ? ` It named a limit${of}${reset}.`
    : ` It said that ${remaining}${of} were left${reset}.`;
}

function wait({ server, action }: AlertFacts): string {
  const { retryAfterMs, resetMs, readFrom, capped } = server;
  if (retryAfterMs === undefined) {
    if (resetMs !== undefined) return `The server named no wait, but a reset in ${formatDuration(resetMs)}.`;
    const isEarlier = action.cause === 'retry-after' || action.cause === 'quota-reset';
    return isEarlier
      ? 'This answer named no time to come back, an earlier one did.'
      : 'The server named no time to come back.';
  }
  const from = readFrom === undefined ? '' : ` in ${readFrom}`;
  const longer = capped === true ? ', longer than maxHold allows: one call will ask again before' : '';
  return `The server asked for ${formatDuration(retryAfterMs)}${from}${longer}.`;
}

function windowText({ windowMs, starts, declared, sized }: WindowCount): string {
  const text = `${starts} in ${formatDuration(windowMs)}`;
  if (declared === undefined) return text;
  return `${text} (they allow ${declared}${sized === undefined ? '' : `, we use ${Math.floor(sized)}`})`;
}

function whatToDo(facts: AlertFacts): string {
  switch (facts.name) {
    case 'QuotaModelWrong': {
      const beyond = isUnenforced(facts) ? beyondTheModel(facts) : undefined;
      return beyond ?? (facts.declared.length === 0 ? declareOne(facts) : correctTheQuota(facts));
    }
    case 'QuotaExhausted':
      return `To do: have the quota of ${facts.downstream} raised, or stop the work that uses it up. Waiting for seconds does not cure it.`;
    case 'LaneStalled':
      return 'To do: find out why these calls do not end. Pass call.signal on to the client; give the calls a deadline or the downstream a maxRun.';
    case 'QuotaDrift':
    case 'OtherConsumer':
      return `No call was refused, so nothing is urgent. ${correctTheQuota(facts)}`;
    case 'UngatedRequest':
      return `To do: make them within callDownstream('${facts.downstream}', ...), or give the client that makes them the \`fetch\` of penstock/fetch. \`penstock guard\` finds the places in the code.`;
    case 'PolicyRejected':
      return 'To do: correct the policy file; `penstock check` names every problem in it.';
    case 'SinkFailing':
      return 'To do: see whether the receiver is up, and whether its address and its secret are still right. Until then, what it should say is in the logs, in `onAlert` and at the other sinks.';
  }
}

function declareOne({ downstream, action, suggestion, evidence }: AlertFacts): string {
  const unlimited = action.kind === 'none' ? ' in place of `unlimited`' : '';
  const first = `The policy declares no quota for ${downstream}, so no model of ours was wrong. To do, by day: find out its limit and declare it as \`quota\`${unlimited}`;
  const bare = evidence?.counters.find(({ limit, windowMs }) => limit !== undefined && windowMs === undefined);
  if (suggestion === undefined) {
    if (bare?.limit === undefined) return `${first}.`;
    return `${first}. Its headers name a limit of ${bare.limit} ${bare.unit}, and no window: ask for that.`;
  }
  const isTold = evidence?.counters.some(({ limit, windowMs }) => limit !== undefined && windowMs !== undefined);
  const what = isTold === true ? 'what its headers say' : 'what it is known to have answered';
  return `${first}; ${shownQuota(suggestion.to)}, ${what}, is a start.`;
}

/** A suggestion is a quota, or all options of a downstream with one in it. */
function shownQuota(to: unknown): string {
  return typeof to === 'string' ? to : String((to as { readonly quota?: unknown }).quota);
}

function correctTheQuota(facts: AlertFacts): string {
  const { downstream, owner, source, incident, suggestion, findings = [] } = facts;
  const quotas = facts.declared.map(({ text }) => text).join(' and ');
  const declared = `${quotas}${source === undefined ? '' : ` (source: ${source})`}`;
  const [first] = findings;
  if (first !== undefined && first.hypothesis !== 'unknown')
    return `${findingToDo(first, facts, declared, suggestion)}${byHand(facts)}`;
  const when = incident.inARow < 3 ? 'To do, if it comes back' : 'To do now, because waiting does not cure it';
  const ask = owner === undefined ? 'find out' : `ask ${owner}`;
  return `${evidence(facts, declared)} ${notKnown(first, facts)}${notARestart(facts)} ${when}: ${ask} which limit applies, and lower \`quota\` or \`utilization\` of ${downstream}.${byHand(facts)}`;
}

function notKnown(finding: Finding | undefined, { server, longestWindowMs }: AlertFacts): string {
  if ((server.retryAfterMs ?? 0) > 2 * longestWindowMs) {
    const window = formatDuration(longestWindowMs);
    return `Why it throttled us is not known: the server asks for more time than any declared window lasts (${window} at most), so a block, or a limit of an hour or a day that nobody declared, is likely.`;
  }
  if (finding?.hypothesis === 'unknown' && finding.isCounted) {
    return 'Why it throttled us is not known: by its own headers none of its limits was used up, or not by more than we started.';
  }
  return 'Why it throttled us is not known: its limit may be lower, it may count in a shorter window, or somebody else may use the same credential.';
}

/** A process that is younger than its longest window makes one think of it. */
function notARestart({ incident, observed, longestWindowMs }: AlertFacts): string {
  const isFirst = incident.inARow <= 1 && observed.sinceHoldMs === undefined;
  if (isFirst || observed.processUpMs >= longestWindowMs) return '';
  const time = incident.inARow > 1 ? `The ${ordinal(incident.inARow)} time in a row` : 'Not the first time';
  return ` ${time} since this process started, so a restart does not explain it.`;
}

/** Says no more than was counted: windows count starts, never other units. */
function evidence({ observed, declared }: AlertFacts, text: string): string {
  const isCounted = observed.windows.some((window) => window.declared !== undefined);
  if (!isCounted) return `Declared: ${text}.`;
  return declared.every(({ unit }) => unit === REQUESTS)
    ? `Our starts were within what is declared: ${text}.`
    : `Our starts were within what is declared, what they cost in other units was not counted: ${text}.`;
}

function byHand(facts: AlertFacts): string {
  const { action, downstream } = facts;
  return action.kind === 'pause' && !isUnenforced(facts)
    ? ` Once it is cured, resume('${downstream}', { all: true }) ends the pause.`
    : '';
}

function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count === 0 ? 'No' : count} ${count === 0 ? one : many}`;
}

function sentence(text: string): string {
  // The name of a file or an option stays as it is spelled.
  const said = /^\p{Ll}+[\s,]/u.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(said) ? said : `${said}.`;
}

function ordinal(n: number): string {
  const suffix = n % 100 >= 11 && n % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
  return `${n}${suffix}`;
}
