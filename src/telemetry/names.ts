/** Instrumentation scope of every span and metric. */
export const SCOPE = 'penstock';

/** Metric attribute value for a downstream that no policy names, so that a misspelt or made-up name adds no series. */
export const OTHER = '_OTHER';

/** One instrument, as it is registered and as docs/telemetry.md lists it. */
export interface MetricSpec {
  readonly name: string;
  readonly kind: 'histogram' | 'counter' | 'gauge';
  /** UCUM, as OpenTelemetry writes it. */
  readonly unit: string;
  readonly description: string;
  readonly attributes: readonly string[];
  /** Upper bounds of the buckets (`histogram`), in `unit`. */
  readonly boundaries?: readonly number[];
}

/** From one millisecond to the longest wait that `pauseAbove` lets a call sit through by default. */
const MS_BOUNDARIES: readonly number[] = [
  1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
];

/** Attribute keys of metrics and spans. */
export const ATTRIBUTE = {
  downstream: 'downstream',
  outcome: 'outcome',
  priority: 'priority',
  errorType: 'error.type',
  quota: 'quota',
  cause: 'cause',
  sink: 'sink',
  mode: 'mode',
  hash: 'hash',
  serverAddress: 'server.address',
} as const;

/** Every metric: the one home of names, units and descriptions. */
export const METRICS = {
  wait: {
    name: 'downstream.wait_ms',
    kind: 'histogram',
    unit: 'ms',
    description: 'Time a call spent in the lane until it started, was refused or was aborted.',
    attributes: ['downstream', 'outcome', 'priority'],
    boundaries: MS_BOUNDARIES,
  },
  wouldWait: {
    name: 'downstream.would_wait_ms',
    kind: 'histogram',
    unit: 'ms',
    description:
      'Time a call of a downstream that is only observed would have waited until its start (started) or refusal (would_refuse).',
    attributes: ['downstream', 'outcome', 'priority'],
    boundaries: MS_BOUNDARIES,
  },
  call: {
    name: 'downstream.call_ms',
    kind: 'histogram',
    unit: 'ms',
    description: 'Time the call itself took, from its start to its end.',
    attributes: ['downstream', 'outcome'],
    boundaries: MS_BOUNDARIES,
  },
  admissions: {
    name: 'downstream.admissions',
    kind: 'counter',
    unit: '{call}',
    description:
      'Calls that were started, refused (error.type says why) or aborted before they started; would_refuse: started, and refused had the downstream not been only observed.',
    attributes: ['downstream', 'outcome', 'error.type'],
  },
  throttled: {
    name: 'downstream.throttled',
    kind: 'counter',
    unit: '{call}',
    description: 'Calls the downstream answered with its own rate limit: each one says that the quota model is wrong.',
    attributes: ['downstream'],
  },
  queueLength: {
    name: 'downstream.queue.length',
    kind: 'gauge',
    unit: '{call}',
    description: 'Calls that wait now.',
    attributes: ['downstream', 'priority'],
  },
  queueOldest: {
    name: 'downstream.queue.oldest_ms',
    kind: 'gauge',
    unit: 'ms',
    description: 'How long the oldest waiting call has waited so far.',
    attributes: ['downstream', 'priority'],
  },
  expectedWait: {
    name: 'downstream.expected_wait_ms',
    kind: 'gauge',
    unit: 'ms',
    description: 'What a new call would wait now.',
    attributes: ['downstream'],
  },
  inFlight: {
    name: 'downstream.in_flight',
    kind: 'gauge',
    unit: '{call}',
    description: 'Calls that have started and not settled.',
    attributes: ['downstream'],
  },
  orphaned: {
    name: 'downstream.orphaned',
    kind: 'gauge',
    unit: '{call}',
    description:
      'Calls that outlived their end and their grace: their place was given back, they still have not settled.',
    attributes: ['downstream'],
  },
  permits: {
    name: 'downstream.permits',
    kind: 'gauge',
    unit: '{permit}',
    description: 'Permits in the bucket now; negative while a debt is repaid.',
    attributes: ['downstream', 'quota'],
  },
  rateDeclared: {
    name: 'downstream.rate.declared',
    kind: 'gauge',
    unit: '{permit}/s',
    description: 'Rate that the downstream declares.',
    attributes: ['downstream', 'quota'],
  },
  rateSized: {
    name: 'downstream.rate.sized',
    kind: 'gauge',
    unit: '{permit}/s',
    description: 'Rate that this process uses of it.',
    attributes: ['downstream', 'quota'],
  },
  hold: {
    name: 'downstream.hold_ms',
    kind: 'gauge',
    unit: 'ms',
    description: 'Time left until a hold ends; 0 where there is none.',
    attributes: ['downstream', 'cause'],
  },
  paused: {
    name: 'downstream.paused',
    kind: 'gauge',
    unit: '1',
    description: '1 while a hold is so long that new work is refused, else 0.',
    attributes: ['downstream'],
  },
  mode: {
    name: 'downstream.mode',
    kind: 'gauge',
    unit: '1',
    description: '1 for the mode in force (enforce, observe, off), 0 for the others.',
    attributes: ['downstream', 'mode'],
  },
  policy: {
    name: 'downstream.policy',
    kind: 'gauge',
    unit: '1',
    description: '1, with the hash of the policy that this process runs.',
    attributes: ['hash'],
  },
  alertsDropped: {
    name: 'downstream.alerts.dropped',
    kind: 'counter',
    unit: '{alert}',
    description: 'Alerts that a sink never received.',
    attributes: ['sink'],
  },
  unclaimed: {
    name: 'downstream.unclaimed_requests',
    kind: 'counter',
    unit: '{request}',
    description:
      'Requests of this process to hosts that belong to no downstream, while watchUngated watches; the first 50 hosts, the others as _OTHER.',
    attributes: ['server.address'],
  },
} as const satisfies Record<string, MetricSpec>;

/** Name of the only span. */
export const WAIT_SPAN = 'downstream.wait';

/** Attribute keys of the span. */
export const SPAN_ATTRIBUTE = {
  downstream: 'downstream',
  peer: 'service.peer.name',
  waitMs: 'downstream.wait_ms',
  outcome: 'downstream.outcome',
  limitedBy: 'downstream.limited_by',
  position: 'downstream.queue.position',
  tool: 'gen_ai.tool.name',
  errorType: 'error.type',
  /** Of a span that stands for many calls: how many, the shortest of their waits, and the sum of them. */
  groupCount: 'downstream.group.count',
  groupLeast: 'downstream.group.wait_ms_min',
  groupSum: 'downstream.group.wait_ms_sum',
  /** Of the last span of a crowd that was too large: what has no span. */
  leftOutTraces: 'downstream.left_out.traces',
  leftOutCalls: 'downstream.left_out.calls',
} as const;
