import type { AlertFacts, AlertName, ServerWord } from '../base/alert.ts';
import type { TraceIds } from '../base/bus.ts';
import type { CounterEvidence, Evidence } from '../base/evidence.ts';
import { HOST_ACCOUNT } from '../base/hosts.ts';
import type { Gate } from '../model/gate.ts';
import { defined } from './hold-news.ts';
import { observe } from './observed.ts';
import type { LanePorts } from './ports.ts';
import type { Tally } from './tally.ts';

/** Whose call it was that was throttled. */
export interface Culprit {
  readonly tool: string | undefined;
  readonly runId: string | undefined;
  readonly trace: TraceIds | undefined;
}

/** What an alert needs of its lane. */
export interface RaiseHost {
  readonly name: string;
  readonly account: string | undefined;
  readonly gate: Gate;
  readonly ports: LanePorts;
  readonly tally: Tally;
  readonly heard: { readonly witness: { readonly evidence: (server: ServerWord) => Evidence } };
  readonly impact: () => { waiting: number; inFlight: number; oldestWaitMs: number };
}

/** The incident that an alert belongs to. */
export interface RaisedIncident {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly throttles: number;
  readonly inARow: number;
  readonly tools: ReadonlySet<string>;
  /** The lane's count of refusals when it began. */
  readonly refusedBefore: number;
}

/** What was seen of one answer, and what was done about it. */
export interface Seen {
  readonly server: ServerWord;
  readonly culprit: Culprit;
  readonly action: AlertFacts['action'];
  readonly detail?: string;
  /** Where it is not what the lane would say of this very moment. */
  readonly evidence?: Evidence;
}

/** Alerts about a quota, of which there is something to find out. */
const DIAGNOSED: ReadonlySet<AlertName> = new Set(['QuotaModelWrong', 'QuotaDrift', 'OtherConsumer']);

/** Hands in what a lane knows at the moment something is worth an alert. `heldBefore`: the end of the hold before, 0 if there was none. */
export function raiseAlert(
  lane: RaiseHost,
  name: AlertName,
  incident: RaisedIncident,
  heldBefore: number,
  { server, culprit, action, detail, evidence: given }: Seen,
): void {
  const { ports, tally, gate, heard } = lane;
  const { plan } = gate;
  const { id, startedAt, throttles, inARow } = incident;
  const { tool, runId, trace } = culprit;
  const evidence = given ?? (DIAGNOSED.has(name) ? heard.witness.evidence(server) : undefined);
  const impactNow = (): AlertFacts['impact'] => ({
    ...lane.impact(),
    refused: tally.refusals - incident.refusedBefore,
    tools: [...incident.tools],
  });
  ports.raise({
    name,
    downstream: lane.name,
    ...defined({ lane: hostOf(lane.account) }),
    at: ports.clock.wallNow(),
    incident: { id, startedAt, throttles, inARow },
    action,
    impact: impactNow(),
    impactNow,
    observed: observe(lane, heldBefore, ports.clock.now()),
    server: { ...tightest(evidence), ...server },
    declared: plan.quotas.map(({ text, limit, windowMs, unit }) => ({ text, limit, windowMs, unit })),
    longestWindowMs: Math.max(0, ...plan.quotas.map((quota) => quota.windowMs)),
    ...defined({ owner: plan.owner, source: plan.source, runbook: plan.runbook, tool, runId, detail, evidence }),
    ...trace,
  });
}

/** An account that stands for a host; any other may be a secret, and is told to nobody. */
function hostOf(account: string | undefined): string | undefined {
  return account?.startsWith(HOST_ACCOUNT) === true ? account : undefined;
}

/** What the answer said of the limit that has least left, where the answer itself names none. */
function tightest(evidence: Evidence | undefined): Pick<ServerWord, 'limit' | 'remaining' | 'resetMs'> {
  const left = ({ limit, remaining }: CounterEvidence): number =>
    limit === undefined || remaining === undefined ? Number.POSITIVE_INFINITY : remaining / limit;
  const now = evidence?.counters.filter(({ ageMs }) => ageMs === 0) ?? [];
  const [first] = now.toSorted((a, b) => left(a) - left(b));
  return defined({ limit: first?.limit, remaining: first?.remaining, resetMs: first?.resetMs });
}
