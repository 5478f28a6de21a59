import Bottleneck from 'bottleneck';
import { expect, test, vi } from 'vitest';
import { policyFromBottleneck } from '../../../src/adapters/bottleneck.ts';
import { createDispatcher } from '../../../src/dispatcher.ts';
import { fakeTimers } from '../../contract/support.ts';

fakeTimers();

const SPAN_MS = 30_000;
const CALLS = 400;

/** When calls that all come at once start. */
async function startsOf(schedule: (run: () => Promise<void>) => unknown): Promise<number[]> {
  const zero = performance.now();
  const starts: number[] = [];
  const run = async (): Promise<void> => {
    starts.push(performance.now() - zero);
    await new Promise((done) => setTimeout(done, 100));
  };
  for (let i = 0; i < CALLS; i++) schedule(run);
  await vi.advanceTimersByTimeAsync(SPAN_MS);
  return [...starts];
}

const refreshed = (amount: number, ms: number) => ({
  reservoir: amount,
  reservoirRefreshAmount: amount,
  reservoirRefreshInterval: ms,
});
const increased = (amount: number, ms: number, most: number) => ({
  reservoir: most,
  reservoirIncreaseAmount: amount,
  reservoirIncreaseInterval: ms,
  reservoirIncreaseMaximum: most,
});

test.each<Bottleneck.ConstructorOptions & { weight?: number }>([
  { maxConcurrent: 3 },
  { minTime: 333.25 },
  refreshed(10, 1_000),
  { ...refreshed(10, 1_000), minTime: 50, maxConcurrent: 1 },
  increased(2, 1_000, 5),
  increased(1, 250, 20),
  increased(10, 1_000, 4),
  { ...refreshed(10, 1_000), weight: 3 },
  { ...increased(2, 500, 10), weight: 4 },
  { ...increased(10, 1_000, 10), weight: 4 },
  { ...increased(6, 1_000, 8), weight: 4, maxConcurrent: 9 },
  { maxConcurrent: 5, weight: 2 },
])('side by side with the limiter, the policy starts as much, and no more: %o', async (settings) => {
  const { policy } = policyFromBottleneck(settings);
  const { weight = 1, ...own } = settings;
  const limiter = new Bottleneck(own);
  const theirs = await startsOf((run) => limiter.schedule({ weight }, run).catch(() => undefined));
  void limiter.disconnect();
  const dispatcher = createDispatcher({ downstreams: { api: policy } }, { alertSinks: [], env: {} });
  const ours = await startsOf((run) => dispatcher.callDownstream('api', run).catch(() => undefined));
  void dispatcher.close({ within: 0 });
  // Its timers cost a limiter some milliseconds for each call, and its reservoir is looked at every 250 ms.
  expect(ours.length).toBeLessThanOrEqual(theirs.length * 1.05 + 2);
  expect(ours.length).toBeGreaterThanOrEqual(theirs.length * 0.9 - (settings.reservoirRefreshAmount ?? 0));
});
