import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { policies } from './support/policies.ts';
import { closings, play } from './support/schedule.ts';
import { runs, SEEDED } from './support/seed.ts';
import { steps } from './support/steps.ts';

describe(`B75, B98: any schedule keeps the eight invariants (${SEEDED})`, () => {
  const plans = fc.array(policies(), { minLength: 1, maxLength: 3 });
  const schedules = fc.array(steps, { minLength: 5, maxLength: 60, size: 'max' });

  test('calls, costs, runs, deadlines, aborts, failures, holds, policies, clocks, closing', async () => {
    const property = fc.asyncProperty(plans, schedules, closings, async (some, schedule, closing) => {
      const { faults } = await play(some, schedule, closing);
      expect(faults.slice(0, 3)).toEqual([]);
    });
    await fc.assert(property, runs(10_000));
  });
});
