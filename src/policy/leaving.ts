import type { Wish } from '../base/evidence.ts';
import type { DownstreamPlan, QuotaPlan } from '../base/plan.ts';
import { REQUESTS } from '../base/words.ts';
import type { DownstreamPolicyInput, QuotaInput } from './input.ts';
import { readQuota } from './quota.ts';
import { asObject, type Draft, quotasOf } from './quota-forms.ts';
import { burstBeside, defaultBurst, type Share, shareOf, wholeDown } from './sizing.ts';
import { DEFAULTS } from './values.ts';

/**
 * The ways to leave others their part of one quota: the default's share of what is left, and a bucket with which
 * no window holds more. `utilization` is for every quota; the buckets of the other ones stay as they are.
 */
export function leaving(
  options: DownstreamPolicyInput,
  plan: DownstreamPlan,
  { quota: text, left }: Extract<Wish, { kind: 'leave' }>,
): Draft[] {
  const shared = plan.quotas.find((quota) => quota.text === text);
  if (shared === undefined) return [];
  const utilization = Math.min(plan.utilization, rounded((DEFAULTS.utilization * left) / shared.limit));
  if (!(utilization > 0)) return [];
  const narrower = utilization < plan.utilization ? { utilization } : {};
  const shortest = plan.quotas.filter(({ unit }) => unit === REQUESTS).toSorted((a, b) => a.windowMs - b.windowMs)[0];
  const bursts = plan.quotas.map((quota) => {
    const part = shareOf(quota.limit, utilization, plan.workers);
    const room = quota === shared ? { ...part, share: left / plan.workers } : undefined;
    return { quota, isShortest: quota === shortest, ...burstsFor(quota, part, room, { utilization, plan }) };
  });
  const draft: { utilization?: number; quota?: unknown; burst?: number } = { ...narrower };
  const inputs = quotasOf(options).map((input) => {
    const found = bursts.find(({ quota }) => quota.text === readQuota(input)?.text);
    if (found === undefined) return input;
    const inner = typeof input === 'object' ? input.burst : undefined;
    const outer = found.isShortest ? options.burst : undefined;
    if ((inner ?? outer ?? found.byDefault) === found.wanted) return input;
    if (inner === undefined && found.isShortest) draft.burst = found.wanted;
    else return withBurst(input, found.wanted);
    return input;
  });
  if (JSON.stringify(inputs) !== JSON.stringify(quotasOf(options))) {
    draft.quota = Array.isArray(options.quota) ? inputs : inputs[0];
  }
  // A call that costs more than such a bucket holds needs the one that is there.
  return [draft, narrower].filter((one) => Object.keys(one).length > 0);
}

/** The bucket that a quota is to have, never larger than the one it has, and the one that it has by default. */
function burstsFor(
  { burst, providerBurst }: QuotaPlan,
  part: Share,
  room: Share | undefined,
  { utilization, plan }: { readonly utilization: number; readonly plan: DownstreamPlan },
): { readonly byDefault: number; readonly wanted: number } {
  const byDefault =
    providerBurst === undefined ? defaultBurst(part) : burstBeside(providerBurst, utilization, plan.workers);
  const most = room === undefined ? burst : providerBurst === undefined ? defaultBurst(room) : byDefault;
  return { byDefault, wanted: Math.min(burst, most) };
}

function withBurst(input: QuotaInput, burst: number): QuotaInput {
  return { ...asObject(input), burst };
}

/** Down to hundredths, or to two digits of less than a tenth. */
function rounded(utilization: number): number {
  const digits = Math.max(2, 1 - Math.floor(Math.log10(utilization)));
  return Number((wholeDown(utilization * 10 ** digits) / 10 ** digits).toFixed(digits));
}
