import { expect, test } from 'vitest';
import { runsAfterAbort, runsAfterExpiry, timersPerCall } from '../../scripts/bottleneck-facts.ts';

// Real time: Bottleneck knows no other clock. Only what is counted is tested; times are for people.
test('a call that need not wait sets four timers in Bottleneck, none here', async () => {
  expect(await timersPerCall()).toEqual({ bottleneck: 4, penstock: 0 });
});

test('waiters whose callers have left still run in Bottleneck', async () => {
  expect(await runsAfterAbort()).toEqual({ bottleneck: 10, penstock: 0 });
});

test('waiters whose time is up still run in Bottleneck', async () => {
  expect(await runsAfterExpiry()).toEqual({ bottleneck: 10, penstock: 0 });
});
