import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { addressProblem } from '../../src/base/secrets.ts';
import { PolicyError } from '../../src/index.ts';
import { rejectionText } from '../../src/policy/rejection.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';

const SECRET = 'https://hooks.slack.com/services/T0/B0/MARKEDmarked1234567890abcd';
const KEY = 'MARKEDmarked1234567890abcd';
const list = [{ slack: { webhook: SECRET } }];
const carrier = { quota: '60/minute' };
const downstreams = { carrier };

test.each<unknown>([
  { alert: list, downstreams },
  { Alerts: list, downstreams },
  { sinks: list, downstreams },
  { mode: list, downstreams },
  { slack: { webhook: SECRET }, downstreams },
  { webhookFrom: SECRET, downstreams },
  { defaults: { alerts: list }, downstreams },
  { downstreams: { carrier: { ...carrier, alerts: list } } },
  { downstreams: { carrier: { ...carrier, webhook: SECRET } } },
  { downstreams: { carrier: { ...carrier, apiKey: KEY } } },
  { downstreams: { carrier: { ...carrier, quota: KEY } } },
  { downstreams: { carrier: { ...carrier, mute: { until: '2026-01-02', reason: 'x', slack: SECRET } } } },
  { downstreams: { carrier, alerts: list } },
  { downstreams: [{ alerts: list }] },
  { downstreams: SECRET },
  list,
  SECRET,
  { alerts: [{ slack: { webhookFrom: 'X', only: JSON.parse(`{ "__proto__": "${SECRET}" }`) } }], downstreams },
  { alerts: [{ slack: { webhookFrom: 'X', only: { constructor: SECRET, toString: [SECRET] } } }], downstreams },
])('a secret in a wrong place is in no error: %j', (policy) => {
  let thrown: unknown;
  try {
    resolvePolicy(policy as never, { env: {} });
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(PolicyError);
  const text = `${inspect(thrown, { depth: 12, showHidden: true })}${JSON.stringify(thrown)}`;
  expect(text + rejectionText(thrown as PolicyError)).not.toContain('MARKED');
});

test.each([
  'https://h.example/x?x=MARKEDmarked1234567890abcd',
  'https://h.example/#token=x1',
  'https://hooks.slack-gov.com/services/T/B/x',
])('%s is no address for a policy', (address) => {
  expect(addressProblem(address)).toContain('secret');
});
