import type { PolicyProblem } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { SinkKind } from '../base/plan.ts';
import { BARE_SINKS, sinkSchemas } from './alerts-schema.ts';
import { type Complain, kindOf, misspelt, plainKey, type SinkDraft } from './alerts-words.ts';
import { isObject } from './paths.ts';
import { keysOf } from './shape.ts';

const KINDS = Object.keys(sinkSchemas) as SinkKind[];

const EXAMPLES: Readonly<Record<SinkKind, string>> = {
  stderr: 'stderr: { format: json }',
  jsonl: 'jsonl: { path: var/alerts.jsonl }',
  webhook: 'webhook: { urlFrom: ALERT_WEBHOOK_URL }',
  alertmanager: 'alertmanager: { url: http://127.0.0.1:9093 }',
  pagerduty: 'pagerduty: { routingKeyFrom: PAGERDUTY_ROUTING_KEY }',
  slack: 'slack: { webhookFrom: SLACK_WEBHOOK_URL }',
  otel: 'otel: {}',
};

/** Which kind of sink an entry means, and its options. */
export function readEntry(entry: unknown, index: number, complain: Complain): SinkDraft | undefined {
  const expected = `one of ${KINDS.join(', ')}`;
  if (typeof entry === 'string') {
    const kind = KINDS.find((each) => each === entry);
    if (kind !== undefined && (BARE_SINKS as readonly string[]).includes(kind)) return { kind, options: {} };
    if (kind !== undefined) {
      complain([index], { message: `${kind} needs options: ${EXAMPLES[kind]}`, expected: EXAMPLES[kind] });
      return undefined;
    }
    complain([index], misspelt('unknown sink', nearest(entry, KINDS), expected));
    return undefined;
  }
  if (!isObject(entry)) {
    complain([index], { message: `expected a sink: ${expected} with its options; found ${kindOf(entry)}`, expected });
    return undefined;
  }
  const keys = Object.keys(entry);
  const kinds = KINDS.filter((kind) => keys.includes(kind));
  for (const key of keys) {
    if (kinds.includes(key as SinkKind)) continue;
    complain([index, plainKey(key)], strayKey(key, kinds[0], expected));
  }
  if (kinds.length > 1) {
    complain([index], { message: `${kinds.join(' and ')} are two sinks; begin each with a dash of its own`, expected });
    return undefined;
  }
  const [kind] = kinds;
  if (kind === undefined) {
    if (keys.length === 0) complain([index], { message: `expected a sink: ${expected}`, expected });
    return undefined;
  }
  const options = entry[kind];
  if (isObject(options)) return { kind, options };
  const isBare = (options === null || options === undefined) && (BARE_SINKS as readonly string[]).includes(kind);
  if (isBare) return { kind, options: {} };
  const message = `expected an object of options, such as ${EXAMPLES[kind]}; found ${kindOf(options)}`;
  complain([index, kind], { message, expected: EXAMPLES[kind] });
  return undefined;
}

function strayKey(key: string, kind: SinkKind | undefined, expected: string): Omit<PolicyProblem, 'path'> {
  if (kind !== undefined && keysOf(sinkSchemas[kind]).includes(key)) {
    return { message: `${key} belongs inside ${kind}: write it two columns further in`, expected };
  }
  return misspelt('unknown sink', nearest(key, KINDS), expected);
}
