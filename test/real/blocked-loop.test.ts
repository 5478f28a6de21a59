import { expect, test } from 'vitest';
import { createDispatcher } from '../../src/index.ts';
import { windowMax } from '../../src/testing.ts';

/** Keeps the event loop for some real time, as a caller's own code does. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

// No manual clock sees this: a permit that is taken before its fn runs lets more starts into a window
// than the quota allows whenever the caller's own code holds the loop in between.
test('a caller that blocks the loop between call and start brings no window over the quota', async () => {
  const quota = 200;
  const { callDownstream, close } = createDispatcher(
    { downstreams: { api: { quota: `${quota}/second`, utilization: 0.95 } } },
    { env: {}, alertSinks: [] },
  );
  const starts: number[] = [];
  const calls: Promise<void>[] = [];
  const until = performance.now() + 3_000;
  while (performance.now() < until) {
    for (let i = 0; i < 20; i++) {
      calls.push(callDownstream('api', () => void starts.push(performance.now())));
    }
    block(40);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await close({ drain: true, within: 20_000 });
  await Promise.all(calls);
  expect(starts.length).toBe(calls.length);
  expect(windowMax(starts, 1_000)).toBeLessThanOrEqual(quota);
});
