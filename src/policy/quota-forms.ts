import { windowText } from '../base/quota-text.ts';
import { REQUESTS } from '../base/words.ts';
import type { DownstreamPolicyInput, QuotaInput } from './input.ts';
import { readQuota } from './quota.ts';

/** One way to grant a wish: options of the downstream with their new values; undefined takes one away. */
export type Draft = Readonly<Partial<Record<keyof DownstreamPolicyInput, unknown>>>;

export function quotasOf({ quota }: DownstreamPolicyInput): QuotaInput[] {
  if (quota === undefined) return [];
  return Array.isArray(quota) ? [...(quota as readonly QuotaInput[])] : [quota as QuotaInput];
}

/** The user's quotas with the one of that text replaced: one where one was written, a list where a list was. */
export function replaced(
  options: DownstreamPolicyInput,
  text: string,
  change: (quota: QuotaInput) => QuotaInput,
): QuotaInput | QuotaInput[] {
  const quotas = quotasOf(options).map((quota) => (readQuota(quota)?.text === text ? change(quota) : quota));
  return Array.isArray(options.quota) ? quotas : (quotas[0] ?? text);
}

export function limited(quota: QuotaInput, limit: number): QuotaInput {
  return typeof quota === 'string' ? quota.replace(/^\s*\d+/, String(limit)) : { ...quota, limit };
}

export function asObject(quota: QuotaInput): Exclude<QuotaInput, string> {
  if (typeof quota === 'object') return quota;
  const { limit, windowMs, unit } = readQuota(quota)!;
  return { limit, per: windowText(windowMs), ...(unit === REQUESTS ? {} : { unit }) };
}

export function burstless(quota: QuotaInput): QuotaInput {
  if (typeof quota === 'string') return quota;
  const { burst: _, ...rest } = quota;
  return rest;
}
