import { durationMs, formatDuration } from '../base/duration.ts';
import { nearest } from '../base/nearest.ts';
import type { CooldownPlan, DownstreamPlan, QuotaPlan, WarmPlan } from '../base/plan.ts';
import { type Duration, REQUESTS } from '../base/words.ts';
import { complain, type Draft, isOwn, type OptionName } from './draft.ts';
import { planMute } from './mute.ts';
import { durationText } from './quota.ts';
import { declaredUnits, planQuotas } from './quotas.ts';
import { DEFAULTS } from './values.ts';

/** Limits that an `unlimited` downstream cannot have. */
const LIMITS: readonly OptionName[] = [
  'quota',
  'burst',
  'maxConcurrent',
  'minInterval',
  'maxQueueDepth',
  'maxWait',
  'engine',
];

/** The plan of one downstream; `now` (epoch milliseconds) bounds its mute. What breaks a rule is noted in the draft; the plan is then not to be used. */
export function planDownstream(draft: Draft, now: number): DownstreamPlan {
  const { options } = draft;
  const workers = options.workers ?? DEFAULTS.workers;
  const utilization = options.utilization ?? DEFAULTS.utilization;
  const unlimited = options.unlimited ?? false;
  if (unlimited) refuseLimits(draft);
  const quotas = unlimited ? [] : planQuotas(draft, utilization, workers);
  const cooldown = planCooldown(draft);
  return {
    name: draft.name,
    ...(options.mode === undefined || options.mode === 'enforce' ? {} : { mode: options.mode }),
    quotas,
    utilization,
    ...(unlimited ? {} : planLimits(draft, workers)),
    pauseAboveMs: planPause(draft, cooldown),
    whilePaused: options.whilePaused ?? DEFAULTS.whilePaused,
    cooldown,
    warm: planWarm(draft, quotas),
    throttleStatuses: [...(options.throttleStatuses ?? DEFAULTS.throttleStatuses)],
    priority: options.priority ?? DEFAULTS.priority,
    lowerShare: options.lowerShare ?? DEFAULTS.lowerShare,
    fairness: options.fairness ?? DEFAULTS.fairness,
    defaultCost: planCost(draft, quotas),
    leaseGraceMs: options.leaseGrace === 'never' ? Infinity : ms(options.leaseGrace, DEFAULTS.leaseGrace),
    maxHoldMs: ms(options.maxHold, DEFAULTS.maxHold),
    idempotent: options.idempotent ?? false,
    maxAccounts: options.maxAccounts ?? DEFAULTS.maxAccounts,
    unlimited,
    ...(options.engine === undefined ? {} : { engine: options.engine }),
    workers,
    ...(options.earlyAlerts === false ? { earlyAlerts: false } : {}),
    ...(options.hosts === undefined ? {} : { hosts: [...options.hosts] }),
    ...copied(options, 'profile'),
    ...copied(options, 'requiresUserAgent'),
    ...copied(options, 'retriesOff'),
    ...copied(options, 'owner'),
    ...copied(options, 'source'),
    ...copied(options, 'runbook'),
    ...copied(options, 'classify'),
    ...planMute(draft, now),
  };
}

function ms(value: Duration | undefined, fallback: Duration): number {
  return durationMs(value ?? fallback);
}

function copied<K extends 'profile' | 'requiresUserAgent' | 'retriesOff' | 'owner' | 'source' | 'runbook' | 'classify'>(
  options: Draft['options'],
  key: K,
): { readonly [k in K]?: string } {
  const value = options[key];
  return (value === undefined ? {} : { [key]: value }) as { readonly [k in K]?: string };
}

function refuseLimits(draft: Draft): void {
  for (const option of LIMITS) {
    if (!isOwn(draft, option)) continue;
    complain(draft, { option }, ['unlimited'], {
      message: 'a downstream that is unlimited has no admission control; remove this, or remove unlimited',
      found: draft.own[option],
    });
  }
}

type Limits = Pick<DownstreamPlan, 'maxConcurrent' | 'minIntervalMs' | 'maxQueueDepth' | 'maxWaitMs' | 'maxRunMs'>;

function planLimits(draft: Draft, workers: number): Limits {
  const { maxConcurrent, minInterval, maxQueueDepth, maxWait, maxRun } = draft.options;
  const share = maxConcurrent === undefined ? undefined : Math.floor(maxConcurrent / workers);
  if (share === 0) {
    complain(draft, { option: 'maxConcurrent' }, ['workers'], {
      message: `${maxConcurrent} cannot be divided among ${workers} workers: each would have less than 1; let at most ${maxConcurrent} of them call this downstream and set its workers to ${maxConcurrent}, or raise maxConcurrent to ${workers}`,
      found: maxConcurrent,
      expected: `${workers} or more`,
    });
  }
  const run = maxRun ?? (maxConcurrent === undefined ? undefined : DEFAULTS.maxRun);
  return {
    ...(share === undefined ? {} : { maxConcurrent: share }),
    ...(minInterval === undefined ? {} : { minIntervalMs: durationMs(minInterval) * workers }),
    ...(maxQueueDepth === undefined ? {} : { maxQueueDepth }),
    ...(maxWait === undefined ? {} : { maxWaitMs: durationMs(maxWait) }),
    ...(run === undefined ? {} : { maxRunMs: durationMs(run) }),
  };
}

