import type { QuotaPlan } from '../base/plan.ts';
import { REQUESTS } from '../base/words.ts';
import { EACH_START } from './caps.ts';

/** What a server says is left of one of its limits. */
export interface CountLeft {
  readonly unit: string;
  readonly remaining: number;
  readonly windowMs?: number | undefined;
}

/** Model tokens, of whatever kind: every call of a model costs some. */
const MODEL_TOKENS = /(?:^|-)tokens$/;

/**
 * Which starts a count counts: those that take from the bucket of that index, or `EACH_START`; undefined where
 * nobody knows which of them cost any of it.
 */
export function countsFor(quotas: readonly QuotaPlan[], { unit, remaining, windowMs }: CountLeft): number | undefined {
  const same = quotas.findIndex((quota) => quota.unit === unit && quota.windowMs === windowMs);
  const found = same >= 0 ? same : quotas.findIndex((quota) => quota.unit === unit);
  if (found >= 0) return found;
  if (unit === REQUESTS) return EACH_START;
  // Of a unit that nobody declared it is not known how much a call costs: only that nothing is left of it matters.
  return MODEL_TOKENS.test(unit) && remaining < 1 ? EACH_START : undefined;
}
