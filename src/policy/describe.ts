import { systemClock } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import type { DownstreamPlan, PolicyPlan, QuotaPlan } from '../base/plan.ts';
import { type Mode, REQUESTS } from '../base/words.ts';
import { muteText } from './mute.ts';
import { largestBurst, worstWindow } from './sizing.ts';

/** A downstream as a person reads it. */
export interface Description {
  readonly name: string;
  /** `carrier: they allow 60 per minute; ...` */
  readonly sentence: string;
  readonly warnings: readonly string[];
}

/** What is known beside the plan. */
export interface DescribeOptions {
  /** Epoch milliseconds; default: now. */
  readonly now?: number;
  /** Where the mode of each downstream comes from. */
  readonly modeOrigins?: ReadonlyMap<string, string>;
}

/** What a policy means, downstream by downstream, and what about it is likely to hurt. */
export function describePolicy(plan: PolicyPlan, options: DescribeOptions = {}): Description[] {
  return Array.from(plan.downstreams.values(), (each) => describeDownstream(each, options));
}

const MODE_SENTENCES: Readonly<Record<Mode, readonly string[]>> = {
  enforce: [],
  observe: [
    'only observed: every call starts at once, and what the limits below would have done is reported as would-start and would-refuse',
  ],
  off: ['switched off: every call starts at once, the limits below are not in force, and only a 429 is reported'],
};

/** One downstream in a plain sentence, with its warnings. */
export function describeDownstream(plan: DownstreamPlan, options: DescribeOptions = {}): Description {
  const { now = systemClock.wallNow(), modeOrigins } = options;
  const origin = modeOrigins?.get(plan.name);
  const from = origin === undefined ? '' : ` (set by ${origin})`;
  const parts = MODE_SENTENCES[plan.mode ?? 'enforce'].map((sentence) => `${sentence}${from}`);
  if (plan.unlimited) parts.push('unlimited: every call starts at once and is only measured');
  else parts.push(...quotaParts(plan), ...limitParts(plan), waitPart(plan), ...enginePart(plan));
  const { mute } = plan;
  if (mute !== undefined && mute.until > now) parts.push(`muted until ${muteText(mute.until)} (${mute.reason})`);
  const profile = plan.profile === undefined ? '' : ` (profile ${plan.profile})`;
  const sentence = `${plan.name}${profile}: ${parts.join('; ')}`;
  return { name: plan.name, sentence, warnings: [...warningsOf(plan), ...muteWarning(plan, now)] };
}

function quotaParts(plan: DownstreamPlan): string[] {
  if (plan.quotas.length === 0) return ['no quota is declared, so calls start as they come'];
  return plan.quotas.map((quota, index) => quotaPart(quota, plan, index === 0 ? 'they' : 'they also'));
}

function quotaPart(quota: QuotaPlan, { workers, engine }: DownstreamPlan, they: string): string {
  const { limit, share, sized, burst, windowMs } = quota;
  const things = quota.unit === REQUESTS ? '' : ` ${quota.unit}`;
  const verb = quota.unit === REQUESTS ? 'starts' : 'spends';
  const own = workers === 1 ? '' : `, ${count(share)}${things} for each of ${workers} workers`;
  const pace =
    sized >= 1 ? `${count(sized)} ${windowPhrase('a', windowMs)}` : `one every ${formatDuration(windowMs / sized)}`;
  const bound =
    quota.providerBurst === undefined
      ? `never more than ${count(engine === 'bottleneck' ? share : worstWindow(burst, sized))} in any ${windowNoun(windowMs)}`
      : `within the bucket of ${count(quota.providerBurst)} that they run themselves (their promise takes the place of a bound on every window)`;
  return `${they} allow ${count(limit)}${things} per ${windowNoun(windowMs)}${own}; Penstock ${verb} at most ${count(burst)}${things} at once and ${pace}, ${bound}`;
}

function limitParts(plan: DownstreamPlan): string[] {
  const parts: string[] = [];
  if (plan.maxConcurrent !== undefined) parts.push(`at most ${count(plan.maxConcurrent)} in flight`);
  if (plan.minIntervalMs !== undefined) {
    parts.push(`at least ${formatDuration(plan.minIntervalMs)} between two starts`);
  }
  if (plan.maxQueueDepth !== undefined) {
    parts.push(
      plan.maxQueueDepth === 0
        ? 'what cannot start at once is refused'
        : `at most ${count(plan.maxQueueDepth)} wait, further calls are refused`,
    );
  }
  return parts;
}

