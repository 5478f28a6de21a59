import type { DownstreamPlan, PolicyChange, PolicyPlan, QuotaPlan } from '../base/plan.ts';
import { canonicalText } from './hash.ts';

/**
 * What differs between two resolved policies, in the words of the options: durations in
 * milliseconds, `quota` matched by unit and window. A downstream that is new or gone is one change
 * with the path `''`, whose `to` or `from` is its plan.
 */
export function diffPlans(
  before: Pick<PolicyPlan, 'downstreams'>,
  after: Pick<PolicyPlan, 'downstreams'>,
): PolicyChange[] {
  const names = new Set([...before.downstreams.keys(), ...after.downstreams.keys()]);
  return [...names].flatMap((name) => diffDownstream(name, before.downstreams.get(name), after.downstreams.get(name)));
}

/** The changes of one downstream; empty where nothing that counts has changed. */
export function diffDownstream(
  downstream: string,
  from: DownstreamPlan | undefined,
  to: DownstreamPlan | undefined,
): PolicyChange[] {
  if (from === undefined && to === undefined) return [];
  if (from === undefined || to === undefined) return [{ downstream, path: '', from, to }];
  const { quotas: quotasBefore, name: _before, ...optionsBefore } = { mode: 'enforce', ...from };
  const { quotas: quotasAfter, name: _after, ...optionsAfter } = { mode: 'enforce', ...to };
  const pairs = [
    ...diffQuotas(quotasBefore, quotasAfter),
    ...diffValues('', optionsBefore as Options, optionsAfter as Options),
  ];
  return pairs.map((pair) => ({ downstream, ...pair }));
}

/** Where alerts are sent: named, not shown, since options may hold addresses. */
export function diffSinks(before: PolicyPlan['alerts'], after: PolicyPlan['alerts']): PolicyChange[] {
  if (canonicalText(before) === canonicalText(after)) return [];
  const from = before?.map(({ name }) => name);
  const to = after?.map(({ name }) => name);
  return [{ downstream: '', path: 'alerts', from, to, note: 'alerts go where they went until the next start' }];
}

type Options = Readonly<Record<string, unknown>>;
type Pair = Omit<PolicyChange, 'downstream'>;

function diffValues(prefix: string, before: Options, after: Options): Pair[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key): Pair[] => {
    const from = before[key];
    const to = after[key];
    if (canonicalText(from) === canonicalText(to)) return [];
    const path = `${prefix}${optionName(key)}`;
    return isTable(from) && isTable(to) ? diffValues(`${path}.`, from, to) : [{ path, from, to }];
  });
}

/** `maxWaitMs` of a plan is the option `maxWait`. */
function optionName(key: string): string {
  return key.endsWith('Ms') ? key.slice(0, -2) : key;
}

function isTable(value: unknown): value is Options {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function diffQuotas(before: readonly QuotaPlan[], after: readonly QuotaPlan[]): Pair[] {
  const from = byWindow(before);
  const to = byWindow(after);
  const keys = new Set([...from.keys(), ...to.keys()]);
  return [...keys].flatMap((key): Pair[] => {
    const old = from.get(key);
    const now = to.get(key);
    if (old === undefined || now === undefined) return [{ path: 'quota', from: old?.text, to: now?.text }];
    const { text: _old, ...oldNumbers } = old;
    const { text: _now, ...newNumbers } = now;
    const changes = diffValues(`quota[${now.text}].`, { ...oldNumbers }, { ...newNumbers });
    return old.limit === now.limit ? changes : [{ path: 'quota', from: old.text, to: now.text }, ...changes];
  });
}

function byWindow(quotas: readonly QuotaPlan[]): Map<string, QuotaPlan> {
  return new Map(quotas.map((quota) => [`${quota.windowMs} ${quota.unit}`, quota]));
}
