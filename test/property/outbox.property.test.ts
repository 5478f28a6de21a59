import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Answer, OutboxWorld, type Script, type Step } from './support/outbox-world.ts';
import { runs, SEEDED } from './support/seed.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const plain = fc.constantFrom('takes', 'throws', 'hangs', 'fails', 'refuses', 'answers 500', 'closes');
const answer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ does: 'takes' } as const) },
  { weight: 4, arbitrary: plain.map((does) => ({ does }) as Answer) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 8_000 }).map((ms) => ({ does: 'takes slowly', ms }) as const) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 90_000 }).map((ms) => ({ does: 'asks to wait', ms }) as const) },
);
const step: fc.Arbitrary<Step> = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 30_000 })),
  downstream: fc.integer({ min: 0, max: 6 }),
  flush: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  isUpdate: fc.boolean(),
});
const script: fc.Arbitrary<Script> = fc.record({
  spacingMs: fc.constantFrom(0, 1, 100, 1_000),
  mostAtOnce: fc.constantFrom(undefined, 1, 3, 100),
  answers: fc.array(answer, { minLength: 1, maxLength: 20 }),
  steps: fc.array(step, { minLength: 1, maxLength: 40 }),
  jitter: fc.constantFrom(0, 0.5, 0.999),
});

describe(`whatever a receiver does (${SEEDED})`, () => {
  test('one delivery at a time, paced, never before it was asked for; the last word of each is delivered or given up; the sums are right; after the end nothing', async () => {
    const property = fc.asyncProperty(script, fc.boolean(), async (played, closeEarly) => {
      vi.clearAllTimers();
      const world = new OutboxWorld(played);
      await world.play(closeEarly);
      expect(world.faults.slice(0, 3)).toEqual([]);
    });
    await fc.assert(property, { ...runs(400), endOnFailure: false });
  });

  test('a receiver that takes everything is told in the order in which things were first put in', async () => {
    const property = fc.asyncProperty(script, async (played) => {
      vi.clearAllTimers();
      const steps = played.steps.map((one) => ({ ...one, flush: false, afterMs: 0 }));
      const world = new OutboxWorld({ ...played, steps, answers: [{ does: 'takes' }] });
      await world.play(false);
      const order = [...new Set(steps.map(({ downstream }) => `downstream-${downstream}`))];
      expect(world.delivered.map((text) => text.split(' ')[0])).toEqual(order);
    });
    await fc.assert(property, runs(100));
  });
});
