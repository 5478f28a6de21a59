import * as z from 'zod';
import { REQUESTS } from '../base/words.ts';
import {
  duration,
  durationOrZero,
  option,
  POSITIVE_DURATION_WORDS,
  whole,
  words,
  ZERO_DURATION_WORDS,
} from './fields.ts';
import { QUOTA_PATTERN, readQuota, UNIT_PATTERN, WINDOW_PATTERN } from './quota.ts';
import { DEFAULTS } from './values.ts';

/** Windows below a millisecond are below the resolution of timers. */
const LONGEST_WINDOW_MS = 366 * 86_400_000;
const QUOTA_WORDS =
  'a text such as "60/minute", "1/3s" or "200000 tokens/minute", or { limit, per, unit?, burst?, providerBurst? }; limits are whole numbers, 1 or more, and windows 1ms to 366d';

function quotaObject() {
  return z.strictObject({
    limit: option(whole(1), { expected: 'a whole number, 1 or more', meaning: 'Units per window' }),
    per: option(
      z.union([
        z.number().min(1).max(LONGEST_WINDOW_MS),
        z
          .string()
          .regex(WINDOW_PATTERN)
          .refine((text) => isWindow(readQuota({ limit: 1, per: text })?.windowMs)),
      ]),
      {
        expected: 'a window of 1ms to 366d: "second", "minute", "hour", "day", "3s", or milliseconds',
        meaning: 'Length of the window',
      },
    ),
    unit: option(z.string().regex(UNIT_PATTERN), {
      expected: 'a name that starts with a letter, such as tokens',
      meaning: 'What is counted',
      value: REQUESTS,
    }).optional(),
    burst: option(whole(1), {
      expected: 'a whole number, 1 or more',
      meaning: 'Size of our bucket for this quota',
      default: 'half of what utilization leaves',
    }).optional(),
    providerBurst: option(whole(1), {
      expected: 'a whole number, 1 or more',
      meaning:
        "Size of the bucket that the provider itself runs; our burst is then utilization times this, and the window rule gives way to the provider's own promise",
    }).optional(),
  });
}

function isWindow(ms: number | undefined): boolean {
  return ms !== undefined && ms >= 1 && ms <= LONGEST_WINDOW_MS;
}

function oneQuota() {
  const text = z
    .string()
    .regex(QUOTA_PATTERN)
    .refine((value) => {
      const quota = readQuota(value);
      return quota !== undefined && Number.isSafeInteger(quota.limit) && isWindow(quota.windowMs);
    });
  return option(z.union([text, quotaObject()]), { expected: QUOTA_WORDS, meaning: 'One declared quota' });
}

const cooldown = option(
  z.strictObject({
    base: option(duration(), {
      expected: POSITIVE_DURATION_WORDS,
      meaning: 'First hold; doubled with each 429 in a row',
      value: DEFAULTS.cooldownBase,
    }).optional(),
    max: option(duration(), {
      expected: POSITIVE_DURATION_WORDS,
      meaning: 'Longest hold that Penstock chooses itself',
      value: DEFAULTS.cooldownMax,
    }).optional(),
    ladder: option(z.array(option(duration(), ladderStep())).min(1), {
      expected: 'a list of durations, such as [2m, 5m, 15m, 30m, 60m]',
      meaning: 'Explicit steps instead of doubling; the last one repeats',
    }).optional(),
  }),
  {
    expected: '{ base?, max?, ladder? }',
    meaning:
      'Holds for a 429 without a hint; `ladder: [2m, 5m, 15m, 30m, 60m]` instead of doubling from `base` to `max`',
    default: `{ base: ${DEFAULTS.cooldownBase}, max: ${DEFAULTS.cooldownMax} }`,
  },
);

function ladderStep() {
  return { expected: POSITIVE_DURATION_WORDS, meaning: 'One step of the ladder' };
}

