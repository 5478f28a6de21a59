import type { Alert, AlertFacts, AlertSeverity, Hypothesis } from '../base/alert.ts';
import { explanationOf } from './explanation.ts';
import { isoInstant } from './instants.ts';

/** Where the policy names no runbook of its own: the page that the package brings along has a section for every alert. */
const RUNBOOK = 'penstock/docs/runbook.md';

/** From the third incident in a row on, what we hold is not enough: somebody must look. */
const INCIDENTS_THAT_PAGE = 3;

/**
 * What a person is told about what a lane knows. `id` must be unique; without one it is made of the
 * incident, the alert's name and the count of 429s.
 */
export function buildAlert(facts: AlertFacts, origin: Alert['origin'], id?: string): Alert {
  const { incident, action, impact } = facts;
  const { suggestion } = facts;
  return {
    schema: 1,
    id: id ?? `${incident.id}-${facts.name}-${incident.throttles}`,
    name: facts.name,
    status: 'firing',
    severity: severityOf(facts),
    downstream: facts.downstream,
    ...(facts.lane !== undefined && { lane: facts.lane }),
    at: isoInstant(facts.at),
    origin,
    incident: { ...incident, startedAt: isoInstant(incident.startedAt) },
    action: {
      kind: action.kind,
      ...(action.cause !== undefined && { cause: action.cause }),
      ...(action.until !== undefined && { until: isoInstant(action.until) }),
      ...(action.step !== undefined && { step: action.step }),
    },
    impact: { ...impact, tools: impact.tools.slice(0, 5) },
    observed: facts.observed,
    server: facts.server,
    hypothesis: hypothesisOf(facts),
    explanation: explanationOf(facts),
    ...(suggestion !== undefined && { suggestion }),
    ...labels(facts),
  };
}

function severityOf(facts: AlertFacts): AlertSeverity {
  const { name, action, impact, incident } = facts;
  if (name === 'QuotaExhausted' || name === 'LaneStalled') return 'critical';
  if (name === 'QuotaDrift' || name === 'OtherConsumer') return 'info';
  if (action.kind === 'pause' && impact.refused > 0) return 'critical';
  if (incident.inARow >= INCIDENTS_THAT_PAGE) return 'critical';
  return name === 'QuotaModelWrong' && facts.declared.length === 0 ? 'info' : 'warning';
}

/** What is best founded; where nothing is, the text says what is not known. */
function hypothesisOf({ findings = [] }: AlertFacts): Hypothesis {
  return findings[0]?.hypothesis ?? 'unknown';
}

function labels(facts: AlertFacts): Partial<Alert> {
  const { name, owner, source, runbook = `${RUNBOOK}#${name.toLowerCase()}`, tool, runId, traceId, spanId } = facts;
  return {
    ...(owner !== undefined && { owner }),
    ...(source !== undefined && { source }),
    runbook,
    ...(tool !== undefined && { tool }),
    ...(runId !== undefined && { runId }),
    ...(traceId !== undefined && { traceId }),
    ...(spanId !== undefined && { spanId }),
  };
}
