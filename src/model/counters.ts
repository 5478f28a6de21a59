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
  readonly #counters = new Map<string, Counter>();

  /** Takes in one answer's readings; `use` has been moved on to it. Returns what is worth saying. */
  hear(readings: readonly QuotaReading[], plan: DownstreamPlan, use: OwnUse): Sign[] {
    const signs: Sign[] = [];
    const seen = new Set<string>();
    for (const said of readings) {
      const reading = sound(said);
      const counter = this.#counterOf(reading, seen);
      counter.hear(reading, use.now);
      const index = counter.quotaOf(plan.quotas);
      const quota = plan.quotas[index];
      if (quota === undefined) continue;
      const { limit } = reading;
      const isBelievable = limit !== undefined && (limit <= quota.limit || counter.hasSeen(quota));
      if (limit !== undefined && isBelievable && counter.agreed >= AGREEING) {
        signs.push({ kind: 'limit', quota, limit, isDeclared: isDeclared(Math.floor(limit), quota) });
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
    return [...this.#counters.values()].map((counter) => {
      const index = counter.quotaOf(quotas);
      return counter.evidence(index, quotas[index], use, now);
    });
  }

  #counterOf({ policy, unit = REQUESTS, windowMs }: QuotaReading, seen: Set<string>): Counter {
    let key = `${unit} ${windowMs ?? ''} ${policy ?? ''}`;
    // Several without a name, in one answer: told apart by their order.
    while (seen.has(key)) key += '+';
    seen.add(key);
    const counter = this.#counters.get(key) ?? new Counter(unit);
    // Set anew, it stands last: what has not been heard of for longest goes first.
    this.#counters.delete(key);
    this.#counters.set(key, counter);
    if (this.#counters.size > MOST_COUNTERS) {
      const [oldest] = this.#counters.keys();
      if (oldest !== undefined) this.#counters.delete(oldest);
    }
    return counter;
  }
}

function isDeclared(limit: number, quota: QuotaPlan): boolean {
  return limit === quota.limit || limit === quota.providerBurst;
}

/** Other workers of ours take their part without anybody having to hear of it. */
function allowedToOthers({ limit, share }: QuotaPlan): number {
  return limit - share + Math.max(WORTH_PERMITS, limit * WORTH_SHARE);
}

/** A classifier is user code: numbers that are none are left out. */
function sound(reading: QuotaReading): QuotaReading {
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
