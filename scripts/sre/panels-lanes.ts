import { label } from './names.ts';
import { CAUSE, CODE, chosen, DOWNSTREAM, increase, OUTCOME, one, PRIORITY, quantile, type Row } from './panel.ts';

const QUEUES: Row = {
  id: 400,
  title: 'Queues',
  panels: [
    {
      id: 30,
      kind: 'lines',
      title: 'Calls that wait',
      description: 'A fan-out is a step that drains. A line that only climbs is demand above the quota.',
      unit: 'short',
      width: 8,
      queries: one(
        `sum by (${DOWNSTREAM}, ${PRIORITY}) (${chosen('queueLength')})`,
        `{{${DOWNSTREAM}}} {{${PRIORITY}}}`,
      ),
    },
    {
      id: 31,
      kind: 'lines',
      title: 'Oldest waiter so far',
      description: 'Climbs by a second each second while a lane stands still.',
      unit: 'ms',
      width: 8,
      queries: one(
        `max by (${DOWNSTREAM}, ${PRIORITY}) (${chosen('queueOldest')})`,
        `{{${DOWNSTREAM}}} {{${PRIORITY}}}`,
      ),
    },
    {
      id: 32,
      kind: 'lines',
      title: 'Wait that a new call is told',
      description: 'The largest of all processes. Calls with a deadline before that are refused at once.',
      unit: 'ms',
      width: 8,
      queries: one(`max by (${DOWNSTREAM}) (${chosen('expectedWait')})`),
    },
    {
      id: 33,
      kind: 'lines',
      title: 'In flight',
      description:
        'Calls that run now, all processes together. A flat line at maxConcurrent (times the processes, where each has its own) while calls wait: places are what is short.',
      unit: 'short',
      width: 8,
      queries: one(`sum by (${DOWNSTREAM}) (${chosen('inFlight')})`),
    },
    {
      id: 34,
      kind: 'lines',
      title: 'Time the calls take, p95',
      description:
        'From start to end, by how the answer was read. Slow here and in flight at its limit: the downstream is slow, not the gate.',
      unit: 'ms',
      width: 8,
      queries: one(
        quantile(0.95, `${DOWNSTREAM}, ${OUTCOME}`, chosen('call', {}, '_bucket')),
        `{{${DOWNSTREAM}}} {{${OUTCOME}}}`,
      ),
    },
    {
      id: 35,
      kind: 'lines',
      title: 'Calls that do not end',
      description:
        'Past their end and their grace, and still not settled. Each may hold a connection. Not 0: runbook DownstreamOrphaned.',
      unit: 'short',
      width: 8,
      queries: one(`sum by (${DOWNSTREAM}) (${chosen('orphaned')})`),
    },
  ],
};

export const HOLDS = `max by (${DOWNSTREAM}, ${CAUSE}) (${chosen('hold')}) > 0`;
export const PAUSES = `max by (${DOWNSTREAM}) (${chosen('paused')}) == 1`;
export const THROTTLES = `${increase(DOWNSTREAM, chosen('throttled'), '[5m]')} > 0`;