function planCooldown(draft: Draft): CooldownPlan {
  const { base, max, ladder } = draft.options.cooldown ?? {};
  const baseMs = ms(base, DEFAULTS.cooldownBase);
  const maxMs = ms(max, DEFAULTS.cooldownMax);
  if (ladder !== undefined) {
    if (base !== undefined && draft.own.cooldown?.base !== undefined) {
      complain(draft, { option: 'cooldown', inside: ['base'] }, [], {
        message: 'the ladder takes the place of base and its doubling; remove one of the two',
        found: base,
      });
    }
    return { baseMs, maxMs, ladderMs: ladder.map(durationMs) };
  }
  if (baseMs > maxMs) {
    complain(draft, { option: 'cooldown', inside: [base === undefined ? 'max' : 'base'] }, [], {
      message: `base (${formatDuration(baseMs)}) is longer than max (${formatDuration(maxMs)})`,
      found: base ?? max,
      expected: `base at most max`,
    });
  }
  return { baseMs, maxMs };
}

function planPause(draft: Draft, cooldown: CooldownPlan): number {
  const pauseAboveMs = ms(draft.options.pauseAbove, DEFAULTS.pauseAbove);
  if (cooldown.ladderMs === undefined && pauseAboveMs < cooldown.maxMs) {
    complain(draft, { option: 'pauseAbove' }, ['cooldown'], {
      message: `pauseAbove (${formatDuration(pauseAboveMs)}) is less than cooldown.max (${formatDuration(cooldown.maxMs)}): a hold that Penstock chose itself would empty the queue; raise pauseAbove to ${durationText(cooldown.maxMs)} or more, or lower cooldown.max`,
      found: draft.options.pauseAbove,
      expected: `${durationText(cooldown.maxMs)} or more`,
    });
  }
  return pauseAboveMs;
}

function planWarm(draft: Draft, quotas: readonly QuotaPlan[]): WarmPlan {
  const { for: length, rateFactor, spacing } = draft.options.warm ?? {};
  const windows = quotas.filter(({ unit }) => unit === REQUESTS).map(({ windowMs }) => windowMs);
  const usual =
    windows.length === 0
      ? durationMs(DEFAULTS.warmWithoutQuota)
      : Math.min(Math.max(...windows), durationMs(DEFAULTS.warmMost));
  return {
    forMs: length === undefined ? usual : durationMs(length),
    rateFactor: rateFactor ?? DEFAULTS.rateFactor,
    spacingMs: ms(spacing, DEFAULTS.spacing),
  };
}

function planCost(draft: Draft, quotas: readonly QuotaPlan[]): Readonly<Record<string, number>> {
  const given = draft.options.defaultCost ?? {};
  const byUnit = new Map(Object.entries(typeof given === 'number' ? { [REQUESTS]: given } : given));
  // A table without a prototype: `constructor` is a unit like any other.
  const cost: Record<string, number> = Object.create(null);
  cost[REQUESTS] = byUnit.get(REQUESTS) ?? 1;
  for (const quota of quotas) {
    const amount = quota.unit === REQUESTS ? cost[REQUESTS] : byUnit.get(quota.unit);
    if (amount === undefined) refuseMissingCost(draft, quota);
    else cost[quota.unit] = amount;
    if (amount !== undefined && amount > quota.share) refuseCost(draft, quota, amount);
  }
  const units = [...new Set([REQUESTS, ...declaredUnits(draft)])];
  const own = draft.own.defaultCost;
  for (const unit of typeof own === 'object' ? Object.keys(own) : []) {
    if (units.includes(unit)) continue;
    const near = nearest(unit, units);
    complain(draft, { option: 'defaultCost', inside: [unit] }, ['quota', 'workers'], {
      message: `no quota counts ${unit}; declared are ${units.join(', ')}${near === undefined ? '' : `; did you mean ${near}?`}`,
      ...(near === undefined ? {} : { nearest: near }),
    });
  }
  return cost;
}

function refuseMissingCost(draft: Draft, quota: QuotaPlan): void {
  const example = Math.max(1, Math.floor(quota.sized / 100));
  complain(draft, { option: 'defaultCost' }, ['quota'], {
    message: `${quota.text} counts ${quota.unit}: say what a call takes that does not say, for example defaultCost: { ${quota.unit}: ${example} }`,
    found: draft.options.defaultCost,
    expected: `a cost in ${quota.unit}`,
  });
}

function refuseCost(draft: Draft, quota: QuotaPlan, amount: number): void {
  const each = quota.share === quota.limit ? '' : `, of which this worker has ${quota.share}`;
  const inside = typeof draft.options.defaultCost === 'number' ? [] : [quota.unit];
  complain(draft, { option: 'defaultCost', inside }, ['quota', 'workers'], {
    message: `${amount} is more than the whole quota of ${quota.text}${each}: no such call could ever start; use ${Math.max(1, Math.floor(quota.sized))} or less`,
    found: amount,
    expected: `at most ${quota.share}`,
  });
}
