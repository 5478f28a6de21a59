import * as z from 'zod';
import { REQUESTS } from '../base/words.ts';
import { duration, durationOrZero, option, POSITIVE_DURATION_WORDS, whole, ZERO_DURATION_WORDS } from './fields.ts';
import { QUOTA_PATTERN, readQuota, UNIT_PATTERN, WINDOW_PATTERN } from './quota.ts';
import { DEFAULTS } from './values.ts';

/** Windows below a millisecond are below the resolution of timers. */
const LONGEST_WINDOW_MS = 366 * 86_400_000;
const QUOTA_WORDS =
  'a quota such as "60/minute", "1/3s", "200000 tokens/minute" or { limit, per }, of whole numbers above 0';

function quotaObject() {
  return z.strictObject({
    limit: option(whole(1), { expected: 'a whole number, 1 or more', meaning: 'Units per window' }),
    per: option(
      z.union([
        z.number().min(1).max(LONGEST_WINDOW_MS),
        z
          .string()
          .regex(WINDOW_PATTERN)
          .refine((text) => isWindow(readQuota({ limit: 1, per: text })?.windowMs)),
      ]),
      {
        expected: 'a window of 1ms to 366d: "second", "minute", "hour", "day", "3s", or milliseconds',
        meaning: 'Length of the window',
      },
    ),
    unit: option(z.string().regex(UNIT_PATTERN), {
      expected: 'a name that starts with a letter, such as tokens',
      meaning: 'What is counted',
      value: REQUESTS,
    }).optional(),
    burst: option(whole(1), {
      expected: 'a whole number, 1 or more',
      meaning: 'Size of our bucket for this quota',
      default: 'half of what utilization leaves',
    }).optional(),
    providerBurst: option(whole(1), {
      expected: 'a whole number, 1 or more',
      meaning:
        "Size of the bucket that the provider itself runs; our burst is then utilization times this, and the window rule gives way to the provider's own promise",
    }).optional(),
  });
}

function isWindow(ms: number | undefined): boolean {
  return ms !== undefined && ms >= 1 && ms <= LONGEST_WINDOW_MS;
}

function oneQuota() {
  const text = z
    .string()
    .regex(QUOTA_PATTERN)
    .refine((value) => {
      const quota = readQuota(value);
      return quota !== undefined && Number.isSafeInteger(quota.limit) && isWindow(quota.windowMs);
    });
  return option(z.union([text, quotaObject()]), { expected: QUOTA_WORDS, meaning: 'One declared quota' });
}

/** Options that decide when a call may start. */
export const limits = {
  quota: option(z.union([oneQuota(), z.array(oneQuota()).min(1)]), {
    expected: `${QUOTA_WORDS}; or a list of these`,
    meaning: 'What the downstream declares: one or several quotas, each `"<limit>[ <unit>]/<window>"` or an object',
    default: 'none: no rate limit',
  }).optional(),
  utilization: option(z.number().positive().max(1), {
    expected: 'a number above 0, at most 1',
    meaning: 'Share of every declared quota that is used, (0, 1]',
    value: DEFAULTS.utilization,
  }).optional(),
  burst: option(whole(1), {
    expected: 'a whole number, 1 or more',
    meaning:
      'Bucket size, for the request quota with the shortest window (others: in the object form). At 1 every late timer is lost for good: about 98 % of the rate at 100/s, 85 % at 1,000/s',
    default: 'half of what `utilization` leaves, at least 1',
  }).optional(),
  maxConcurrent: option(whole(1), {
    expected: 'a whole number, 1 or more (omit it for no limit)',
    meaning: 'Most calls in flight',
    default: 'omitted: unlimited',
  }).optional(),
  minInterval: option(duration(), {
    expected: POSITIVE_DURATION_WORDS,
    meaning: 'Least time between two starts',
    default: 'omitted: none',
  }).optional(),
  maxQueueDepth: option(whole(0), {
    expected: 'a whole number, 0 or more (omit it for no limit)',
    meaning: 'Most waiters; 0 refuses whatever cannot start at once',
    default: 'omitted: unlimited',
  }).optional(),
  maxWait: option(durationOrZero(), {
    expected: ZERO_DURATION_WORDS,
    meaning: 'Longest wait in the lane; 0 refuses whatever cannot start at once',
    default: 'omitted: the deadline alone decides',
  }).optional(),
};
