import type { AlertFacts, AlertName, ServerWord } from '../base/alert.ts';
import type { TraceIds } from '../base/bus.ts';
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
  readonly gate: Gate;
  readonly ports: LanePorts;
  readonly tally: Tally;
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
}

/** Hands in what a lane knows at the moment something is worth an alert. `heldBefore`: the end of the hold before, 0 if there was none. */
export function raiseAlert(
  lane: RaiseHost,
  name: AlertName,
  incident: RaisedIncident,
  heldBefore: number,
  { server, culprit, action, detail }: Seen,
): void {
  const { ports, tally, gate } = lane;
  const { plan } = gate;
  const { id, startedAt, throttles, inARow } = incident;
  const { tool, runId, trace } = culprit;
  ports.raise({
    name,
    downstream: lane.name,
    at: ports.clock.wallNow(),
    incident: { id, startedAt, throttles, inARow },
    action,
    impact: {
      ...lane.impact(),
      refused: tally.refusals - incident.refusedBefore,
      tools: [...incident.tools],
    },
    observed: observe(lane, heldBefore, ports.clock.now()),
    server,
    declared: plan.quotas.map(({ text, limit, windowMs, unit }) => ({ text, limit, windowMs, unit })),
    longestWindowMs: Math.max(0, ...plan.quotas.map((quota) => quota.windowMs)),
    ...defined({ owner: plan.owner, source: plan.source, runbook: plan.runbook, tool, runId, detail }),
    ...trace,
  });
}
