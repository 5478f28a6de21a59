import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PolicyError } from '../../src/base/errors.ts';
import { isReference } from '../../src/base/secrets.ts';
import { createDispatcher, type PolicyInput } from '../../src/index.ts';
import { describeAlerts } from '../../src/policy/alerts-describe.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';

type Alerts = PolicyInput['alerts'];

const downstreams = { carrier: { quota: '60/minute', owner: 'logistics' }, mail: { owner: 'post' } };
const planned = (alerts: unknown) => resolvePolicy({ downstreams, alerts }, { env: {} }).alerts;

function refused(run: () => unknown): PolicyError {
  try {
    run();
  } catch (error) {
    if (error instanceof PolicyError) return error;
  }
  throw new Error('expected a PolicyError');
}

describe('plans', () => {
  test('nothing said is nothing planned, an empty list is silence', () => {
    expect(planned(undefined)).toBeUndefined();
    expect(planned([])).toEqual([]);
  });

  test('names, filters as lists, options as they stand; frozen, and a copy', () => {
    const labels = { team: 'x' };
    const alerts = [
      'stderr',
      { slack: { webhookFrom: 'A', only: { severity: 'critical', owner: ['post'] } } },
      { slack: { webhookFrom: 'B' } },
      { alertmanager: { url: 'http://am:9093', labels, name: 'slack-2' } },
      { otel: null },
    ];
    const plans = planned(alerts);
    expect(plans).toEqual([
      { name: 'stderr', kind: 'stderr', options: {} },
      {
        name: 'slack',
        kind: 'slack',
        options: { webhookFrom: 'A' },
        only: { severity: ['critical'], owner: ['post'] },
      },
      { name: 'slack-3', kind: 'slack', options: { webhookFrom: 'B' } },
      { name: 'slack-2', kind: 'alertmanager', options: { url: 'http://am:9093', labels } },
      { name: 'otel', kind: 'otel', options: {} },
    ]);
    expect(Object.isFrozen(plans?.[3]?.options.labels)).toBe(true);
    expect(Object.isFrozen(labels)).toBe(false);
  });

  test('the hash says which limits a process runs: a changed sink changes nothing of it', () => {
    const hashOf = (alerts: unknown) => resolvePolicy({ downstreams, alerts }, { env: {} }).hash;
    expect(hashOf(['stderr'])).toBe(hashOf(undefined));
  });
});

describe('references', () => {
  test.each(['SLACK_WEBHOOK_URL', 'A', '_X', 'KEY_2', 'file:/run/secrets/slack', 'file:///run/secrets/slack'])(
    '%s',
    (text) => expect(isReference(text)).toBe(true),
  );
  test.each([
    'https://hooks.slack.com/services/T0/B0/x',
    'hunter2',
    'slack_webhook_url',
    'R0123456789ABCDEFGHIJKLMNOPQRSTU',
    'AKIAIOSFODNN7EXAMPLE',
    'xoxb-1-2',
    '',
    'A B',
    'file:run/secrets/slack',
    'file://host/share',
    'file:',
    '$SLACK_WEBHOOK_URL',
  ])('%s is none', (text) => expect(isReference(text)).toBe(false));
});

const MARKED = 'https://hooks.slack.com/services/T0/B0/marked';

test.each<[string, unknown]>([
  ['for a reference', [{ slack: { webhookFrom: MARKED } }]],
  ['for a list', MARKED],
  ['for a sink', [MARKED]],
  ['for options', [{ slack: MARKED }]],
  ['under another name', [{ slack: { webhook: MARKED } }]],
  ['as a key', [{ [MARKED]: {} }]],
  ['as a key of options', [{ slack: { [MARKED]: true } }]],
  ['beside a sink', [{ slack: { webhookFrom: 'A' }, url: MARKED }]],
  ['as an address', [{ webhook: { url: MARKED } }]],
  ['as an address with a token', [{ webhook: { url: 'https://x.example/hook?token=marked' } }]],
  ['as a password in an address', [{ alertmanager: { url: ['https://me:marked@am.example'] } }]],
  ['as a header', [{ webhook: { url: 'http://x', headersFrom: { 'x-key': 'marked secret' } } }]],
  ['as the name of a header', [{ webhook: { url: 'http://x', headersFrom: { 'marked marked': 'A' } } }]],
  ['as a list', [{ pagerduty: { routingKeyFrom: ['marked'] } }]],
  ['as a name', [{ stderr: { name: 'https://marked' } }]],
  ['as a label', [{ alertmanager: { url: 'http://am', labels: { 'marked marked': 'x' } } }]],
  ['as an owner', [{ stderr: { only: { owner: MARKED } } }]],
  ['as a format', [{ stderr: { format: MARKED } }]],
])('a secret that stands in a policy by mistake is refused and never repeated: %s', (_, alerts) => {
  const error = refused(() => resolvePolicy({ downstreams, alerts }, { env: {} }));
  const shown = [
    error.message,
    error.stack,
    inspect(error, { depth: 9, showHidden: true }),
    JSON.stringify(error),
  ].join();
  expect(shown).not.toContain('marked');
  expect(error.problems[0]?.path).toMatch(/^alerts/);
});

