import { describe, expect, test } from 'vitest';
import {
  alertmanagerAlert,
  alertmanagerLabels,
  cloudEvent,
  dedupKey,
  jsonlLine,
  otelAttributes,
  otelLogRecord,
  pagerDutyEvent,
  slackMessage,
} from '../../../src/alerts.ts';
import { NOW } from '../facts.ts';
import { alertOf, faults, HOSTILE, resolvedOf } from './support.ts';

const routing_key = '0123456789abcdef0123456789abcdef';
const explanation = alertOf().explanation;

test('CloudEvents', () => {
  const alert = alertOf();
  expect(cloudEvent(alert)).toEqual({
    specversion: '1.0',
    id: 'worker-7-1',
    source: '/penstock/agents/worker-7',
    type: 'dev.penstock.alert.firing',
    subject: 'carrier',
    time: '2026-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    data: alert,
  });
  expect(cloudEvent(resolvedOf()).type).toBe('dev.penstock.alert.resolved');
});

test('Alertmanager', () => {
  const labels = {
    alertname: 'QuotaModelWrong',
    downstream: 'carrier',
    severity: 'warning',
    owner: 'logistics',
    environment: 'production',
  };
  expect(alertmanagerAlert(alertOf(), NOW + 1_000, { labels: { team: 'x' } })).toEqual({
    labels: { ...labels, team: 'x' },
    annotations: {
      summary: 'QuotaModelWrong carrier: throttled 1 time, held until 00:00:30 UTC, 34 waiting',
      description: explanation,
      suggestion: 'downstreams.carrier.quota: "60/minute" -> "37/minute"',
      runbook_url: 'https://wiki.example/penstock#quota',
      quota_source: 'contract of 2019',
      service: 'agents',
      instance: 'worker-7',
      incident: 'incident-1',
      throttles: '1',
      waiting: '34',
      refused: '0',
      hypothesis: 'unknown',
      tool: 'get_status',
      run: 'run-1',
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      policy: '0123456789abcdef',
    },
    startsAt: '2026-01-01T00:00:00.000Z',
    endsAt: '2026-01-01T00:05:01.000Z',
  });
  const over = alertmanagerAlert(resolvedOf(), NOW + 900_000);
  expect([over.labels, over.startsAt, over.endsAt]).toEqual([
    labels,
    '2026-01-01T00:00:00.000Z',
    '2026-01-01T00:10:00.000Z',
  ]);
});

test('PagerDuty', () => {
  const dedup_key = 'penstock/production/QuotaModelWrong/carrier';
  expect(pagerDutyEvent(alertOf())).toEqual({
    event_action: 'trigger',
    dedup_key,
    client: 'Penstock',
    links: [{ href: 'https://wiki.example/penstock#quota', text: 'Runbook' }],
    payload: {
      summary: 'QuotaModelWrong carrier: throttled 1 time, held until 00:00:30 UTC, 34 waiting',
      source: 'agents worker-7',
      severity: 'warning',
      timestamp: '2026-01-01T00:00:00.000Z',
      component: 'carrier',
      group: 'production',
      class: 'QuotaModelWrong',
      custom_details: {
        explanation,
        suggestion: 'downstreams.carrier.quota: "60/minute" -> "37/minute"',
        owner: 'logistics',
        quota_source: 'contract of 2019',
        runbook: 'https://wiki.example/penstock#quota',
        hypothesis: 'unknown',
        tool: 'get_status',
        run: 'run-1',
        trace_id: '0af7651916cd43dd8448eb211c80319c',
        incident: 'incident-1',
        instance: 'worker-7',
        service: 'agents',
        policy: '0123456789abcdef',
        throttles: 1,
        incidents_in_a_row: 1,
        waiting: 34,
        refused: 0,
        in_flight: 3,
        status: 429,
        retry_after_ms: 30_000,
      },
    },
  });
  expect(pagerDutyEvent(resolvedOf())).toEqual({ event_action: 'resolve', dedup_key });
});

test('Slack', () => {
  const { text, blocks } = slackMessage(alertOf());
  expect(text).toBe('WARNING QuotaModelWrong carrier: throttled 1 time, held until 00:00:30 UTC, 34 waiting');
  expect(blocks).toEqual([
    { type: 'header', text: { type: 'plain_text', text, emoji: false } },
    { type: 'section', text: { type: 'mrkdwn', text: explanation.replaceAll('>', '&gt;'), verbatim: true } },
    ...(explanation.includes('-> "37/minute"')
      ? []
      : [
          {
            type: 'section',
            text: {
              type: 'mrkdwn',
              text: '```downstreams.carrier.quota: "60/minute" -&gt; "37/minute"```',
              verbatim: true,
            },
          },
        ]),
    {
      type: 'context',
      elements: [
        {
          type: 'mrkdwn',
          verbatim: true,
          text: '<https://wiki.example/penstock#quota|Runbook> | owner: logistics | source: contract of 2019 | environment: production | service: agents | tool: get_status | run: run-1 | trace: 0af7651916cd43dd8448eb211c80319c | incident: incident-1 | instance: worker-7',
        },
      ],
    },
  ]);
  expect(slackMessage(resolvedOf()).text).toBe('RESOLVED QuotaModelWrong carrier: over');
});