const warm = option(
  z.strictObject({
    for: option(durationOrZero(), {
      expected: ZERO_DURATION_WORDS,
      meaning: 'How long the gentler pace lasts; 0 for none',
      default: `the longest request window, at most ${DEFAULTS.warmMost} (${DEFAULTS.warmWithoutQuota} without a quota)`,
    }).optional(),
    rateFactor: option(z.number().positive().max(1), {
      expected: 'a number above 0, at most 1',
      meaning: 'Share of the usual rate while warm',
      value: DEFAULTS.rateFactor,
    }).optional(),
    spacing: option(durationOrZero(), {
      expected: ZERO_DURATION_WORDS,
      meaning: 'Least time between starts while warm, for a downstream without a quota',
      value: DEFAULTS.spacing,
    }).optional(),
  }),
  {
    expected: '{ for?, rateFactor?, spacing? }',
    meaning: 'Gentler pace after a hold',
    default: `{ for: the longest request window, at most ${DEFAULTS.warmMost} (${DEFAULTS.warmWithoutQuota} without quota), rateFactor: ${DEFAULTS.rateFactor}, spacing: ${DEFAULTS.spacing} }`,
  },
);

/** Options that decide when a call may start. */
const limits = {
  quota: option(z.union([oneQuota(), z.array(oneQuota()).min(1)]), {
    expected: `${QUOTA_WORDS}; or a list of these`,
    meaning:
      'What the downstream declares: one or several quotas, each `"<limit>[ <unit>]/<window>"` or an object',
    default: 'none: no rate limit',
  }).optional(),
  utilization: option(z.number().positive().max(1), {
    expected: 'a number above 0, at most 1',
    meaning: 'Share of every declared quota that is used, (0, 1]',
    value: DEFAULTS.utilization,
  }).optional(),
  burst: option(whole(1), {
    expected: 'a whole number, 1 or more',
    meaning:
      'Bucket size, for the request quota with the shortest window (others: in the object form). At 1 every late timer is lost for good: about 98 % of the rate at 100/s, 85 % at 1,000/s',
    default: 'half of what `utilization` leaves, at least 1',
  }).optional(),
  maxConcurrent: option(whole(1), {
    expected: 'a whole number, 1 or more (omit it for no limit)',
    meaning: 'Most calls in flight',
    default: 'omitted: unlimited',
  }).optional(),
  minInterval: option(duration(), {
    expected: POSITIVE_DURATION_WORDS,
    meaning: 'Least time between two starts',
    default: 'omitted: none',
  }).optional(),
  maxQueueDepth: option(whole(0), {
    expected: 'a whole number, 0 or more (omit it for no limit)',
    meaning: 'Most waiters; 0 refuses whatever cannot start at once',
    default: 'omitted: unlimited',
  }).optional(),
  maxWait: option(durationOrZero(), {
    expected: ZERO_DURATION_WORDS,
    meaning: 'Longest wait in the lane; 0 refuses whatever cannot start at once',
    default: 'omitted: the deadline alone decides',
  }).optional(),
};

/** Options that say what follows a 429. */
const holds = {
  pauseAbove: option(durationOrZero(), {
    expected: ZERO_DURATION_WORDS,
    meaning:
      'With more than this left of it, a hold is a pause: new work is refused rather than queued. Never less than `cooldown.max`, unless there is a `ladder`',
    value: DEFAULTS.pauseAbove,
  }).optional(),
  whilePaused: option(z.enum(['refuse', 'wait']), {
    expected: 'refuse or wait',
    meaning: 'What a paused lane does with calls that do not say how long they can wait',
    value: DEFAULTS.whilePaused,
  }).optional(),
  cooldown: cooldown.optional(),
  warm: warm.optional(),
  throttleStatuses: option(z.array(option(whole(400, 599), statusNote())).min(1), {
    expected: 'a list of HTTP statuses, 400 to 599',
    meaning: 'Statuses that mean throttled; add 403 where a provider does that',
    value: DEFAULTS.throttleStatuses,
  }).optional(),
  maxHold: option(duration(), {
    expected: POSITIVE_DURATION_WORDS,
    meaning: 'Longest hold taken from a hint',
    value: DEFAULTS.maxHold,
  }).optional(),
};

function statusNote() {
  return { expected: 'an HTTP status, 400 to 599', meaning: 'One status' };
}

