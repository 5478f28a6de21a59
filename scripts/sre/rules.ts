import { label, select, type Where } from './names.ts';

/** A series that is worked out once and used by several alerts. */
export interface Recording {
  readonly record: string;
  readonly expr: string;
}

/** One alert. `summary` and `description` are Prometheus templates. */
export interface AlertRule {
  readonly severity: 'info' | 'warning' | 'critical';
  readonly expr: string;
  readonly for?: string;
  readonly summary: string;
  readonly description: string;
}

/** Rules of one group are worked out one after the other, so that an alert sees what was recorded just before. */
export interface RuleGroup {
  readonly name: string;
  readonly recordings: readonly Recording[];
  readonly alerts: Readonly<Record<string, AlertRule>>;
}

const DOWNSTREAM = label('downstream');
const CODE = label('errorType');

/** One service's use of one downstream, all its processes together. */
const LANE = `job, ${DOWNSTREAM}`;
const THE = `{{ $labels.${DOWNSTREAM} }}`;
const COUNT = '{{ $value | printf "%.0f" }}';

/** Calls that are too big, badly made or meant for nobody: a mistake in code, which no waiting cures. */
const MISTAKES = 'COST_EXCEEDS_QUOTA|INVALID_CALL|UNKNOWN_DOWNSTREAM';

const P95 = 'penstock:wait_ms:p95_10m';
const P95_YESTERDAY = 'penstock:wait_ms:p95_10m_yesterday';
const WAITS = 'penstock:waits:increase10m';
const WAITS_YESTERDAY = 'penstock:waits:increase10m_yesterday';
const QUEUE = 'penstock:queue:length';

/** Yesterday's mean of half an hour before to half an hour after now: what ran a little earlier then is no rise. */
const yesterday = (record: string): string => `avg_over_time(${record}[1h] offset 23h30m)`;

/** What was refused, more than one call and more than one in a hundred of all. */
function refusedShare(by: string, where: Where): string {
  const refused = `sum by (${by}) (increase(${select('admissions', { outcome: '="refused"', ...where })}[5m]))`;
  const all = `sum by (${LANE}) (increase(${select('admissions')}[5m]))`;
  const match = by === LANE ? '' : `on (${LANE}) group_left `;
  return `${refused} / ${match}${all} > 0.01\nand\n${refused} >= 2`;
}

/** What a query says of the alert's own lane, in a template. */
function ofLane(query: (more: string) => string, show: string): string {
  const text = query(`job=%q,${DOWNSTREAM}=%q`).replaceAll('"', "'");
  return `{{ with printf "${text}" $labels.job $labels.${DOWNSTREAM} | query }}${show}{{ end }}`;
}

const LONGEST_HOLD = ofLane(
  (more) => `topk(1, max by (cause) (${select('hold', {}, '', more)})) > 0`,
  ' The longest hold ({{ . | first | label "cause" }}) has {{ . | first | value | printf "%.0f" }} ms left.',
);

const THROTTLED: RuleGroup = {
  name: 'penstock-throttled',
  recordings: [],
  alerts: {
    DownstreamThrottled: {
      severity: 'warning',
      expr: `sum by (${LANE}) (increase(${select('throttled')}[5m])) > 0`,
      summary: `${THE} answered {{ $labels.job }} with a 429`,
      description: `429s in 5 minutes: ${COUNT}. Penstock keeps below what the policy declares, so the quota in the policy is wrong, or somebody else uses it. Penstock holds the lane by itself; the pushed alert QuotaModelWrong says what it found.`,
    },
    DownstreamPaused: {
      severity: 'critical',
      expr: `count by (${LANE}) (${select('paused')} == 1)`,
      summary: `${THE} is paused for {{ $labels.job }}: new calls are refused`,
      description: `Processes that refuse new calls at once (RATE_LIMITED): ${COUNT}.${LONGEST_HOLD} The lane opens by itself when the hold ends.`,
    },
  },
};

const WAITING: RuleGroup = {
  name: 'penstock-waits',
  recordings: [
    {
      record: P95,
      // No number where nothing waited: an average over it would be none either.
      expr: `histogram_quantile(0.95, sum by (${LANE}, le) (rate(${select('wait', { outcome: '!="refused"' }, '_bucket')}[10m]))) >= 0`,
    },
    {
      record: WAITS,
      expr: `sum by (${LANE}) (increase(${select('wait', { outcome: '!="refused"' }, '_count')}[10m]))`,
    },
    { record: P95_YESTERDAY, expr: yesterday(P95) },
    { record: WAITS_YESTERDAY, expr: yesterday(WAITS) },
  ],
  alerts: {
    DownstreamWaitRising: {
      severity: 'warning',
      expr: `${P95} > 2 * ${P95_YESTERDAY}\nand\n${P95} - ${P95_YESTERDAY} > 100\nand\n${WAITS} >= 30\nand\n${WAITS_YESTERDAY} >= 30`,
      for: '15m',
      summary: `Calls of {{ $labels.job }} wait longer for ${THE} than yesterday`,
      description: `The p95 wait of the last 10 minutes is {{ $value | printf "%.0f" }} ms.${ofLane(
        (more) => `${P95_YESTERDAY}{${more}}`,
        ' Yesterday at this time it was {{ . | first | value | printf "%.0f" }} ms.',
      )} It has been more than twice that for 15 minutes.`,
    },
  },
};

