import type { Where } from './names.ts';
import { chosen, DOWNSTREAM, increase, one, PRIORITY, QUOTA, quantile, RANGE, type Row, rate, total } from './panel.ts';

const WAITED: Where = { outcome: '!="refused"' };
/** Quotas that count calls have no unit in their text: `60/minute`. */
const OF_CALLS: Where = { quota: '=~"[0-9.]+/.+"' };
const ADMITTED = rate(DOWNSTREAM, chosen('admissions', { outcome: '="started"' }));
/** Of several quotas the narrowest counts; what has gone is told as 0 once more. */
const SIZED = `min by (${DOWNSTREAM}) (sum by (${DOWNSTREAM}, ${QUOTA}) (${chosen('rateSized', OF_CALLS)} > 0))`;
const DECLARED = `min by (${DOWNSTREAM}) (max by (${DOWNSTREAM}, ${QUOTA}) (${chosen('rateDeclared', OF_CALLS)} > 0))`;

const NOW: Row = {
  id: 100,
  title: 'Is anything wrong?',
  panels: [
    {
      id: 1,
      kind: 'stat',
      title: '429s',
      description:
        'In the time range above. 0 is normal. Any other number: a quota in the policy is wrong, or somebody else uses it. Runbook: QuotaModelWrong.',
      unit: 'short',
      width: 4,
      alarmsFrom: 0.5,
      queries: one(total(`increase(${chosen('throttled')}${RANGE})`), '429s'),
    },
    {
      id: 2,
      kind: 'stat',
      title: 'Lanes paused now',
      description: 'Their new calls are refused at once with RATE_LIMITED. Row "Holds" says why and until when.',
      unit: 'short',
      width: 4,
      alarmsFrom: 1,
      queries: one(`count(max by (job, ${DOWNSTREAM}) (${chosen('paused')}) == 1) or vector(0)`, 'paused'),
    },
    {
      id: 3,
      kind: 'stat',
      title: 'Calls waiting now',
      description: 'A number alone means nothing: see whether it grows (row "Queues").',
      unit: 'short',
      width: 4,
      queries: one(total(chosen('queueLength')), 'waiting'),
    },
    {
      id: 4,
      kind: 'stat',
      title: 'Oldest waiter',
      description: 'How long the call that has waited longest has waited so far.',
      unit: 'ms',
      width: 4,
      warnsFrom: 60_000,
      queries: one(`max(${chosen('queueOldest')}) or vector(0)`, 'oldest'),
    },
    {
      id: 5,
      kind: 'stat',
      title: 'Calls refused',
      description:
        'In the time range above, by Penstock itself; none of them reached a downstream. Codes: row "Refusals".',
      unit: 'short',
      width: 4,
      warnsFrom: 0.5,
      queries: one(total(`increase(${chosen('admissions', { outcome: '="refused"' })}${RANGE})`), 'refused'),
    },
    {
      id: 6,
      kind: 'stat',
      title: 'Alerts nobody received',
      description: 'In the time range above. Not 0: a sink is broken, and pages may be missing.',
      unit: 'short',
      width: 4,
      alarmsFrom: 0.5,
      queries: one(total(`increase(${chosen('alertsDropped')}${RANGE})`), 'dropped'),
    },
  ],
};

const WAITS: Row = {
  id: 200,
  title: 'Waits',
  panels: [
    {
      id: 10,
      kind: 'lines',
      title: 'Wait before the start, p50, p95 and p99',
      description:
        'What the gate costs its callers. The downstream whose p95 rises is the next bottleneck. Refused calls are not counted. A wait is told when it ends: a lane that stands still shows in "Oldest waiter" first.',
      unit: 'ms',
      width: 12,
      queries: [0.5, 0.95, 0.99].map((q) => ({
        expr: quantile(q, DOWNSTREAM, chosen('wait', WAITED, '_bucket')),
        legend: `p${q * 100} {{${DOWNSTREAM}}}`,
      })),
    },
    {
      id: 11,
      kind: 'lines',
      title: 'p95 wait by class',
      description: 'interactive must stay low while batch waits. If it does not, everything is called interactive.',
      unit: 'ms',
      width: 12,
      queries: one(
        quantile(0.95, `${DOWNSTREAM}, ${PRIORITY}`, chosen('wait', WAITED, '_bucket')),
        `{{${DOWNSTREAM}}} {{${PRIORITY}}}`,
      ),
    },
    {
      id: 12,
      kind: 'heatmap',
      title: 'Waits of $downstream',
      description:
        'How many calls waited how long. One band that climbs: too little quota for the demand. Two bands: two classes, or a hold in between.',
      unit: 'ms',
      width: 8,
      isPerDownstream: true,
      queries: one(increase('le', chosen('wait', WAITED, '_bucket')), '{{le}}'),
    },
  ],
};

const RATES: Row = {
  id: 300,
  title: 'Rates and quotas',
  panels: [
    {
      id: 20,
      kind: 'lines',
      title: 'Use of the sized rate',
      description:
        'Calls started, as a share of what Penstock may start. At 100 % calls queue and the quota is what limits; far below it while calls wait, something else does: holds, maxConcurrent, minInterval. Quotas of other units (tokens) are not in it.',
      unit: 'percentunit',
      width: 12,
      queries: one(`${ADMITTED} / ${SIZED}`),
    },
    {
      id: 21,
      kind: 'lines',
      title: 'Permits in the buckets',
      description: 'What could start at once, by quota. Below 0 a debt is being repaid: an expensive call, or a hold.',
      unit: 'short',
      width: 12,
      queries: one(`sum by (${DOWNSTREAM}, ${QUOTA}) (${chosen('permits')})`, `{{${DOWNSTREAM}}} {{${QUOTA}}}`),
    },
    {
      id: 22,
      kind: 'lines',
      title: 'Started, sized and declared: $downstream',
      description:
        'Calls started per second, all processes together; what they may start (sized); what the downstream declares. Sized of all processes above declared: `workers` in the policy is too low.',
      unit: 'reqps',
      width: 8,
      isPerDownstream: true,
      queries: [
        { expr: ADMITTED, legend: 'started' },
        { expr: SIZED, legend: 'sized' },
        { expr: DECLARED, legend: 'declared' },
      ],
    },
  ],
};

/** What calls see: whether anything is wrong, how long they wait, how much is used. */
export const CALL_ROWS: readonly Row[] = [NOW, WAITS, RATES];
