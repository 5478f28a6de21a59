import { DUE_MS } from '../base/clock.ts';
import type { CounterEvidence } from '../base/evidence.ts';
import type { QuotaPlan } from '../base/plan.ts';
import type { QuotaReading } from '../base/verdict.ts';
import { REQUESTS } from '../base/words.ts';
import { Drain } from './drain.ts';
import { Filling } from './filling.ts';
import { Others } from './others.ts';
import type { OwnUse } from './own-use.ts';

/** Resets are told in whole seconds, and answers take their time. */
const RESET_SLACK_MS = 1_500;
/** An answer is heard and then acted upon; nothing else happens in between. */
const SAME_ANSWER_MS = 5;
/** For so much of a window, and in so many answers, a reset must stand still to be believed the window's end. */
const STEADY_SHARE = 0.05;
const STEADY_ANSWERS = 3;
/** So little of a limit is as good as nothing. */
const NEXT_TO_NOTHING = 0.05;
/** A reset that was unusually long, after a refusal perhaps, says nothing of the window an hour later. */
const FORGOTTEN_MS = 3_600_000;
/** A limit of a window that is not told is another limit's if it is so many times larger or smaller. */
const FAR = 10;

interface Peak {
  readonly used: number;
  readonly ours: number;
  readonly from: number;
}

const NO_PEAK: Peak = { used: 0, ours: 0, from: Number.NEGATIVE_INFINITY };

/** One limit that the server tells of: what it said, and how that moved. Instants are monotonic milliseconds. */
export class Counter {
  readonly unit: string;
  /** Which of several that are alike in one answer. */
  readonly order: number;
  /** What was said of it last. */
  said: QuotaReading;
  /** Answers in a row that named the same limit. */
  agreed = 0;
  /** The limit that was believed last is not the declared one. */
  isDrifting = false;
  /** Windows in a row in which others used more than they may. */
  #others: Others | undefined;
  #othersWindowMs = 0;
  heardAt = 0;
  /** Since when it has named its limit. */
  #namedSince = 0;
  #longestResetMs = 0;
  #longestAt = 0;
  #steadyResetAt = Number.NaN;
  #earliestEnd = 0;
  #steadySince = 0;
  #steadyAnswers = 0;
  /** When it was heard of first since it has been about a declared quota, and what others had used by then. */
  #firstAt: number | undefined;
  #usedFrom = 0;
  #before = 0;
  readonly #drain = new Drain();
  readonly #filling = new Filling();
  /** Where no reset tells when a window began, only its last answers show all of it: those of this window, and of the one before. */
  #peaks: readonly [Peak, Peak] = [NO_PEAK, NO_PEAK];

  constructor(reading: QuotaReading, order: number) {
    this.unit = reading.unit ?? REQUESTS;
    this.order = order;
    this.said = reading;
  }