test.each(['PENSTOCK__ALERTS', 'PENSTOCK__ALERTS__0__SLACK__WEBHOOK_FROM'])(
  '%s is answered with what to do, and without its value',
  (variable) => {
    const error = refused(() => resolvePolicy({ downstreams }, { env: { [variable]: MARKED } }));
    expect(error.message).toContain('alerts cannot be set from the environment');
    expect(inspect(error, { depth: 9 })).not.toContain('marked');
  },
);

test('alerts in a downstream, and what it should have been', () => {
  const policy = { downstreams: { carrier: { alerts: [] } } };
  expect(refused(() => resolvePolicy(policy, { env: {} })).message).toContain(
    'downstreams.carrier.alerts: unknown option; alerts stand at the top of the policy, beside downstreams',
  );
});

describe('a dispatcher', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'penstock-secrets-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const alerts = (): Alerts => [
    { slack: { webhookFrom: 'SLACK_WEBHOOK_URL' } },
    { pagerduty: { routingKeyFrom: `file:${join(folder, 'key')}` } },
    { webhook: { urlFrom: 'EMPTY', headersFrom: { 'x-key': 'BAD' } } },
  ];

  test('cannot be made where secrets are missing: all of them are named', () => {
    const env = { EMPTY: ' ', BAD: 'marked\nmarked' };
    const error = refused(() => createDispatcher({ downstreams, alerts: alerts() }, { env }));
    expect(error.problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'alerts[0].slack.webhookFrom: the environment variable SLACK_WEBHOOK_URL is not set',
      `alerts[1].pagerduty.routingKeyFrom: there is no file ${join(folder, 'key')}`,
      'alerts[2].webhook.urlFrom: the environment variable EMPTY is empty',
      'alerts[2].webhook.headersFrom.x-key: BAD holds characters that a header cannot carry',
    ]);
    expect(inspect(error, { depth: 9 })).not.toContain('marked');
  });

  test('is made where they are there', async () => {
    writeFileSync(join(folder, 'key'), 'key-of-32-characters-or-whatever\n');
    const env = { SLACK_WEBHOOK_URL: 'http://127.0.0.1:9/marked', EMPTY: 'http://127.0.0.1:9/', BAD: 'good' };
    const dispatcher = createDispatcher({ downstreams, alerts: alerts() }, { env });
    expect(inspect(dispatcher, { depth: 9, showHidden: true })).not.toContain('marked');
    expect(JSON.stringify(dispatcher.snapshot())).not.toContain('marked');
    expect(Object.keys(dispatcher.snapshot().alerts.dropped)).toEqual(['slack', 'pagerduty', 'webhook']);
    await dispatcher.close();
  });

  test('with sinks of its own leaves those of the policy alone, secrets and all', async () => {
    const dispatcher = createDispatcher({ downstreams, alerts: alerts() }, { env: {}, alertSinks: [] });
    expect(dispatcher.snapshot().alerts.dropped).toEqual({});
    await dispatcher.close();
  });
});

test('what check says: where to, which alerts, whose secret, and whether it is set', () => {
  const plan = resolvePolicy({
    downstreams,
    alerts: [
      'stderr',
      {
        slack: {
          webhookFrom: 'SLACK_URL',
          name: 'night',
          only: { severity: ['warning', 'critical'], owner: 'logistics', downstream: 'carrier', name: 'LaneStalled' },
        },
      },
      { alertmanager: { url: ['http://a:9093', 'http://b:9093'] } },
      { jsonl: { path: 'var/alerts.jsonl' } },
      { pagerduty: { routingKeyFrom: 'PD_KEY' } },
    ],
  });
  const described = describeAlerts(plan, { PD_KEY: 'marked' });
  expect(described.map(({ sentence }) => sentence)).toEqual([
    'alerts to stderr: every incident',
    'alerts to night (slack): incidents of severity warning or critical, called LaneStalled, of carrier, owned by logistics; secret from SLACK_URL (not set)',
    'alerts to alertmanager: every incident; at http://a:9093 and http://b:9093',
    'alerts to jsonl: every incident; in var/alerts.jsonl',
    'alerts to pagerduty: every incident; secret from PD_KEY (set)',
  ]);
  expect(described.flatMap(({ warnings }) => warnings)).toEqual([
    'night: the environment variable SLACK_URL is not set here; where it is not set, createDispatcher fails',
  ]);
});
