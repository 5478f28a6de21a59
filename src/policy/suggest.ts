import type { Suggestion } from '../base/alert.ts';
import { PolicyError } from '../base/errors.ts';
import type { Wish } from '../base/evidence.ts';
import { windowText } from '../base/quota-text.ts';
import { REQUESTS } from '../base/words.ts';
import type { DownstreamPolicyInput, QuotaInput } from './input.ts';
import { pathText } from './paths.ts';
import { readQuota } from './quota.ts';
import { resolveDownstream } from './resolve.ts';
import { DEFAULTS } from './values.ts';

/** A downstream's options as they were written, and the defaults that they stand on. */
export interface Written {
  readonly own: DownstreamPolicyInput;
  readonly defaults: DownstreamPolicyInput;
}

/** One way to grant a wish: options of the downstream with their new values; undefined takes one away. */
type Draft = Readonly<Partial<Record<keyof DownstreamPolicyInput, unknown>>>;

/**
 * A wish in the form in which the user wrote the policy, such that the policy is accepted with it:
 * one option where that is enough, else all options of the downstream. Undefined where no way leads there.
 */
export function suggestChange(name: string, { own, defaults }: Written, wish: Wish): Suggestion | undefined {
  const options = { ...defaults, ...own };
  for (const draft of draftsFor(wish, options)) {
    const changed = applied(own, draft);
    if (!isAccepted(name, changed, defaults)) continue;
    if (JSON.stringify(changed) === JSON.stringify(own)) continue;
    const [[option, to] = [], ...more] = Object.entries(draft);
    if (option === undefined) continue;
    const isOne = more.length === 0 && to !== undefined;
    if (!isOne) return { path: pathText(['downstreams', name]), from: plain(own), to: plain(changed) };
    const from = options[option as keyof DownstreamPolicyInput] ?? standard(option);
    if (JSON.stringify(from) === JSON.stringify(to)) continue;
    return { path: pathText(['downstreams', name, option]), from, to };
  }
  return undefined;
}

/** What stands in a policy that does not say. */
function standard(option: string): unknown {
  return option === 'utilization' ? DEFAULTS.utilization : null;
}

/** The ways to grant a wish, the simplest first. */
function draftsFor(wish: Wish, options: DownstreamPolicyInput): Draft[] {
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
    case 'utilization': {
      const to = Math.floor(utilization * wish.factor * 100 + 1e-9) / 100;
      return to > 0 ? [{ utilization: to }, { utilization: to, burst: undefined }] : [];
    }
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

function quotasOf({ quota }: DownstreamPolicyInput): QuotaInput[] {
  if (quota === undefined) return [];
  return Array.isArray(quota) ? [...(quota as readonly QuotaInput[])] : [quota as QuotaInput];
}

/** The user's quotas with the one of that text replaced: one where one was written, a list where a list was. */
function replaced(
  options: DownstreamPolicyInput,
  text: string,
  change: (quota: QuotaInput) => QuotaInput,
): QuotaInput | QuotaInput[] {
  const quotas = quotasOf(options).map((quota) => (readQuota(quota)?.text === text ? change(quota) : quota));
  return Array.isArray(options.quota) ? quotas : (quotas[0] ?? text);
}

function limited(quota: QuotaInput, limit: number): QuotaInput {
  return typeof quota === 'string' ? quota.replace(/^\s*\d+/, String(limit)) : { ...quota, limit };
}

function asObject(quota: QuotaInput): Exclude<QuotaInput, string> {
  if (typeof quota === 'object') return quota;
  const { limit, windowMs, unit } = readQuota(quota)!;
  return { limit, per: windowText(windowMs), ...(unit === REQUESTS ? {} : { unit }) };
}

function burstless(quota: QuotaInput): QuotaInput {
  if (typeof quota === 'string') return quota;
  const { burst: _, ...rest } = quota;
  return rest;
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
