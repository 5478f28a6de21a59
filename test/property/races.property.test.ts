import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawsFrom, Race } from './support/race.ts';
import { runs, SEEDED } from './support/seed.ts';

const ROUNDS = 250;

describe(`B75: 100,000 races keep the books (${SEEDED})`, () => {
  test('granted + level = refilled; every promise settles once; fn runs if and only if it was granted', async () => {
    const property = fc.asyncProperty(fc.integer(), async (seed) => {
      const race = new Race(drawsFrom(seed));
      await race.rounds(ROUNDS);
      expect(race.faults.slice(0, 3)).toEqual([]);
    });
    await fc.assert(property, { ...runs(100_000 / ROUNDS), endOnFailure: true });
  });
});
