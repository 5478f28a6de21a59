import type { CounterEvidence } from '../base/evidence.ts';
import type { DownstreamPlan, QuotaPlan } from '../base/plan.ts';
import type { QuotaReading } from '../base/verdict.ts';
import { REQUESTS } from '../base/words.ts';
import { Counter } from './counter.ts';
import type { OwnUse } from './own-use.ts';

/** Names come from answers: what a server makes up must not fill the memory. */
const MOST_COUNTERS = 16;
/** Answers in a row that must name the same limit before it is believed. */
const AGREEING = 3;
/** What others use is worth a word from this share of the quota on, and from so many permits. */
const WORTH_SHARE = 0.03;
const WORTH_PERMITS = 2;
/** Windows in a row, of which none overlaps the next. */
const WINDOWS = 2;

/** What is worth saying before any 429. */
export type Sign =
  | { readonly kind: 'limit'; readonly quota: QuotaPlan; readonly limit: number; readonly isDeclared: boolean }
  | { readonly kind: 'others'; readonly quota: QuotaPlan; readonly evidence: CounterEvidence };

/** All that a server has told a lane of its limits. */
export class Counters {
  readonly #counters: Counter[] = [];

  /** Takes in one answer's readings; `use` has been moved on to it. Returns what is worth saying. */
  hear(readings: readonly QuotaReading[], plan: DownstreamPlan, use: OwnUse): Sign[] {
    const signs: Sign[] = [];
    for (const [at, said] of readings.entries()) {
      const reading = isSound(said) ? said : mended(said);
      const counter = this.#counterOf(reading, readings, at);
      counter.hear(reading, use.now);
      const index = counter.quotaOf(plan.quotas);
      const quota = plan.quotas[index];
      if (quota === undefined) continue;
      const { limit } = reading;
      const isBelievable = limit !== undefined && (limit <= quota.limit || counter.hasSeen(quota));
      if (limit !== undefined && isBelievable && counter.agreed >= AGREEING) {
        const isKnown = isDeclared(Math.floor(limit), quota);
        if (!isKnown || counter.isDrifting) signs.push({ kind: 'limit', quota, limit, isDeclared: isKnown });
        counter.isDrifting = !isKnown;
      }
      const isSign = counter.hearOthers(quota, use, allowedToOthers(quota));
      if (isSign && counter.windowsOfOthers >= WINDOWS) {
        signs.push({
          kind: 'others',
          quota,
          evidence: { ...counter.evidence(index, quota, use, use.now), ...counter.peak },
        });
      }
    }
    return signs;
  }

  /** What is known of every limit that the server has told of. */
  evidence({ quotas }: DownstreamPlan, use: OwnUse, now: number): CounterEvidence[] {
    return this.#counters.map((counter) => {
      const index = counter.quotaOf(quotas);
      return counter.evidence(index, quotas[index], use, now);
    });
  }

  /** Several without a name, in one answer, are told apart by their order: `at` is the place of this one. */
  #counterOf(reading: QuotaReading, readings: readonly QuotaReading[], at: number): Counter {
    let order = 0;
    for (let i = 0; i < at; i++) if (isSame(readings[i], reading)) order++;
    for (const counter of this.#counters) if (counter.order === order && isSame(counter.said, reading)) return counter;
    const counter = new Counter(reading, order);
    if (this.#counters.length >= MOST_COUNTERS) {
      // What has not been heard of for longest makes room.
      const oldest = this.#counters.reduce((old, one) => (one.heardAt < old.heardAt ? one : old));
      this.#counters.splice(this.#counters.indexOf(oldest), 1);
    }
    this.#counters.push(counter);
    return counter;
  }
}

/** Whether two readings are about one limit of the server's. */
function isSame(a: QuotaReading | undefined, b: QuotaReading): boolean {
  return a?.unit === b.unit && a?.windowMs === b.windowMs && a?.policy === b.policy;
}

function isDeclared(limit: number, quota: QuotaPlan): boolean {
  return limit === quota.limit || limit === quota.providerBurst;
}

/** Other workers of ours take their part without anybody having to hear of it. */
function allowedToOthers({ limit, share }: QuotaPlan): number {
  return limit - share + Math.max(WORTH_PERMITS, limit * WORTH_SHARE);
}

/** A classifier is user code: what it says is not believed unseen. */
function isSound(reading: QuotaReading): boolean {
  if (typeof reading !== 'object' || reading === null) return false;
  const { limit, remaining, resetMs, windowMs, unit, policy } = reading;
  const isCounted = isCount(limit ?? 1) && limit !== 0 && isCount(remaining ?? 1);
  const isTimed = isCount(resetMs ?? 1) && isCount(windowMs ?? 1) && windowMs !== 0;
  return (
    isCounted && isTimed && typeof (unit ?? '') === 'string' && unit !== 'request' && typeof (policy ?? '') === 'string'
  );
}

/** The same without what is no number, or no name. */
function mended(reading: QuotaReading): QuotaReading {
  const { limit, remaining, resetMs, windowMs, unit, policy }: QuotaReading = reading ?? {};
  return {
    ...(isCount(limit) && limit > 0 ? { limit } : {}),
    ...(isCount(remaining) ? { remaining } : {}),
    ...(isCount(resetMs) ? { resetMs } : {}),
    ...(isCount(windowMs) && windowMs > 0 ? { windowMs } : {}),
    ...(typeof unit === 'string' ? { unit: unit === 'request' ? REQUESTS : unit } : {}),
    ...(typeof policy === 'string' ? { policy } : {}),
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}
