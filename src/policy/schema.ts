import * as z from 'zod';
import { HOST_PATTERN, readHostPattern } from '../base/hosts.ts';
import { alertsSchema } from './alerts-schema.ts';
import {
  duration,
  durationOrZero,
  option,
  POSITIVE_DURATION_WORDS,
  whole,
  words,
  ZERO_DURATION_WORDS,
} from './fields.ts';
import { MOST_MUTE_DAYS, MUTE_FORM, MUTE_PATTERN } from './mute.ts';
import { PROFILE_NAMES } from './profile.ts';
import { UNIT_PATTERN } from './quota.ts';
import { holds } from './schema-holds.ts';
import { limits } from './schema-limits.ts';
import { DEFAULTS, HOST_WORDS } from './values.ts';

/** What all others stand on. */
const ground = {
  profile: option(z.enum(PROFILE_NAMES), {
    expected: 'the name of a profile, such as arxiv (penstock profiles lists them)',
    meaning:
      'What is known of a public API (quota, concurrency, hosts, statuses), each figure with its source: see docs/profiles.md. Your own options take the place of its values',
    default: 'none',
  }).optional(),
};

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
  defaultCost: option(z.union([whole(1), z.record(z.string().regex(UNIT_PATTERN), option(whole(1), costNote()))]), {
    expected: 'a whole number of requests, 1 or more, or whole numbers by unit: { tokens: 2000 }',
    meaning: 'What a call takes that does not say; needed for every other unit that is declared',
    default: '{ requests: 1 }',
  }).optional(),
  maxRun: option(duration(), {
    expected: POSITIVE_DURATION_WORDS,
    meaning: 'Longest run of `fn`; then as at a deadline',
    default: `${DEFAULTS.maxRun} where maxConcurrent is set, else omitted`,
  }).optional(),
  leaseGrace: option(z.union([durationOrZero(), z.literal('never')]), {
    expected: `${ZERO_DURATION_WORDS}, or never`,
    meaning: 'How long an unsettled call keeps its place after its end; `never` where a second connection must not be',
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

/** What a mode may be, to follow "expected". */
export const MODE_WORDS = 'enforce, observe or off';

function modeOption() {
  return option(z.enum(['enforce', 'observe', 'off']), {
    expected: MODE_WORDS,
    meaning:
      'What Penstock does: `enforce` makes calls wait or refuses them; with `observe` every call starts at once, the lane keeps its books as if it enforced and reports what it would have done; `off`: neither. `PENSTOCK_MODE` sets it for all, and `setMode` at run time',
    value: 'enforce',
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
  engine: option(z.enum(['penstock', 'bottleneck']), {
    expected: 'penstock or bottleneck',
    meaning:
      'What hands out turns: our own lane, or a Bottleneck limiter made from these limits or handed to `createDispatcher` (docs/from-bottleneck.md)',
    default: 'penstock, unless the program hands in an engine',
  }).optional(),
  workers: option(whole(1), {
    expected: 'a whole number, 1 or more',
    meaning:
      'Processes or threads that share the quota without a shared store: each takes its share (of `maxConcurrent` too; `minInterval` is multiplied)',
    value: DEFAULTS.workers,
  }).optional(),
  earlyAlerts: option(z.boolean(), {
    expected: 'true or false',
    meaning:
      'Whether `QuotaDrift` (the server names another limit) and `OtherConsumer` (somebody else uses the quota) are raised from headers, before any 429',
    value: true,
  }).optional(),
  hosts: option(z.array(option(z.string().regex(HOST_PATTERN).refine(isHost), hostNote())), {
    expected: 'a list of hosts, such as [api.example.com]',
    meaning:
      'Hosts that belong to this downstream, for `penstock/fetch`, `penstock/undici` and the guard: exact, `*.example.com` for all below it, `*` for any host; with a port, only that port. The most exact one wins',
    default: 'none',
  }).optional(),
  requiresUserAgent: option(words(), {
    expected: 'a text: why',
    meaning:
      'The host wants to know who calls: HTTP adapters refuse a request without a `User-Agent`, with this reason',
    default: 'none',
  }).optional(),
  retriesOff: option(words(), {
    expected: 'a text, such as maxRetries: 0',
    meaning:
      "The option that switches off the retries of this downstream's client: named where hidden retries are seen",
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
    default: "the alert's section of docs/runbook.md",
  }).optional(),
  mute: muteOption(),
  classify: option(words(), {
    expected: 'the name of a classifier',
    meaning:
      'Name of a classifier: ready-made (`graphql`, `mcpToolResult`, `awsPartial`) or passed to `createDispatcher`; without it, one passed under the name of the downstream',
    default: 'none',
  }).optional(),
};

function muteOption() {
  const until = option(z.string().regex(MUTE_PATTERN), { expected: MUTE_FORM, meaning: 'When sinks hear of it again' });
  const reason = option(words(), { expected: 'a text', meaning: 'Why, for whoever reads the policy' });
  return option(z.strictObject({ until, reason }), {
    expected: 'an object: { until, reason }',
    meaning: `No sink hears of this downstream \`until\` then (required, at most ${MOST_MUTE_DAYS} days ahead), for a \`reason\`; metrics, events and \`onAlert\` go on`,
    default: 'none',
  }).optional();
}

function hostNote() {
  return { expected: HOST_WORDS, meaning: 'One host' };
}

function isHost(text: string): boolean {
  return readHostPattern(text) !== undefined;
}

/** Every option of a downstream, in the order in which the options table shows them. */
export const downstreamSchema = option(z.strictObject({ ...ground, ...limits, ...holds, ...turns, ...identity }), {
  expected: 'an object of options; {} for a downstream without limits',
  meaning: 'The options of one downstream',
  id: 'downstream',
});

/** The whole policy. Downstreams are parsed one by one, so that their names may be any text. */
export const policySchema = z.strictObject({
  $schema: z.string().optional(),
  mode: modeOption(),
  defaults: downstreamSchema.optional(),
  alerts: alertsSchema.optional(),
  downstreams: option(z.record(z.string().min(1), downstreamSchema), {
    expected: 'an object: the name of each downstream, and its options',
    meaning: 'The downstreams by name',
  }),
});
