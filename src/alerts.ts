export { DeliveryFailed, type PacedSink } from './alerts/sink.ts';
export {
  alertmanagerAlert,
  alertmanagerLabels,
  alertmanagerSink,
  type PostableAlert,
} from './alerts/sinks/alertmanager.ts';
export type { Answer, SinkHost } from './alerts/sinks/host.ts';
export { isWanted } from './alerts/sinks/host.ts';
export { jsonlLine, jsonlSink } from './alerts/sinks/jsonl.ts';
export {
  type OtelLogger,
  type OtelLogRecord,
  type OtelSinkOptions,
  otelAttributes,
  otelLogRecord,
  otelSink,
} from './alerts/sinks/otel.ts';
export { dedupKey, type PagerDutyEvent, pagerDutyEvent, pagerDutySink } from './alerts/sinks/pagerduty.ts';
export { type SlackMessage, slackMessage, slackSink } from './alerts/sinks/slack.ts';
export { type AlertEvent, cloudEvent, webhookSink } from './alerts/sinks/webhook.ts';
export { alertBlock, type StderrSinkOptions, stderrSink } from './alerts/stderr.ts';
export type { Alert, AlertName, AlertSeverity, AlertSink } from './base/alert.ts';
export type { SinkFilter } from './base/plan.ts';
export type {
  AlertmanagerSinkOptions,
  JsonlSinkOptions,
  PagerDutySinkOptions,
  SecretFrom,
  SlackSinkOptions,
  WebhookSinkOptions,
} from './base/sink-options.ts';
