import type { QuotaPlan } from '../base/plan.ts';
import type { DeclaredQuota } from './quota.ts';

/** Floating point: 0.29 · 100 is 28.999999999999996. */
const TOLERANCE = 1e-9;

export function wholeDown(value: number): number {
  return Math.floor(value + TOLERANCE);
}

export function wholeUp(value: number): number {
  return Math.ceil(value - TOLERANCE);
}

/** This worker's part of a quota. `share` below 1 cannot be kept. */
export interface Share {
  readonly share: number;
  readonly sized: number;
}

export function shareOf(limit: number, utilization: number, workers: number): Share {
  const share = Math.floor(limit / workers);
  const used = Math.min((utilization * limit) / workers, share);
  // Twelve digits: 9.600000000000001 is noise, and a whole number must be one.
  return { share, sized: Math.min(Number(used.toPrecision(12)), share) };
}

/** The most that one window can hold, wherever it starts: a full bucket, and what refills meanwhile. */
export function worstWindow(burst: number, sized: number): number {
  return burst - 1 + wholeUp(sized);
}

/** The largest bucket with which no window holds more than the share. */
export function largestBurst({ share, sized }: Share): number {
  return share - wholeUp(sized) + 1;
}

/** Half of what is left over, so that the worst window still leaves something to others. */
export function defaultBurst({ share, sized }: Share): number {
  return Math.max(1, Math.floor((share - wholeDown(sized)) / 2));
}

/** Our bucket beside one that the provider runs. */
export function burstBeside(providerBurst: number, utilization: number, workers: number): number {
  return Math.max(1, wholeDown((utilization * providerBurst) / workers));
}

/** The quota as this worker keeps it, once its numbers are known to be legal. */
export function planQuota(declared: DeclaredQuota, part: Share, burst: number): QuotaPlan {
  return {
    text: declared.text,
    unit: declared.unit,
    limit: declared.limit,
    windowMs: declared.windowMs,
    share: part.share,
    sized: part.sized,
    burst,
    ...(declared.providerBurst === undefined ? {} : { providerBurst: declared.providerBurst }),
  };
}
