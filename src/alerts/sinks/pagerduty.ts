import type { Alert } from '../../base/alert.ts';
import { hash64 } from '../../base/hash.ts';
import type { PagerDutySinkOptions } from '../../base/sink-options.ts';
import type { PacedSink } from '../sink.ts';
import { clockOf, common, type SinkHost } from './host.ts';
import { post } from './post.ts';
import { headerRule, SinkOptions } from './secret.ts';
import { bounded, headline, oneLine, runbookUrl, suggestionLine } from './words.ts';

const ENQUEUE = 'https://events.pagerduty.com/v2/enqueue';
const LONGEST_KEY = 255;
const LONGEST_SUMMARY = 1_024;
/** Their documentation says to wait a few minutes. */
const PAUSE_AFTER_429_MS = 120_000;

/** An event of the Events API v2, without its routing key. */
export interface PagerDutyEvent {
  readonly event_action: 'trigger' | 'resolve';
  readonly dedup_key: string;
  readonly client?: string;
  readonly links?: readonly { readonly href: string; readonly text: string }[];
  readonly payload?: {
    readonly summary: string;
    readonly source: string;
    readonly severity: 'info' | 'warning' | 'critical';
    readonly timestamp: string;
    readonly component: string;
    readonly group?: string;
    readonly class: string;
    readonly custom_details: Readonly<Record<string, string | number>>;
  };
}

/** What one alert is to PagerDuty: `trigger` while it fires, `resolve` at its end. */
export function pagerDutyEvent(alert: Alert): PagerDutyEvent {
  const dedup_key = dedupKey(alert);
  if (alert.status === 'resolved') return { event_action: 'resolve', dedup_key };
  const { service, environment, instance } = alert.origin;
  const runbook = runbookUrl(alert);
  return {
    event_action: 'trigger',
    dedup_key,
    client: 'Penstock',
    ...(runbook === undefined ? {} : { links: [{ href: runbook, text: 'Runbook' }] }),
    payload: {
      summary: headline(alert, LONGEST_SUMMARY),
      source: oneLine(service === undefined ? instance : `${service} ${instance}`, 255),
      severity: alert.severity,
      timestamp: alert.at,
      component: oneLine(alert.downstream, 255),
      ...(environment === undefined ? {} : { group: oneLine(environment, 255) }),
      class: alert.name,
      custom_details: details(alert),
    },
  };
}

/** The same from every process that sees the same incident: never service, instance or severity. */
export function dedupKey({ name, downstream, lane, origin }: Alert): string {
  const key = ['penstock', origin.environment ?? '', name, downstream, ...(lane === undefined ? [] : [lane])].join('/');
  if (key.length <= LONGEST_KEY) return bounded(key, LONGEST_KEY);
  return `${bounded(key, LONGEST_KEY - 17)}-${hash64(key)}`;
}

/** Everything here is bounded, so that an event never comes near the 512 KB that are taken. */
function details(alert: Alert): Record<string, string | number> {
  const { incident, impact, server, origin } = alert;
  const texts: Record<string, string | undefined> = {
    explanation: bounded(alert.explanation, 8_000),
    suggestion: suggestionLine(alert, 1_000),
    owner: alert.owner,
    quota_source: alert.source,
    runbook: alert.runbook,
    hypothesis: alert.hypothesis,
    tool: alert.tool,
    run: alert.runId,
    trace_id: alert.traceId,
    incident: incident.id,
    instance: origin.instance,
    service: origin.service,
    policy: origin.policyHash,
  };
  return {
    ...Object.fromEntries(
      Object.entries(texts).flatMap(([key, text]) =>
        text === undefined || text === '' ? [] : [[key, key === 'explanation' ? text : oneLine(text, 1_000)]],
      ),
    ),
    throttles: incident.throttles,
    incidents_in_a_row: incident.inARow,
    waiting: impact.waiting,
    refused: impact.refused,
    in_flight: impact.inFlight,
    ...(server.status === undefined ? {} : { status: server.status }),
    ...(server.retryAfterMs === undefined ? {} : { retry_after_ms: server.retryAfterMs }),
  };
}

/**
 * Triggers and resolves incidents through the Events API v2. Processes that see the same incident make one.
 *
 * @throws {PolicyError} with every problem of the options at once.
 */
export function pagerDutySink(options: PagerDutySinkOptions, host: SinkHost = {}): PacedSink {
  const checks = new SinkOptions('pagerduty', host);
  const routingKey = checks.secret('routingKeyFrom', options?.routingKeyFrom, headerRule);
  const url = checks.address('url', options?.url ?? ENQUEUE, 'the routing key belongs in routingKeyFrom');
  checks.done();
  const clock = clockOf(host);
  return {
    ...common('pagerduty', host),
    deliver: async (alert, signal) => {
      const routing_key = await routingKey();
      await post({
        url,
        body: JSON.stringify({ routing_key, ...pagerDutyEvent(alert) }),
        signal,
        clock,
        secrets: [routing_key],
        onAnswer: host.onAnswer,
        pauseAfter429Ms: PAUSE_AFTER_429_MS,
      });
    },
  };
}
