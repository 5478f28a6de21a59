import type { PolicyPlan, SinkFilter, SinkPlan } from '../base/plan.ts';
import { readReference } from '../base/secrets.ts';
import type { Environment } from './environment.ts';

/** One sink as a person reads it. */
export interface SinkDescription {
  readonly name: string;
  /** `alerts to slack: of severity warning or critical; SLACK_WEBHOOK_URL is set`. */
  readonly sentence: string;
  /** Secrets that are not there where this is run. */
  readonly warnings: readonly string[];
}

/** Where incidents go, sink by sink; which secrets are there is read from `env` and from files, and never shown. */
export function describeAlerts(plan: Pick<PolicyPlan, 'alerts'>, env: Environment): SinkDescription[] {
  return (plan.alerts ?? []).map((sink) => describeSink(sink, env));
}

function describeSink(sink: SinkPlan, env: Environment): SinkDescription {
  const { name, kind, options, only } = sink;
  const references = referencesOf(options);
  const found = references.map((reference) => ({ reference, missing: missingOf(reference, env) }));
  const parts = [
    `${name === kind ? name : `${name} (${kind})`}: ${only === undefined ? 'every incident' : `incidents ${filterText(only)}`}`,
    ...placeOf(sink),
    ...found.map(({ reference, missing }) => `secret from ${reference} (${missing === undefined ? 'set' : 'not set'})`),
  ];
  return {
    name,
    sentence: `alerts to ${parts.join('; ')}`,
    warnings: found.flatMap(({ missing }) =>
      missing === undefined ? [] : [`${name}: ${missing} here; where it is not set, createDispatcher fails`],
    ),
  };
}

function missingOf(reference: string, env: Environment): string | undefined {
  const found = readReference(reference, env);
  return 'missing' in found ? found.missing : undefined;
}

/** Every `...From`, those of headers too. */
function referencesOf(options: Readonly<Record<string, unknown>>): string[] {
  const all = Object.entries(options).flatMap(([key, value]) => {
    if (!key.endsWith('From')) return [];
    return typeof value === 'object' && value !== null ? Object.values(value) : [value];
  });
  return [...new Set(all.filter((value) => typeof value === 'string'))];
}

function placeOf({ options }: SinkPlan): string[] {
  const { url, path } = options;
  if (typeof path === 'string') return [`in ${path}`];
  if (url === undefined) return [];
  return [`at ${(Array.isArray(url) ? url : [url]).join(' and ')}`];
}

function filterText({ severity, owner, downstream, name }: SinkFilter): string {
  const parts: string[] = [];
  if (severity !== undefined) parts.push(`of severity ${either(severity)}`);
  if (name !== undefined) parts.push(`called ${either(name)}`);
  if (downstream !== undefined) parts.push(`of ${either(downstream)}`);
  if (owner !== undefined) parts.push(`owned by ${either(owner)}`);
  return parts.join(', ');
}

function either(list: readonly string[]): string {
  return list.length < 2 ? list.join() : `${list.slice(0, -1).join(', ')} or ${list.at(-1)}`;
}
