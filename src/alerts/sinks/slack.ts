import type { Alert } from '../../base/alert.ts';
import type { SlackSinkOptions } from '../../base/sink-options.ts';
import type { PacedSink } from '../sink.ts';
import { clockOf, common, type SinkHost } from './host.ts';
import { post } from './post.ts';
import { SinkOptions, urlRule } from './secret.ts';
import { bounded, headline, oneLine, runbookUrl, suggestionLine } from './words.ts';

/** One message a second is what an incoming webhook takes. */
const SPACING_MS = 1_000;
const LONGEST_HEADER = 150;
const LONGEST_SECTION = 3_000;
const LONGEST_CONTEXT = 1_000;

interface Mrkdwn {
  readonly type: 'mrkdwn';
  readonly text: string;
  readonly verbatim: true;
}

type Block =
  | {
      readonly type: 'header';
      readonly text: { readonly type: 'plain_text'; readonly text: string; readonly emoji: false };
    }
  | { readonly type: 'section'; readonly text: Mrkdwn }
  | { readonly type: 'context'; readonly elements: readonly Mrkdwn[] };

/** The body of an incoming webhook. */
export interface SlackMessage {
  /** For notifications, and wherever blocks are not shown. */
  readonly text: string;
  readonly blocks: readonly Block[];
}

/** What one alert is in Slack: a headline, the explanation, a change of the policy, who to ask. */
export function slackMessage(alert: Alert): SlackMessage {
  const word = alert.status === 'resolved' ? 'RESOLVED' : alert.severity.toUpperCase();
  const change = suggestionLine(alert, LONGEST_CONTEXT);
  const blocks: Block[] = [
    {
      type: 'header',
      text: { type: 'plain_text', text: `${word} ${headline(alert, LONGEST_HEADER - word.length - 1)}`, emoji: false },
    },
    { type: 'section', text: mrkdwn(escaped(alert.explanation.replaceAll('```', "'''"), LONGEST_SECTION)) },
  ];
  // Within the fence nothing but the fence itself has a meaning.
  if (change !== undefined && !alert.explanation.includes(change)) {
    blocks.push({
      type: 'section',
      text: mrkdwn(`\`\`\`${escaped(change.replaceAll('`', "'"), LONGEST_SECTION - 6)}\`\`\``),
    });
  }
  blocks.push({ type: 'context', elements: [mrkdwn(facts(alert))] });
  return { text: `${word} ${escaped(headline(alert, 300), 600)}`, blocks };
}

function facts(alert: Alert): string {
  const runbook = runbookUrl(alert);
  const known: Record<string, string | undefined> = {
    owner: alert.owner,
    source: alert.source,
    environment: alert.origin.environment,
    service: alert.origin.service,
    tool: alert.tool,
    run: alert.runId,
    trace: alert.traceId,
    incident: alert.incident.id,
    instance: alert.origin.instance,
    ...(runbook === undefined ? { runbook: alert.runbook } : {}),
  };
  const parts = Object.entries(known).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}: ${plain(oneLine(value, 120))}`],
  );
  // A bar would end the address of a link.
  if (runbook !== undefined) parts.unshift(`<${escaped(runbook.replaceAll('|', '%7C'), 2_500)}|Runbook>`);
  return bounded(parts.join(' | '), LONGEST_SECTION);
}

/** Names of tools and runs are shown as they are: no bold, no code, no mention. */
function plain(text: string): string {
  return escaped(text.replace(/[*~`]/g, "'"), 600);
}

/** Slack reads `&`, `<` and `>` alone: with these escaped, no text can mention anybody or make a link. Never cut within an escape. */
export function escaped(text: string, most: number): string {
  let out = '';
  for (const char of bounded(text, most)) {
    const next = char === '&' ? '&amp;' : char === '<' ? '&lt;' : char === '>' ? '&gt;' : char;
    if (out.length + next.length > most) break;
    out += next;
  }
  return out;
}

function mrkdwn(text: string): Mrkdwn {
  return { type: 'mrkdwn', text: text === '' ? ' ' : text, verbatim: true };
}

/** What an incoming webhook says when it refuses, as Slack documents it. */
const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['invalid_payload', 'invalid_payload'],
  ['invalid_blocks', 'invalid_blocks'],
  ['no_text', 'no_text'],
  ['user_not_found', 'user_not_found'],
  ['invalid_token', 'invalid_token: the webhook was revoked'],
  ['action_prohibited', 'action_prohibited: an administrator has restricted the webhook'],
  ['posting_to_general_channel_denied', 'posting_to_general_channel_denied'],
  ['no_service', 'no_service: the webhook was removed or switched off'],
  ['no_team', 'no_team: the workspace is gone'],
  ['channel_not_found', 'channel_not_found: the channel is gone'],
  ['channel_is_archived', 'channel_is_archived'],
  ['rollup_error', 'rollup_error'],
]);

/**
 * Posts each incident to a Slack incoming webhook, at most one message a second.
 *
 * @throws {PolicyError} with every problem of the options at once.
 */
export function slackSink(options: SlackSinkOptions, host: SinkHost = {}): PacedSink {
  const checks = new SinkOptions('slack', host);
  const webhook = checks.secret('webhookFrom', options?.webhookFrom, urlRule);
  checks.done();
  const clock = clockOf(host);
  return {
    ...common('slack', host),
    spacingMs: SPACING_MS,
    deliver: async (alert, signal) => {
      const url = await webhook();
      const body = JSON.stringify(slackMessage(alert));
      const meaning = (answer: string): string | undefined => REFUSALS.get(answer);
      await post({ url, body, signal, clock, onAnswer: host.onAnswer, meaning });
    },
  };
}
