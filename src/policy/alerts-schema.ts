import * as z from 'zod';
import type { AlertName, AlertSeverity } from '../base/alert.ts';
import { REFERENCE_FORM, REFERENCE_PATTERN } from '../base/secrets.ts';
import { option, words } from './fields.ts';

export const SEVERITIES = ['info', 'warning', 'critical'] as const satisfies readonly AlertSeverity[];
export const ALERT_NAMES = [
  'QuotaModelWrong',
  'QuotaExhausted',
  'QuotaDrift',
  'OtherConsumer',
  'LaneStalled',
  'UngatedRequest',
  'PolicyRejected',
  'SinkFailing',
] as const satisfies readonly AlertName[];

function oneOrMore<T extends z.ZodType>(one: T, expected: string, meaning: string) {
  return option(z.union([one, z.array(one).min(1)]), {
    expected: `${expected}, or a list of these`,
    meaning,
  }).optional();
}

function reference(meaning: string) {
  return option(z.string().regex(REFERENCE_PATTERN), { expected: REFERENCE_FORM, meaning });
}

function address(meaning: string) {
  return option(z.string().regex(/^https?:\/\/\S+$/), {
    expected: 'an address that begins with http:// or https://',
    meaning,
  });
}

/** One schema for all, so that the JSON Schema says it once. */
const filterSchema = option(
  z.strictObject({
    severity: oneOrMore(z.enum(SEVERITIES), SEVERITIES.join(', '), 'Severities that it gets'),
    owner: oneOrMore(words(), 'an owner', 'Owners of downstreams whose alerts it gets'),
    downstream: oneOrMore(words(), 'a downstream', 'Downstreams whose alerts it gets'),
    name: oneOrMore(z.enum(ALERT_NAMES), 'the name of an alert', 'Alerts that it gets'),
  }),
  {
    expected: 'an object: { severity, owner, downstream, name }, each one value or a list',
    meaning: 'Which alerts this sink gets: those that match everything that is said here',
    default: 'all',
    id: 'sinkFilter',
  },
);

/** What every sink may say. */
function common() {
  return {
    name: option(z.string().regex(/^[\w.-]{1,60}$/), {
      expected: 'a short name of letters, digits, _, . and -',
      meaning: 'What `penstock alerts test` and counts of lost alerts call this sink',
      default: 'its kind',
    }).optional(),
    only: filterSchema.optional(),
  };
}

/** The options of each kind of sink. */
export const sinkSchemas = {
  stderr: z.strictObject({
    format: option(z.enum(['block', 'json']), {
      expected: 'block or json',
      meaning: 'A block for people or one line of JSON for machines',
      default: 'block on a terminal, else json',
    }).optional(),
    ...common(),
  }),
  jsonl: z.strictObject({
    path: option(words(), {
      expected: 'the path of a file, relative to the working directory',
      meaning: 'File that one line of JSON is appended to per incident; folders are made',
    }),
    ...common(),
  }),
  webhook: z.strictObject({
    url: address('Where CloudEvents are posted, where the address is no secret').optional(),
    urlFrom: reference('Where CloudEvents are posted, by the name of a secret').optional(),
    signingSecretFrom: reference('Secret that signs each request as Standard Webhooks do').optional(),
    authorizationFrom: reference('Whole value of the header authorization').optional(),
    headersFrom: option(z.record(z.string(), reference('Value of this header')), {
      expected: `an object: names of headers, and for each ${REFERENCE_FORM}`,
      meaning: 'Further headers, their values named as secrets',
    }).optional(),
    ...common(),
  }),
  alertmanager: z.strictObject({
    url: option(z.union([address('One Alertmanager'), z.array(address('One Alertmanager')).min(1)]), {
      expected: 'an address such as http://127.0.0.1:9093, or a list of these',
      meaning:
        'Where Alertmanager answers, without /api/v2/alerts; every member of a highly available set is told everything',
    }),
    labels: option(z.record(z.string(), z.string()), {
      expected: 'an object of texts, such as { team: delivery }',
      meaning: 'Labels that every alert gets besides its own',
      default: 'none',
    }).optional(),
    username: option(words(), { expected: 'a text', meaning: 'User for basic authentication' }).optional(),
    passwordFrom: reference('Password for basic authentication').optional(),
    bearerFrom: reference('Token for bearer authentication').optional(),
    ...common(),
  }),
  pagerduty: z.strictObject({
    routingKeyFrom: reference('Integration key of an Events API v2 integration'),
    url: address('Where events are posted: in the EU https://events.eu.pagerduty.com/v2/enqueue').optional(),
    ...common(),
  }),
  slack: z.strictObject({ webhookFrom: reference('Address of an incoming webhook'), ...common() }),
  otel: z.strictObject(common()),
};

/** Sinks that need no option. */
export const BARE_SINKS = ['stderr', 'otel'] as const;

/** One entry of `alerts`: a bare name, or an object with one kind and its options. */
function entry() {
  const { stderr, jsonl, webhook, alertmanager, pagerduty, slack, otel } = sinkSchemas;
  return z.union([
    z.enum(BARE_SINKS),
    z.strictObject({ stderr: z.union([stderr, z.null()]) }),
    z.strictObject({ jsonl }),
    z.strictObject({ webhook }),
    z.strictObject({ alertmanager }),
    z.strictObject({ pagerduty }),
    z.strictObject({ slack }),
    z.strictObject({ otel: z.union([otel, z.null()]) }),
  ]);
}

/** The list at the top of a policy, for editors; `planAlerts` checks it, for its messages must not repeat what may be a secret. */
export const alertsSchema = option(z.array(entry()), {
  expected: 'a list of sinks, such as [{ slack: { webhookFrom: SLACK_WEBHOOK_URL } }]',
  meaning: 'Where incidents are delivered; an empty list is silence',
  default: '[stderr]',
});
