import type { QuotaReading } from '../base/verdict.ts';
import type { HeaderReader } from './headers.ts';

const NONE: readonly QuotaReading[] = [];

export function readQuotas(read: HeaderReader, _context: { readonly wallNow: () => number }): readonly QuotaReading[] {
  const remaining = read('x-ratelimit-remaining');
  const limit = read('x-ratelimit-limit');
  if (remaining === undefined) return NONE;
  return [{ remaining: Number(remaining), ...(limit === undefined ? {} : { limit: Number(limit) }) }];
}
