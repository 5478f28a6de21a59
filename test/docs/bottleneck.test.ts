import { expect, test } from 'vitest';
import { type Facts, runsAfterAbort, runsAfterExpiry, timersPerCall } from '../../scripts/bottleneck-facts.ts';
import { read } from './support/pages.ts';

const PAGE = read('docs/decisions/0001-bottleneck-not-in-the-call-path.md');

/** The decision shows the same counts. */
function isTold(what: string, { bottleneck, penstock }: Facts): boolean {
  return new RegExp(`^${what} +${bottleneck} +${penstock}$`, 'm').test(PAGE);
}

// Real time: Bottleneck knows no other clock. Only what is counted is tested; times are for people.
test('a call that need not wait sets four timers in Bottleneck, none here', async () => {
  const facts = await timersPerCall();
  expect(facts).toEqual({ bottleneck: 4, penstock: 0 });
  expect(isTold('timers set by one call that need not wait', facts)).toBe(true);
});

test('waiters whose callers have left still run in Bottleneck', async () => {
  const facts = await runsAfterAbort();
  expect(facts).toEqual({ bottleneck: 10, penstock: 0 });
  expect(isTold('of 10 aborted waiters, still run', facts)).toBe(true);
});

test('waiters whose time is up still run in Bottleneck', async () => {
  const facts = await runsAfterExpiry();
  expect(facts).toEqual({ bottleneck: 10, penstock: 0 });
  expect(isTold('of 10 expired waiters, still run', facts)).toBe(true);
});
