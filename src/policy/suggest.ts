import type { Suggestion } from '../base/alert.ts';
import { PolicyError } from '../base/errors.ts';
import type { Wish } from '../base/evidence.ts';
import type { DownstreamPlan } from '../base/plan.ts';
import { REQUESTS } from '../base/words.ts';
import type { DownstreamPolicyInput, QuotaInput } from './input.ts';
import { leaving } from './leaving.ts';
import { pathText } from './paths.ts';
import { groundOf } from './profile.ts';
import { readQuota } from './quota.ts';
import { asObject, burstless, type Draft, limited, quotasOf, replaced } from './quota-forms.ts';
import { resolveDownstream } from './resolve.ts';
import { DEFAULTS } from './values.ts';

/** What is known of a downstream's options. */
export interface Written {
  /** As the user wrote them. */
  readonly own: DownstreamPolicyInput;
  /** Options that the environment sets in their place, and by which variable; none outside a policy. */
  readonly environment?: {
    readonly options: DownstreamPolicyInput;
    readonly variables: Readonly<Record<string, string>>;
  };
  /** What they stand on. */
  readonly defaults: DownstreamPolicyInput;
}

/**
 * A wish in the form in which the user wrote the policy, such that the policy is accepted with it:
 * one option where that is enough, else all options of the downstream. Undefined where no way leads there.
 */
export function suggestChange(name: string, written: Written, wish: Wish): Suggestion | undefined {
  const { own, environment, defaults } = written;
  const options = {
    ...groundOf({ ...own, ...environment?.options }, defaults).options,
    ...own,
    ...environment?.options,
  };
  const planned = (): DownstreamPlan => resolveDownstream(name, { ...own, ...environment?.options }, defaults);
  for (const draft of draftsFor(wish, options, planned)) {
    const to = applied(own, draft);
    if (JSON.stringify(to) === JSON.stringify(own) || !isAccepted(name, to, defaults)) continue;
    // What the environment sets stays: the policy must be accepted with it as well.
    if (environment !== undefined && !isAccepted(name, { ...to, ...environment.options }, defaults)) continue;
    const suggestion = inPlace(name, draft, to, written, planned);
    if (suggestion !== undefined) return suggestion;
  }
  return undefined;
}

function inPlace(
  name: string,
  draft: Draft,
  whole: DownstreamPolicyInput,
  { own, environment, defaults }: Written,
  planned: () => DownstreamPlan,
): Suggestion | undefined {
  const [[option, to] = [], ...more] = Object.entries(draft);
  if (option === undefined) return undefined;
  const variable = Object.keys(draft).flatMap((key) => environment?.variables[key] ?? [])[0];
  const byVariable = variable === undefined ? {} : { variable };
  if (more.length > 0 || to === undefined) {
    if (JSON.stringify(own) === JSON.stringify(whole)) return undefined;
    return { path: pathText(['downstreams', name]), from: plain(own), to: plain(whole), ...byVariable };
  }
  const key = option as keyof DownstreamPolicyInput;
  const from = own[key] ?? null;
  const ground = groundOf({ ...own, ...environment?.options }, defaults).options;
  const inForce = environment?.options[key] ?? own[key] ?? ground[key] ?? standard(option, planned);
  if (JSON.stringify(inForce) === JSON.stringify(to)) return undefined;
  const isElsewhere = inForce !== undefined && JSON.stringify(inForce) !== JSON.stringify(from);
  return {
    path: pathText(['downstreams', name, option]),
    from,
    to,
    ...(isElsewhere ? { inForce } : {}),
    ...byVariable,
  };
}

/** What is in force where nobody says anything. */
function standard(option: string, planned: () => DownstreamPlan): unknown {
  if (option === 'utilization') return DEFAULTS.utilization;
  if (option !== 'burst') return undefined;
  const requests = planned().quotas.filter(({ unit }) => unit === REQUESTS);
  return requests.toSorted((a, b) => a.windowMs - b.windowMs)[0]?.burst;
}

/** The ways to grant a wish, the simplest first. */
function draftsFor(wish: Wish, options: DownstreamPolicyInput, plan: () => DownstreamPlan): Draft[] {
  const quotas = quotasOf(options);
  const utilization = options.utilization ?? DEFAULTS.utilization;
  switch (wish.kind) {
    case 'limit':
      return withoutBurst(replaced(options, wish.quota, (quota) => limited(quota, wish.limit)));
    case 'bucket':
      return withoutBurst(replaced(options, wish.quota, (quota) => ({ ...asObject(quota), providerBurst: wish.size })));
    case 'add':
      return withoutBurst([...quotas, wish.quota]);
    case 'declare':
      return options.unlimited === true ? [{ quota: wish.quota, unlimited: undefined }] : [{ quota: wish.quota }];
    case 'leave':
      return leaving(options, plan(), wish);
    case 'narrow':
      return narrower(options, wish.quota, utilization);
  }
}

/** The new quota as it is; where a burst of the user's own is too large for it, with the default one. */
function withoutBurst(quota: QuotaInput | readonly QuotaInput[]): Draft[] {
  const inner = Array.isArray(quota) ? (quota as QuotaInput[]).map(burstless) : burstless(quota as QuotaInput);
  return [{ quota }, { quota: inner }, { quota: inner, burst: undefined }];
}

function narrower(options: DownstreamPolicyInput, text: string, utilization: number): Draft[] {
  const drafts: Draft[] = [];
  const quota = quotasOf(options).find((one) => readQuota(one)?.text === text);
  if (typeof quota === 'object' && quota.providerBurst !== undefined) {
    const { providerBurst: _size, burst: _burst, ...rest } = quota;
    const bare = Object.keys(rest).length === 2 ? text : rest;
    drafts.push(...withoutBurst(replaced(options, text, () => bare)));
  } else if (typeof quota === 'object' && quota.burst !== undefined) {
    drafts.push({ quota: replaced(options, text, burstless) });
  }
  if (utilization > DEFAULTS.utilization) {
    drafts.push({ utilization: DEFAULTS.utilization }, { utilization: DEFAULTS.utilization, burst: undefined });
  }
  if (options.burst !== undefined) drafts.push({ burst: 1 });
  drafts.push({ utilization: Math.floor(utilization * 90) / 100 });
  return drafts;
}

function applied(own: DownstreamPolicyInput, draft: Draft): DownstreamPolicyInput {
  const changed = Object.entries({ ...own, ...draft }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(changed) as DownstreamPolicyInput;
}

function isAccepted(name: string, own: DownstreamPolicyInput, defaults: DownstreamPolicyInput): boolean {
  try {
    resolveDownstream(name, own, defaults);
    return true;
  } catch (error) {
    if (error instanceof PolicyError) return false;
    throw error;
  }
}

function plain(options: DownstreamPolicyInput): unknown {
  return structuredClone(options);
}