const TROUBLE: Row = {
  id: 500,
  title: 'Holds, 429s and refusals',
  panels: [
    {
      id: 40,
      kind: 'lines',
      title: 'Holds: time left, by cause',
      description:
        'retry-after: the server said so. quota-reset: its own counter is spent. cooldown: a 429 named no time, our own choice. operator: somebody paused it. It ends by itself.',
      unit: 'ms',
      width: 12,
      queries: one(HOLDS, `{{${DOWNSTREAM}}} {{${CAUSE}}}`),
    },
    {
      id: 41,
      kind: 'timeline',
      title: 'Open or paused',
      description: 'Paused: the hold is so long that new calls are refused rather than queued.',
      unit: 'short',
      width: 12,
      queries: one(`max by (${DOWNSTREAM}) (${chosen('paused')})`),
    },
    {
      id: 42,
      kind: 'bars',
      title: '429s',
      description: 'Every bar is worth a person knowing. The pushed alert says which limit was hit and what to change.',
      unit: 'short',
      width: 8,
      queries: one(increase(DOWNSTREAM, chosen('throttled'))),
    },
    {
      id: 43,
      kind: 'bars',
      title: 'Refusals by code',
      description:
        'DEADLINE_EXCEEDED: could not start in time. RATE_LIMITED: the lane is paused. RATE_LIMIT_QUEUE_FULL, RATE_LIMIT_QUEUE_TIMEOUT: maxQueueDepth, maxWait. The rest are mistakes of the calling code.',
      unit: 'short',
      width: 8,
      queries: one(
        increase(`${DOWNSTREAM}, ${CODE}`, chosen('admissions', { outcome: '="refused"' })),
        `{{${DOWNSTREAM}}} {{${CODE}}}`,
      ),
    },
    {
      id: 44,
      kind: 'bars',
      title: 'How calls ended',
      description:
        'As their answers were read. throttled is a 429; exhausted a quota that seconds do not cure; overloaded a 503 or 529.',
      unit: 'short',
      width: 8,
      queries: one(
        increase(`${DOWNSTREAM}, ${OUTCOME}`, chosen('call', {}, '_count')),
        `{{${DOWNSTREAM}}} {{${OUTCOME}}}`,
      ),
    },
  ],
};

const OBSERVED: Row = {
  id: 600,
  title: 'Lanes that are only observed',
  panels: [
    {
      id: 50,
      kind: 'lines',
      title: 'Wait there would have been, p50 and p95',
      description:
        'Of downstreams in mode observe: nothing was delayed. Judge the limits by it before they are enforced.',
      unit: 'ms',
      width: 12,
      queries: [0.5, 0.95].map((q) => ({
        expr: quantile(q, DOWNSTREAM, chosen('wouldWait', { outcome: '="started"' }, '_bucket')),
        legend: `p${q * 100} {{${DOWNSTREAM}}}`,
      })),
    },
    {
      id: 51,
      kind: 'bars',
      title: 'Calls that would have been refused',
      description: 'They were started all the same.',
      unit: 'short',
      width: 12,
      queries: one(
        increase(`${DOWNSTREAM}, ${CODE}`, chosen('admissions', { outcome: '="would_refuse"' })),
        `{{${DOWNSTREAM}}} {{${CODE}}}`,
      ),
    },
  ],
};

const PENSTOCK: Row = {
  id: 700,
  title: 'Penstock itself',
  panels: [
    {
      id: 60,
      kind: 'table',
      title: 'Mode of every downstream',
      description: 'How many processes run it in which mode. Anything but enforce lets every call through.',
      unit: 'short',
      width: 8,
      queries: one(`count by (job, ${DOWNSTREAM}, ${label('mode')}) (${chosen('mode')} == 1)`, ''),
    },
    {
      id: 61,
      kind: 'table',
      title: 'Policy of every process',
      description:
        'The hash of the policy in force. Two hashes in one service for long: some did not take the last change.',
      unit: 'short',
      width: 8,
      queries: one(`count by (job, instance, ${label('hash')}) (${chosen('policy')} == 1)`, ''),
    },
    {
      id: 62,
      kind: 'bars',
      title: 'Alerts dropped, by sink',
      description: 'Alerts that a sink never received. The sink is down, or refuses them.',
      unit: 'short',
      width: 8,
      queries: one(increase(label('sink'), chosen('alertsDropped')), `{{${label('sink')}}}`),
    },
    {
      id: 63,
      kind: 'bars',
      title: 'Requests to hosts that belong to no downstream',
      description: 'Of processes that watch for them (watchUngated). Whatever stands here passes no gate.',
      unit: 'short',
      width: 24,
      queries: one(increase(label('serverAddress'), chosen('unclaimed')), `{{${label('serverAddress')}}}`),
    },
  ],
};

/** What lanes do: queues, holds, modes, and Penstock itself. */
export const LANE_ROWS: readonly Row[] = [QUEUES, TROUBLE, OBSERVED, PENSTOCK];
