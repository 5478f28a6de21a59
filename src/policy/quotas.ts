import type { QuotaPlan } from '../base/plan.ts';
import { REQUESTS } from '../base/words.ts';
import { complain, type Draft, isOwn, type OptionName } from './draft.ts';
import type { QuotaInput } from './input.ts';
import type { Path } from './paths.ts';
import { type DeclaredQuota, readQuota } from './quota.ts';
import { burstBeside, defaultBurst, largestBurst, planQuota, type Share, shareOf, worstWindow } from './sizing.ts';

const SHARED: readonly OptionName[] = ['utilization', 'workers'];

interface Entry {
  readonly declared: DeclaredQuota;
  /** Where it stands below `quota`. */
  readonly inside: Path;
}

/** Every declared quota, shared out and sized; what cannot be kept is a problem and left out. */
export function planQuotas(draft: Draft, utilization: number, workers: number): QuotaPlan[] {
  const entries = declaredQuotas(draft);
  const shortest = shortestRequests(entries);
  if (draft.options.burst !== undefined && shortest === undefined && isOwn(draft, 'burst')) {
    complain(draft, { option: 'burst' }, ['quota', 'unlimited'], {
      message:
        'burst is the bucket of a request quota, and none is declared; give another quota its own: quota: { limit, per, unit, burst }',
    });
  }
  const plans: QuotaPlan[] = [];
  for (const entry of entries) {
    const { share, sized } = shareOf(entry.declared.limit, utilization, workers);
    if (share < 1) {
      refuseShare(draft, entry, workers);
      continue;
    }
    const burst = burstOf(draft, entry, entry === shortest, { share, sized }, utilization, workers);
    plans.push(planQuota(entry.declared, { share, sized }, burst));
  }
  return plans;
}

function declaredQuotas(draft: Draft): Entry[] {
  const { quota } = draft.options;
  if (quota === undefined) return [];
  const isList = Array.isArray(quota);
  const inputs = (isList ? quota : [quota]) as readonly QuotaInput[];
  const seen = new Map<string, string>();
  const entries: Entry[] = [];
  inputs.forEach((input, index) => {
    const declared = readQuota(input);
    if (declared === undefined) return;
    const inside = isList ? [index] : [];
    const key = `${declared.windowMs} ${declared.unit}`;
    const before = seen.get(key);
    if (before !== undefined) {
      complain(draft, { option: 'quota', inside }, [], {
        message: `${declared.text} has the same unit and window as ${before}; keep the smaller one`,
        found: declared.text,
      });
      return;
    }
    seen.set(key, declared.text);
    entries.push({ declared, inside });
  });
  return entries;
}

/** The units that the downstream counts, those of quotas that break a rule included. */
export function declaredUnits(draft: Draft): string[] {
  const { quota } = draft.options;
  const inputs = (quota === undefined ? [] : Array.isArray(quota) ? quota : [quota]) as readonly QuotaInput[];
  return inputs.flatMap((input) => readQuota(input)?.unit ?? []);
}

function shortestRequests(entries: readonly Entry[]): Entry | undefined {
  const requests = entries.filter(({ declared }) => declared.unit === REQUESTS);
  return requests.toSorted((a, b) => a.declared.windowMs - b.declared.windowMs)[0];
}

function refuseShare(draft: Draft, entry: Entry, workers: number): void {
  const { limit, text } = entry.declared;
  complain(draft, { option: 'quota', inside: entry.inside }, SHARED, {
    message: `${text} cannot be divided among ${workers} workers: each would have ${formatShare(limit / workers)} of it, less than 1; let at most ${limit} of them call this downstream and set its workers to ${limit}`,
    found: text,
    expected: `workers: ${limit} or less`,
  });
}

function formatShare(value: number): string {
  return String(Number(value.toPrecision(2)));
}

function burstOf(
  draft: Draft,
  entry: Entry,
  isShortest: boolean,
  part: Share,
  utilization: number,
  workers: number,
): number {
  const { burst: inner, providerBurst } = entry.declared;
  const outer = isShortest ? draft.options.burst : undefined;
  if (inner !== undefined && outer !== undefined && isOwn(draft, 'burst')) {
    complain(draft, { option: 'burst' }, ['quota'], {
      message: `${entry.declared.text} has a burst of its own; keep one of the two`,
      found: outer,
    });
  }
  const chosen = inner ?? outer;
  const largest = providerBurst === undefined ? largestBurst(part) : Math.floor(providerBurst / workers);
  if (providerBurst !== undefined && largest < 1) {
    complain(draft, { option: 'quota', inside: [...entry.inside, 'providerBurst'] }, SHARED, {
      message: `a bucket of ${providerBurst} cannot be divided among ${workers} workers: each would have less than 1; set workers to ${providerBurst} or less`,
      found: providerBurst,
    });
    return 1;
  }
  if (chosen === undefined) {
    return providerBurst === undefined ? defaultBurst(part) : burstBeside(providerBurst, utilization, workers);
  }
  if (chosen > largest) refuseBurst(draft, entry, chosen, largest, part, workers);
  return chosen;
}

function refuseBurst(draft: Draft, entry: Entry, chosen: number, largest: number, part: Share, workers: number): void {
  const { text, burst: inner, providerBurst } = entry.declared;
  const each = workers === 1 ? '' : ` for each of ${workers} workers`;
  const reason =
    providerBurst === undefined
      ? `after an idle spell ${worstWindow(chosen, part.sized)} calls could start in one window of ${text}, where ${part.share} are allowed${each}; the largest legal burst is ${largest}; if the provider itself runs a token bucket, declare its size: quota: { limit: ${entry.declared.limit}, per: ${windowWord(text)}, providerBurst: N }`
      : `the provider's own bucket allows ${largest}${each}; the largest legal burst is ${largest}`;
  const place =
    inner === undefined
      ? ({ option: 'burst' } as const)
      : ({ option: 'quota', inside: [...entry.inside, 'burst'] } as const);
  complain(draft, place, ['quota', ...SHARED], {
    message: `burst ${chosen} is too large: ${reason}`,
    found: chosen,
    expected: `at most ${largest}`,
  });
}

function windowWord(text: string): string {
  return text.slice(text.indexOf('/') + 1);
}
