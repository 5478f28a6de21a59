import { PolicyError, type PolicyProblem } from '../../base/errors.ts';
import type { SinkKind, SinkPlan } from '../../base/plan.ts';
import type {
  AlertmanagerSinkOptions,
  JsonlSinkOptions,
  PagerDutySinkOptions,
  SlackSinkOptions,
  WebhookSinkOptions,
} from '../../base/sink-options.ts';
import type { PacedSink } from '../sink.ts';
import { stderrSink } from '../stderr.ts';
import { alertmanagerSink } from './alertmanager.ts';
import { common, type SinkHost } from './host.ts';
import { jsonlSink } from './jsonl.ts';
import { otelSink } from './otel.ts';
import { pagerDutySink } from './pagerduty.ts';
import { slackSink } from './slack.ts';
import { webhookSink } from './webhook.ts';

type Maker = (options: never, host: SinkHost) => PacedSink;

const MAKERS: Readonly<Record<SinkKind, Maker>> = {
  stderr: (options: { readonly format?: 'block' | 'json' }, host: SinkHost) => ({
    ...stderrSink(options.format === undefined ? {} : { isTerminal: options.format === 'block' }),
    ...common('stderr', host),
  }),
  jsonl: (options: JsonlSinkOptions, host: SinkHost) => jsonlSink(options, host),
  webhook: (options: WebhookSinkOptions, host: SinkHost) => webhookSink(options, host),
  alertmanager: (options: AlertmanagerSinkOptions, host: SinkHost) => alertmanagerSink(options, host),
  pagerduty: (options: PagerDutySinkOptions, host: SinkHost) => pagerDutySink(options, host),
  slack: (options: SlackSinkOptions, host: SinkHost) => slackSink(options, host),
  otel: (options: object, host: SinkHost) => otelSink(options, host),
};

/**
 * The sinks that a policy names, in its order.
 *
 * @throws {PolicyError} with every secret that is not there, by the name of its variable or file.
 */
export function sinksOf(plans: readonly SinkPlan[], host: Omit<SinkHost, 'name' | 'only' | 'where'>): PacedSink[] {
  const problems: PolicyProblem[] = [];
  const sinks = plans.flatMap((plan, index): PacedSink[] => {
    try {
      return [sinkOf(plan, { ...host, where: `alerts[${index}].${plan.kind}` })];
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      problems.push(...error.problems);
      return [];
    }
  });
  if (problems.length > 0) throw new PolicyError(problems);
  return sinks;
}

/** One of them. */
export function sinkOf({ name, kind, options, only }: SinkPlan, host: Omit<SinkHost, 'name' | 'only'>): PacedSink {
  return MAKERS[kind](options as never, { ...host, name, only });
}