/** Options that order waiters and bound runs. */
const turns = {
  priority: option(z.enum(['interactive', 'normal', 'batch']), {
    expected: 'interactive, normal or batch',
    meaning: 'Class of calls that name none',
    value: DEFAULTS.priority,
  }).optional(),
  lowerShare: option(z.number().min(0).max(1), {
    expected: 'a number from 0 to 1',
    meaning:
      'Share of starts that go to the longest waiter of all, so that no class starves (0: off; 1: order of arrival)',
    value: DEFAULTS.lowerShare,
  }).optional(),
  fairness: option(z.enum(['runs', 'off']), {
    expected: 'runs or off',
    meaning: 'Runs take turns within a class; `off`: plain order of arrival',
    value: DEFAULTS.fairness,
  }).optional(),
  defaultCost: option(
    z.union([whole(1), z.record(z.string().regex(UNIT_PATTERN), option(whole(1), costNote()))]),
    {
      expected: 'a whole number of requests, 1 or more, or whole numbers by unit: { tokens: 2000 }',
      meaning: 'What a call takes that does not say; needed for every other unit that is declared',
      default: '{ requests: 1 }',
    },
  ).optional(),
  maxRun: option(duration(), {
    expected: POSITIVE_DURATION_WORDS,
    meaning: 'Longest run of `fn`; then as at a deadline',
    default: `${DEFAULTS.maxRun} where maxConcurrent is set, else omitted`,
  }).optional(),
  leaseGrace: option(z.union([durationOrZero(), z.literal('never')]), {
    expected: `${ZERO_DURATION_WORDS}, or never`,
    meaning:
      'How long an unsettled call keeps its place after its end; `never` where a second connection must not be',
    value: DEFAULTS.leaseGrace,
  }).optional(),
  idempotent: option(z.boolean(), {
    expected: 'true or false',
    meaning: 'Repeating a call that may have run is safe (decides `retryable` once `fn` has started)',
    value: false,
  }).optional(),
};

function costNote() {
  return { expected: 'a whole number, 1 or more', meaning: 'Permits of this unit' };
}

function modeOption() {
  return option(z.literal('enforce'), {
    expected: 'enforce',
    meaning: 'What Penstock does: `enforce` makes calls wait or refuses them',
    value: 'enforce',
    later: ['observe', 'off'],
  }).optional();
}

/** Options that say what a downstream is. */
const identity = {
  mode: modeOption(),
  maxAccounts: option(whole(1), {
    expected: 'a whole number, 1 or more',
    meaning:
      'Lanes kept for `ctx.account`; forgotten are only idle ones that nothing would miss; when none can be, a new account is refused',
    value: DEFAULTS.maxAccounts,
  }).optional(),
  unlimited: option(z.boolean(), {
    expected: 'true or false',
    meaning: 'No admission control at all; calls are still measured',
    value: false,
  }).optional(),
  workers: option(whole(1), {
    expected: 'a whole number, 1 or more',
    meaning:
      'Processes or threads that share the quota without a shared store: each takes its share (of `maxConcurrent` too; `minInterval` is multiplied)',
    value: DEFAULTS.workers,
  }).optional(),
  hosts: option(z.array(option(z.string().regex(/^[^\s/:@]+(:\d+)?$/), hostNote())), {
    expected: 'a list of host names, such as [api.example.com]',
    meaning: 'Hosts that belong to this downstream, for the HTTP adapters',
    default: 'none',
  }).optional(),
  owner: option(words(), {
    expected: 'a text',
    meaning: 'Who is told, for alerts',
    default: 'none',
  }).optional(),
  source: option(words(), {
    expected: 'a text',
    meaning: 'Where the quota was read, for alerts',
    default: 'none',
  }).optional(),
  runbook: option(words(), {
    expected: 'a text, mostly a URL',
    meaning: 'What to do, for alerts',
    default: 'none',
  }).optional(),
  classify: option(words(), {
    expected: 'the name of a classifier',
    meaning: 'A ready-made classifier by name (`graphql`, ...), or one passed to `createDispatcher`',
    default: 'none',
  }).optional(),
};

function hostNote() {
  return { expected: 'a host name without scheme or path, such as api.example.com', meaning: 'One host' };
}

/** Every option of a downstream, in the order in which the options table shows them. */
export const downstreamSchema = option(z.strictObject({ ...limits, ...holds, ...turns, ...identity }), {
  expected: 'an object of options; {} for a downstream without limits',
  meaning: 'The options of one downstream',
});

/** The whole policy. Downstreams are parsed one by one, so that their names may be any text. */
export const policySchema = z.strictObject({
  $schema: z.string().optional(),
  mode: modeOption(),
  defaults: downstreamSchema.optional(),
  downstreams: option(z.record(z.string().min(1), downstreamSchema), {
    expected: 'an object: the name of each downstream, and its options',
    meaning: 'The downstreams by name',
  }),
});
