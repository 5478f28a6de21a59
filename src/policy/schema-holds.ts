import * as z from 'zod';
import { duration, durationOrZero, option, POSITIVE_DURATION_WORDS, whole, ZERO_DURATION_WORDS } from './fields.ts';
import { DEFAULTS } from './values.ts';

const cooldown = option(
  z.strictObject({
    base: option(duration(), {
      expected: POSITIVE_DURATION_WORDS,
      meaning: 'First hold; doubled with each 429 in a row',
      value: DEFAULTS.cooldownBase,
    }).optional(),
    max: option(duration(), {
      expected: POSITIVE_DURATION_WORDS,
      meaning: 'Longest hold that Penstock chooses itself',
      value: DEFAULTS.cooldownMax,
    }).optional(),
    ladder: option(z.array(option(duration(), ladderStep())).min(1), {
      expected: 'a list of durations, such as [2m, 5m, 15m, 30m, 60m]',
      meaning: 'Explicit steps instead of doubling; the last one repeats',
    }).optional(),
  }),
  {
    expected: '{ base?, max?, ladder? }',
    meaning:
      'Holds for a 429 without a hint; `ladder: [2m, 5m, 15m, 30m, 60m]` instead of doubling from `base` to `max`',
    default: `{ base: ${DEFAULTS.cooldownBase}, max: ${DEFAULTS.cooldownMax} }`,
  },
);

function ladderStep() {
  return { expected: POSITIVE_DURATION_WORDS, meaning: 'One step of the ladder' };
}

const warm = option(
  z.strictObject({
    for: option(durationOrZero(), {
      expected: ZERO_DURATION_WORDS,
      meaning: 'How long the gentler pace lasts; 0 for none',
      default: `the longest request window, at most ${DEFAULTS.warmMost} (${DEFAULTS.warmWithoutQuota} without a quota)`,
    }).optional(),
    rateFactor: option(z.number().positive().max(1), {
      expected: 'a number above 0, at most 1',
      meaning: 'Share of the usual rate while warm',
      value: DEFAULTS.rateFactor,
    }).optional(),
    spacing: option(durationOrZero(), {
      expected: ZERO_DURATION_WORDS,
      meaning: 'Least time between starts while warm, for a downstream without a quota',
      value: DEFAULTS.spacing,
    }).optional(),
  }),
  {
    expected: '{ for?, rateFactor?, spacing? }',
    meaning: 'Gentler pace after a hold',
    default: `{ for: the longest request window, at most ${DEFAULTS.warmMost} (${DEFAULTS.warmWithoutQuota} without quota), rateFactor: ${DEFAULTS.rateFactor}, spacing: ${DEFAULTS.spacing} }`,
  },
);

/** Options that say what follows a 429. */
export const holds = {
  pauseAbove: option(durationOrZero(), {
    expected: ZERO_DURATION_WORDS,
    meaning:
      'With more than this left of it, a hold is a pause: new work is refused rather than queued. Never less than `cooldown.max`, unless there is a `ladder`',
    value: DEFAULTS.pauseAbove,
  }).optional(),
  whilePaused: option(z.enum(['refuse', 'wait']), {
    expected: 'refuse or wait',
    meaning: 'What a paused lane does with calls that do not say how long they can wait',
    value: DEFAULTS.whilePaused,
  }).optional(),
  cooldown: cooldown.optional(),
  warm: warm.optional(),
  throttleStatuses: option(z.array(option(whole(400, 599), statusNote())).min(1), {
    expected: 'a list of HTTP statuses, 400 to 599',
    meaning: 'Statuses that mean throttled; add 403 where a provider does that',
    value: DEFAULTS.throttleStatuses,
  }).optional(),
  maxHold: option(duration(), {
    expected: POSITIVE_DURATION_WORDS,
    meaning: 'Longest hold taken from a hint',
    value: DEFAULTS.maxHold,
  }).optional(),
};

function statusNote() {
  return { expected: 'an HTTP status, 400 to 599', meaning: 'One status' };
}