test('OpenTelemetry', () => {
  expect(otelLogRecord(alertOf())).toMatchObject({
    eventName: 'downstream.alert',
    timestamp: new Date(NOW),
    severityNumber: 13,
    severityText: 'WARNING',
    body: explanation,
  });
  expect(otelAttributes(alertOf())).toMatchObject({
    downstream: 'carrier',
    'downstream.alert.name': 'QuotaModelWrong',
    'downstream.alert.status': 'firing',
    'downstream.alert.severity': 'warning',
    'downstream.incident.throttles': 1,
    'http.response.status_code': 429,
    'gen_ai.tool.name': 'get_status',
  });
});

test('a line of JSON is the whole alert', () => {
  expect(JSON.parse(jsonlLine(alertOf(HOSTILE)))).toEqual(JSON.parse(JSON.stringify(alertOf(HOSTILE))));
  expect(jsonlLine(alertOf(HOSTILE)).split('\n')).toHaveLength(2);
});

const KINDS: [string, ReturnType<typeof alertOf>][] = [
  ['an ordinary one', alertOf()],
  ['one that is over', resolvedOf()],
  ['one with hostile names', alertOf(HOSTILE)],
  ['one with hostile names that is over', resolvedOf(HOSTILE)],
  ['one with next to nothing in it', bare()],
  ['one whose text is too long', alertOf({}, { explanation: '<&>'.repeat(20_000) })],
];

function bare(): ReturnType<typeof alertOf> {
  const { service: _service, environment: _environment, ...origin } = alertOf().origin;
  const {
    owner: _o,
    source: _s,
    runbook: _r,
    tool: _t,
    runId: _i,
    traceId: _tr,
    spanId: _sp,
    suggestion: _su,
    ...rest
  } = alertOf();
  return { ...rest, downstream: '', origin, explanation: '' };
}

describe.each(KINDS)('%s is taken by the published schema of', (_, alert) => {
  test.each([
    ['cloudevents', cloudEvent(alert)],
    ['alertmanager', [alertmanagerAlert(alert, NOW)]],
    ['pagerduty', { routing_key, ...pagerDutyEvent(alert) }],
    ['slack', slackMessage(alert)],
  ] as const)('%s', (receiver, payload) => {
    expect(faults(receiver, payload)).toBeUndefined();
    const wire = JSON.stringify(payload);
    expect(wire.length).toBeLessThan(400_000);
    // Half a character is no UTF-8: a strict receiver refuses the whole message. In the CloudEvent the alert stands as it is.
    if (receiver !== 'cloudevents') expect(wire).not.toMatch(/\\ud[89a-f]/i);
  });
});

test('the schemas are no rubber stamps', () => {
  expect(faults('cloudevents', { ...cloudEvent(alertOf()), id: '' })).toBeDefined();
  expect(faults('alertmanager', [{ labels: { 'service.peer.name': 'x' } }])).toBeDefined();
  expect(faults('pagerduty', { routing_key, event_action: 'trigger' })).toBeDefined();
  expect(
    faults('slack', { text: 'x', blocks: [{ type: 'header', text: { type: 'plain_text', text: 'x'.repeat(151) } }] }),
  ).toBeDefined();
});

describe('hostile names', () => {
  const alert = alertOf({ ...HOSTILE, suggestion: { path: 'a.```', from: 1, to: '```' } });

  test('mention nobody in Slack, make no link and end no block of code', () => {
    const { text, blocks } = slackMessage(alert);
    const all = JSON.stringify([text, blocks.slice(1)]);
    expect(all).not.toMatch(/<(?!https:\/\/wiki)/);
    // The fence around the change of the policy is ours.
    expect(all.split('```')).toHaveLength(3);
  });

  test('make no second line and move no cursor', () => {
    const {
      annotations: { description: _, ...annotations },
      labels,
    } = alertmanagerAlert(alert, NOW);
    const { custom_details: { explanation: _e, ...details } = {}, ...payload } = pagerDutyEvent(alert).payload ?? {};
    for (const text of [
      ...Object.values(annotations),
      ...Object.values(labels),
      ...Object.values(details),
      ...Object.values(payload),
    ]) {
      expect(String(text)).not.toMatch(/[\p{Cc}\p{Cf}\u2028]/u);
    }
  });

  test('a runbook that is no web address is no link', () => {
    expect(pagerDutyEvent(alert).links).toBeUndefined();
    expect(alertmanagerAlert(alert, NOW).annotations.runbook_url).toBeUndefined();
  });
});

describe('what an incident is known by', () => {
  const processes = ['a', 'b'].map((instance) =>
    alertOf({}, { origin: { ...alertOf().origin, instance, service: instance } }),
  );

  test('is the same in every process and service', () => {
    const [one, two] = processes.map((alert) => [dedupKey(alert), alertmanagerLabels(alert)]);
    expect(one).toEqual(two);
  });

  test('and another per environment, downstream and name, however long', () => {
    const long = 'x'.repeat(400);
    const keys = [
      alertOf(),
      alertOf({ downstream: 'mail' }),
      alertOf({ name: 'LaneStalled' }),
      alertOf({}, { origin: { ...alertOf().origin, environment: 'staging' } }),
      alertOf({ downstream: `${long}1` }),
      alertOf({ downstream: `${long}2` }),
    ].map(dedupKey);
    expect(new Set(keys).size).toBe(6);
    for (const key of keys) expect(key.length).toBeLessThanOrEqual(255);
  });

  test('PagerDuty: severity changes the incident, not the key', () => {
    expect(dedupKey(alertOf({}, { severity: 'critical' }))).toBe(dedupKey(alertOf()));
  });
});