  /** Takes in what an answer said of it. */
  hear(reading: QuotaReading, now: number): void {
    if (reading.limit !== this.said.limit) {
      this.agreed = 0;
      this.#others = undefined;
      this.#firstAt = undefined;
      // Some name the limit that is nearest, without its window: the reset of the one before was a day's, say.
      this.#longestResetMs = 0;
      this.#namedSince = now;
    }
    this.agreed++;
    this.said = reading;
    this.heardAt = now;
    const { resetMs } = reading;
    if (resetMs === undefined) return;
    if (resetMs >= this.#longestResetMs || now - this.#longestAt > FORGOTTEN_MS) {
      this.#longestResetMs = resetMs;
      this.#longestAt = now;
    }
    if (!(Math.abs(now + resetMs - this.#steadyResetAt) <= RESET_SLACK_MS)) {
      this.#steadyResetAt = now + resetMs;
      this.#earliestEnd = now + resetMs;
      this.#steadySince = now;
      this.#steadyAnswers = 0;
    }
    // Whole seconds are rounded up: the earliest that was said is nearest to the truth.
    this.#earliestEnd = Math.min(this.#earliestEnd, now + resetMs);
    this.#steadyAnswers++;
  }

  /** Which declared quota it is about: an index, -1 for none of them. */
  quotaOf(quotas: readonly QuotaPlan[]): number {
    const { limit, windowMs } = this.said;
    const fits = quotas.map((quota) => quota.unit === this.unit && this.#fits(quota));
    const count = fits.filter(Boolean).length;
    if (count < 2 || windowMs !== undefined) return fits.indexOf(true);
    // The window is not told: only its number can tell which of several it is.
    return quotas.findIndex((quota, i) => fits[i] === true && (quota.limit === limit || quota.providerBurst === limit));
  }

  #fits({ windowMs, limit, providerBurst }: QuotaPlan): boolean {
    const told = this.said;
    if (told.windowMs !== undefined) return Math.abs(told.windowMs - windowMs) <= windowMs * 0.01;
    if (this.#longestResetMs > windowMs + RESET_SLACK_MS) return false;
    if (told.limit === undefined || this.#longestResetMs > windowMs / 2) return true;
    return [limit, providerBurst ?? limit].some((one) => told.limit! <= one * FAR && told.limit! >= one / FAR);
  }

  /** Whether that is its window: it was told, or no reset has been further away for longer than it lasts. */
  hasSeen({ windowMs }: QuotaPlan): boolean {
    if (this.said.windowMs !== undefined) return true;
    return this.#longestResetMs > 0 && this.heardAt - this.#namedSince > windowMs + RESET_SLACK_MS;
  }

  /** True when one more window has shown that others use a quota more than they may. */
  hearOthers(quota: QuotaPlan, use: OwnUse, allowed: number): boolean {
    const { remaining } = this.said;
    const limit = this.#roomOf(quota);
    if (limit === undefined || remaining === undefined || this.unit !== REQUESTS) return false;
    if (this.#firstAt === undefined) this.#begin(limit - remaining, quota.windowMs, use);
    if (this.#others === undefined || this.#othersWindowMs !== quota.windowMs) {
      this.#others = new Others(quota.windowMs);
      this.#othersWindowMs = quota.windowMs;
    }
    const used = Math.max(0, limit - remaining);
    this.#notePeak(used, quota.windowMs, use);
    const msPerPermit = quota.windowMs / quota.limit;
    this.#filling.hear(used, this.said.resetMs, msPerPermit);
    this.#drain.hear(used, 1 / msPerPermit, use);
    return this.#others.hear(limit, remaining, use, allowed);
  }

  /** It is heard of first: what of it was used before, as far as that can be told. */
  #begin(used: number, windowMs: number, use: OwnUse): void {
    const { resetMs } = this.said;
    const began = resetMs === undefined ? Number.NEGATIVE_INFINITY : use.now + resetMs - windowMs;
    // A window that began after this process holds nothing from before it.
    const isAllSince = began >= use.bornAt;
    this.#firstAt = use.now;
    this.#usedFrom = isAllSince ? Math.min(began, use.now) : use.now;
    this.#before = isAllSince ? 0 : Math.max(0, used - use.since(use.now - windowMs));
  }

  #notePeak(used: number, windowMs: number, use: OwnUse): void {
    const [last, before] = this.#peaks;
    const peak = { used, ours: use.since(use.startedAt - windowMs), from: use.now };
    const isOver = use.now - last.from >= windowMs;
    if (isOver) this.#peaks = [peak, last];
    else if (used - peak.ours > last.used - last.ours) this.#peaks = [{ ...peak, from: last.from }, before];
  }

  /** What the last two windows show of others where no reset tells when one began: the numbers of the fullest answer. */
  get peak(): Pick<CounterEvidence, 'used' | 'ours' | 'oursAtMost'> | undefined {
    if (this.said.resetMs !== undefined) return undefined;
    const [last, before] = this.#peaks;
    const { used, ours } = before.used - before.ours > last.used - last.ours ? before : last;
    return { used, ours, oursAtMost: ours };
  }

  get windowsOfOthers(): number {
    return this.#others?.windows ?? 0;
  }

  /** What is known of it now. `index`: of the declared quota that it is about. */
  evidence(index: number, quota: QuotaPlan | undefined, use: OwnUse, now: number): CounterEvidence {
    const { remaining } = this.said;
    const room = quota === undefined ? undefined : this.#roomOf(quota);
    const told = {
      ...this.said,
      unit: this.unit,
      ageMs: now - this.heardAt < SAME_ANSWER_MS ? 0 : now - this.heardAt,
      ...(quota !== undefined && this.hasSeen(quota) ? { isWindowSeen: true } : {}),
    };
    if (quota === undefined) return told;
    if (room === undefined || remaining === undefined || this.unit !== REQUESTS) return { ...told, quota: index };
    const missing = Math.max(0, room - remaining);
    const bucket = this.#isBucket(quota, missing, use) ? this.#ofBucket(use) : undefined;
    if (bucket !== undefined) return { ...told, quota: index, ...bucket };
    const began = this.#windowBegan(quota.windowMs, use);
    const firstAt = this.#firstAt ?? use.now;
    const ours = use.since(began);
    const isBeforeUs = began < firstAt && firstAt > use.now - quota.windowMs;
    // Where next to nothing was used when it was first heard of, all of it was used since.
    const from = isBeforeUs && this.#before <= room * NEXT_TO_NOTHING ? this.#usedFrom : began;
    return {
      ...told,
      quota: index,
      used: missing,
      ours: ours + Math.floor(use.later / 2),
      oursAtMost: ours + use.later,
      spanMs: Math.max(1, use.now - from),
      before: isBeforeUs ? this.#before : 0,
    };
  }

  /** A bucket that is declared need not be one: not where our own starts in a window explain what is missing. */
  #isBucket({ providerBurst, windowMs }: QuotaPlan, missing: number, use: OwnUse): boolean {
    if (this.#filling.isBucket) return true;
    return providerBurst !== undefined && use.since(use.startedAt - windowMs) < missing;
  }

  #ofBucket({ now, later }: OwnUse): Partial<CounterEvidence> | undefined {
    const { since, ours, others, filled } = this.#drain;
    if (since === undefined) return undefined;
    const used = ours + Math.max(0, others);
    return { used, ours, oursAtMost: ours + later, spanMs: Math.max(1, now - since), filled };
  }

  /** How much there is to use. A bucket's counter goes up to its size, whatever its limit. */
  #roomOf({ providerBurst }: QuotaPlan): number | undefined {
    const { limit } = this.said;
    if (limit === undefined) return undefined;
    const room = this.#others?.ceiling(limit) ?? limit;
    return providerBurst === undefined ? room : Math.min(room, Math.max(providerBurst, 1));
  }

  /** When the window began that the server counts: known where its end stands still, else one whole window ago. */
  #windowBegan(windowMs: number, use: OwnUse): number {
    const steadyMs = this.heardAt - this.#steadySince;
    const isSteady =
      this.#steadyAnswers >= STEADY_ANSWERS && steadyMs >= Math.max(RESET_SLACK_MS, windowMs * STEADY_SHARE);
    const earliest = use.startedAt - windowMs;
    // What started in the very instant belongs to it.
    return isSteady ? Math.max(earliest, this.#earliestEnd - windowMs - DUE_MS) : earliest;
  }
}
