import { parseArgs } from 'node:util';
import { HostIndex } from '../adapters/support/hosts.ts';
import { nearest } from '../base/nearest.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import { READY_MADE } from '../feedback/classifiers.ts';
import { describeAlerts } from '../policy/alerts-describe.ts';
import { describePolicy } from '../policy/describe.ts';
import type { QuotaInput } from '../policy/input.ts';
import { type ReadPolicy, readPolicy } from '../policy/load.ts';
import { modeOrigins } from '../policy/mode-origins.ts';
import { type OriginatedValue, originsOf, type ValueOrigin } from '../policy/origins.ts';
import { pathText } from '../policy/paths.ts';
import { profileOf } from '../policy/profile.ts';
import { readQuota } from '../policy/quota.ts';
import type { Io } from './io.ts';
import { overlayOf } from './overlay-file.ts';

/** What follows `check` on the command line. */
interface Asked {
  readonly files: readonly string[];
  readonly env: string | undefined;
  readonly json: boolean;
}

/** Says what a policy means. Resolves to the exit code, or to why the command was not understood. */
export async function check(argv: readonly string[], io: Io, standardFile: string): Promise<number | string> {
  const asked = read(argv);
  if (typeof asked === 'string') return asked;
  const { files, env, json } = asked;
  if (files.length > 1) return 'check takes one file';
  const base = files[0] ?? standardFile;
  const paths = env === undefined ? [base] : [base, await overlayOf(base, env)];
  const policy = await readPolicy(paths, io.env);
  if (json) io.out(`${JSON.stringify(asJson(policy, paths), null, 2)}\n`);
  else io.out(`${lines(policy, paths, io.env, env !== undefined).join('\n')}\n`);
  return 0;
}

function read(argv: readonly string[]): Asked | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { env: { type: 'string', short: 'e' }, json: { type: 'boolean' } },
    });
    return { files: positionals, env: values.env, json: values.json ?? false };
  } catch (error) {
    return error instanceof Error ? (error.message.split('. ')[0] ?? error.message) : String(error);
  }
}

function lines(policy: ReadPolicy, paths: readonly string[], env: Io['env'], withValues: boolean): string[] {
  const { plan } = policy;
  const values = withValues ? originsOf(policy) : new Map<string, OriginatedValue[]>();
  const said = describePolicy(plan, { modeOrigins: modeOrigins(policy.policy, env) }).flatMap(
    ({ name, sentence, warnings }) => [
      sentence,
      ...warnings.map((warning) => `  warning: ${warning}`),
      ...unlike(name, policy, paths).map((warning) => `  warning: ${warning}`),
      ...table(values.get(name) ?? []),
    ],
  );
  const top = values.get('');
  if (top !== undefined) said.push('for all of them', ...table(top));
  for (const one of plan.downstreams.values()) said.push(...passedClassifier(one), ...leftOut(one));
  said.push(...claimedTwice(plan));
  for (const { sentence, warnings } of describeAlerts(plan, env)) {
    said.push(sentence, ...warnings.map((warning) => `  warning: ${warning}`));
  }
  const count = plan.downstreams.size === 1 ? '1 downstream' : `${plan.downstreams.size} downstreams`;
  return [...said, `${paths.join(' + ')}: ${count}, no problems (policy ${plan.hash})`];
}

/** Quotas of the profile that the downstream's own quota has put away: it takes the place of all of them. */
function leftOut({ name, profile, quotas }: DownstreamPlan): string[] {
  const stated = profile === undefined ? undefined : profileOf(profile)?.quota;
  const all =
    stated === undefined ? [] : Array.isArray(stated) ? (stated as readonly QuotaInput[]) : [stated as QuotaInput];
  const missing = all
    .map(readQuota)
    .filter((one) => one !== undefined && !quotas.some(({ unit }) => unit === one.unit));
  if (missing.length === 0 || profile === undefined) return [];
  const texts = missing.map((one) => one?.text).join(' and ');
  return [
    `  warning: ${name}: profile ${profile} also has ${texts}, which your own quota has put away; name them in it if they hold`,
  ];
}

/** Two downstreams with one host: HTTP adapters cannot tell whose a request is, and refuse it. */
function claimedTwice({ downstreams }: ReadPolicy['plan']): string[] {
  return new HostIndex(downstreams)
    .doubled()
    .map(
      ({ pattern, downstreams: names }) =>
        `  warning: host ${pattern.toLowerCase()} is claimed by ${names.join(' and ')}: HTTP adapters refuse its requests; leave it to one of them (hosts: [] in the other)`,
    );
}

/** What a policy asks for that only the program can give. */
function passedClassifier({ name, classify }: DownstreamPlan): string[] {
  if (classify === undefined || Object.hasOwn(READY_MADE, classify)) return [];
  const near = nearest(classify, Object.keys(READY_MADE));
  const meant = near === undefined ? '' : ` (or is the ready-made ${near} meant?)`;
  return [`  warning: ${name}: the program has to pass a classifier "${classify}" to createDispatcher${meant}`];
}

/** A downstream that only the overlay has is added by it; one that is spelled almost like another was not meant to be. */
function unlike(name: string, { origins, plan }: ReadPolicy, [base]: readonly string[]): string[] {
  const own = origins.get(pathText(['downstreams', name]));
  if (own === undefined || own.file === base) return [];
  const near = nearest(
    name,
    [...plan.downstreams.keys()].filter((other) => other !== name),
  );
  return near === undefined ? [] : [`${name} stands in ${own.file} alone, which adds it (is ${near} meant?)`];
}

function table(values: readonly OriginatedValue[]): string[] {
  const rows = values.map(({ path, value, origin }) => [path, valueText(value), originText(origin)] as const);
  const widths = [0, 1].map((column) => Math.max(0, ...rows.map((row) => row[column]!.length)));
  return rows.map(([path, value, origin]) => `  ${path.padEnd(widths[0]!)}  ${value.padEnd(widths[1]!)}  ${origin}`);
}

function valueText(value: unknown): string {
  if (value === undefined) return '-';
  if (Array.isArray(value)) return `[${value.map(String).join(', ')}]`;
  return String(value);
}

function originText(origin: ValueOrigin): string {
  if (origin.kind === 'default') return 'default';
  if (origin.kind === 'environment') return origin.variable;
  if (origin.kind === 'profile') return `profile ${origin.profile}`;
  return `${origin.file}:${origin.line}${origin.inDefaults ? ' (defaults)' : ''}`;
}

function asJson(policy: ReadPolicy, paths: readonly string[]): object {
  const values = [...originsOf(policy)].map(([name, all]) => {
    const byPath = all.map(({ path, value, origin }) => [path, { value: value ?? null, origin }] as const);
    return [name, Object.fromEntries(byPath)] as const;
  });
  const [, all] = values.find(([name]) => name === '') ?? [];
  return {
    files: paths,
    hash: policy.plan.hash,
    ...(all === undefined ? {} : { all }),
    downstreams: Object.fromEntries(values.filter(([name]) => name !== '')),
  };
}