const REFUSING: RuleGroup = {
  name: 'penstock-refusals',
  recordings: [],
  alerts: {
    DownstreamDeadlinesMissed: {
      severity: 'warning',
      expr: refusedShare(LANE, { errorType: '="DEADLINE_EXCEEDED"' }),
      for: '2m',
      summary: `${THE} is too slow for the deadlines of {{ $labels.job }}`,
      description: `{{ $value | humanizePercentage }} of the calls of the last 5 minutes were refused because they could not start before their deadline.`,
    },
    DownstreamRefusing: {
      severity: 'warning',
      expr: refusedShare(`${LANE}, ${CODE}`, {
        errorType: `!~"DEADLINE_EXCEEDED|DISPATCHER_CLOSED|CANCELLED|${MISTAKES}"`,
      }),
      for: '2m',
      summary: `Calls of {{ $labels.job }} to ${THE} are refused: {{ $labels.${CODE} }}`,
      description: `{{ $value | humanizePercentage }} of the calls of the last 5 minutes were refused with {{ $labels.${CODE} }}.`,
    },
    DownstreamCallsInvalid: {
      severity: 'warning',
      expr: `sum by (${LANE}, ${CODE}) (increase(${select('admissions', { outcome: '="refused"', errorType: `=~"${MISTAKES}"` })}[15m])) > 0`,
      summary: `{{ $labels.job }} calls ${THE} in a way that cannot succeed: {{ $labels.${CODE} }}`,
      description: `Calls refused with {{ $labels.${CODE} }} in 15 minutes: ${COUNT}. No waiting cures that: the calling code or the policy has to change.`,
    },
  },
};

/** A rate so low that minutes without a start are ordinary. */
const SLOW = 0.01;

/** Judged per process: a lane that stands still in one of forty is drowned by the others. */
function standing(): string {
  const each = `job, instance, ${DOWNSTREAM}`;
  const slowest = `min by (${each}) (${select('rateSized')} > 0)`;
  return [
    `count by (${LANE}) (`,
    `  sum by (${each}) (${select('queueLength')}) > 0`,
    `  and sum by (${each}) (increase(${select('admissions', { outcome: '="started"' })}[5m])) == 0`,
    `  and max by (${each}) (${select('hold')}) == 0`,
    `  unless ${slowest} < ${SLOW}`,
    ')',
  ].join('\n');
}

const STANDING: RuleGroup = {
  name: 'penstock-lanes',
  recordings: [{ record: QUEUE, expr: `sum by (${LANE}) (${select('queueLength')})` }],
  alerts: {
    DownstreamQueueGrowing: {
      severity: 'warning',
      // The lowest of now above the highest of before, and still rising: a fan-out that drains is neither.
      expr: `${QUEUE} > 10\nand\nmin_over_time(${QUEUE}[5m]) > max_over_time(${QUEUE}[5m] offset 10m)\nand\nderiv(${QUEUE}[5m]) > 0`,
      for: '10m',
      summary: `The queue of {{ $labels.job }} for ${THE} only grows`,
      description: `Calls that wait: ${COUNT}. For 20 minutes more have come in than could start.${ofLane(
        (more) => `deriv(${QUEUE}{${more}}[15m]) * 60`,
        ' It grows by {{ . | first | value | printf "%.1f" }} calls a minute.',
      )}`,
    },
    DownstreamStalled: {
      severity: 'critical',
      expr: standing(),
      for: '5m',
      summary: `Nothing starts any more: {{ $labels.job }} to ${THE}`,
      description: `Calls wait, no hold is in force, and none has started for 5 minutes. Processes in which it is so: ${COUNT}. Most likely every place (maxConcurrent) is held by a call that does not end.`,
    },
    DownstreamOrphaned: {
      severity: 'warning',
      expr: `sum by (${LANE}) (${select('orphaned')}) > 0`,
      for: '5m',
      summary: `Calls of {{ $labels.job }} to ${THE} do not end`,
      description: `Calls that outlived their end and their grace and still have not settled: ${COUNT}. Each may hold a connection.`,
    },
  },
};

const HOUSEKEEPING: RuleGroup = {
  name: 'penstock-housekeeping',
  recordings: [],
  alerts: {
    DownstreamNotEnforced: {
      severity: 'info',
      expr: `count by (${LANE}, mode) (${select('mode', { mode: '=~"observe|off"' })} == 1)`,
      for: '8d',
      summary: `${THE} has been in mode {{ $labels.mode }} for more than a week`,
      description: `Processes of {{ $labels.job }} that let every call through: ${COUNT}. A week of observing is enough to judge the limits.`,
    },
    PenstockAlertsDropped: {
      severity: 'warning',
      expr: `sum by (job, sink) (increase(${select('alertsDropped')}[15m])) > 0`,
      summary: `Alerts of {{ $labels.job }} did not reach {{ $labels.sink }}`,
      description: `Alerts dropped in 15 minutes: ${COUNT}. Until the sink works again, these rules are the only word.`,
    },
    PenstockPolicySplit: {
      severity: 'warning',
      expr: `count by (job) (count by (job, ${label('hash')}) (${select('policy')} == 1)) > 1`,
      for: '30m',
      summary: '{{ $labels.job }} runs several policies at once',
      description: `Policies in force for the last 30 minutes: ${COUNT}. Some processes did not take the last change, or were started with another file or environment.`,
    },
  },
};

export const GROUPS: readonly RuleGroup[] = [THROTTLED, WAITING, REFUSING, STANDING, HOUSEKEEPING];

/** Every alert by name, in the order of the file. */
export const RULES: readonly (readonly [name: string, rule: AlertRule])[] = GROUPS.flatMap(({ alerts }) =>
  Object.entries(alerts),
);