function enginePart(plan: DownstreamPlan): string[] {
  if (plan.engine !== 'bottleneck') return [];
  return [
    "Bottleneck hands out the turns, at this pace or, where the program hands in a limiter, at that limiter's: some 5 ms for each call, and no wait is foretold",
  ];
}

function waitPart(plan: DownstreamPlan): string {
  if (plan.maxWaitMs !== undefined) return `no call waits longer than ${formatDuration(plan.maxWaitMs)}`;
  const waits = plan.quotas.length > 0 || plan.maxConcurrent !== undefined || plan.minIntervalMs !== undefined;
  return waits && plan.maxQueueDepth !== 0
    ? 'calls without a deadline may wait without end'
    : 'calls wait only while a hold lasts';
}

/** Below this share of the quota, jitter of the network alone draws 429s. */
const LEAST_LEFT_OVER = 0.05;
/** Ten calls at once are a small fan-out; if the last of them waits longer than this, it is worth a word. */
const SMALL_FAN_OUT = 10;
const LONG_WAIT_MS = 120_000;

function warningsOf(plan: DownstreamPlan): string[] {
  const ofQuotas = plan.quotas.flatMap((quota) => [
    ...leftOverWarning(quota),
    ...costWarning(quota, plan.defaultCost[quota.unit] ?? 0),
    ...slowWarning(quota, plan.defaultCost[quota.unit] ?? 1),
  ]);
  return [...ofQuotas, ...engineWarning(plan)];
}

function engineWarning(plan: DownstreamPlan): string[] {
  if (plan.engine !== 'bottleneck' || plan.quotas.length < 2) return [];
  const quotas = plan.quotas.map(({ text }) => text).join(' and ');
  return [
    `engine: bottleneck paces one of ${quotas}; the others hold back what would be too much in a window, without a pace of their own; engine: penstock paces each`,
  ];
}

function muteWarning({ mute }: DownstreamPlan, now: number): string[] {
  if (mute === undefined || mute.until > now) return [];
  return [`its mute ended at ${muteText(mute.until)}, so that sinks hear of it again; remove mute, or renew it`];
}

function leftOverWarning(quota: QuotaPlan): string[] {
  if (quota.providerBurst !== undefined) return [];
  const left = quota.share - quota.sized - (quota.burst - 1);
  if (left / quota.share >= LEAST_LEFT_OVER - 1e-9) return [];
  const calm = Math.max(1, Math.floor(quota.share * (1 - LEAST_LEFT_OVER) - quota.sized + 1 + 1e-9));
  const help =
    quota.burst > 1 && calm < quota.burst
      ? `use a burst of ${count(calm)} or less, or a lower utilization`
      : 'use a lower utilization';
  return [
    `${quota.text}: less than 5 % of the quota is left over (${count(Math.max(left, 0))} of ${count(quota.share)}), so that jitter of the network alone can draw 429s; ${help}`,
  ];
}

function costWarning(quota: QuotaPlan, cost: number): string[] {
  if (cost <= quota.burst) return [];
  const largest = quota.providerBurst === undefined ? largestBurst(quota) : quota.providerBurst;
  const help =
    cost <= largest
      ? `a burst of ${count(cost)} avoids that`
      : `no legal burst avoids that (the largest is ${count(largest)}); a lower utilization allows a larger one`;
  return [
    `${quota.text}: a usual call costs ${count(cost)} ${quota.unit} and the burst is ${count(quota.burst)}: every such call waits for a full bucket and leaves a debt of ${count(cost - quota.burst)} that all classes wait out; ${help}`,
  ];
}

function slowWarning(quota: QuotaPlan, cost: number): string[] {
  const intervalMs = (quota.windowMs / quota.sized) * cost;
  if (intervalMs * SMALL_FAN_OUT <= LONG_WAIT_MS) return [];
  return [
    `${quota.text}: once the burst is spent, one call starts every ${formatDuration(intervalMs)} and the last of ten waits ${formatDuration(intervalMs * SMALL_FAN_OUT)}; deadlines of minutes are hopeless for more than a few calls at once`,
  ];
}

const NOUNS: ReadonlyMap<number, string> = new Map([
  [1_000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
]);

function windowNoun(windowMs: number): string {
  return NOUNS.get(windowMs) ?? formatDuration(windowMs);
}

/** `a minute`, `an hour`, `per 3 s`. */
function windowPhrase(article: string, windowMs: number): string {
  const noun = NOUNS.get(windowMs);
  if (noun === undefined) return `per ${formatDuration(windowMs)}`;
  return `${noun === 'hour' ? 'an' : article} ${noun}`;
}

/** `200,000`, `9.6`. */
function count(value: number): string {
  const [whole = '0', fraction] = String(Math.round(value * 100) / 100).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
