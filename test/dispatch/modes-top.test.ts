import { expect, test } from 'vitest';
import { createDispatcher, type PolicyInput } from '../../src/index.ts';
import { ManualClock } from '../../src/testing.ts';

function observed() {
  const clock = new ManualClock();
  const policy: PolicyInput = {
    downstreams: { a: { quota: '60/minute', mode: 'observe' }, b: { quota: '60/minute', mode: 'observe' } },
  };
  const dispatcher = createDispatcher(policy, { clock, alertSinks: [], env: {} });
  const lane = () => dispatcher.snapshot().downstreams[0]!;
  return { clock, lane, ...dispatcher };
}

test('who waits in the books is forgotten with them, and each real start is counted once', async () => {
  const { callDownstream, lane, setMode } = observed();
  await Promise.all(Array.from({ length: 50 }, () => callDownstream('a', () => 1, { runId: 'ghost' })));
  expect(lane().recent.startsPerSecond).toBeCloseTo(50 / 60);
  expect(lane().top.runs).toMatchObject([{ name: 'ghost', waiting: lane().queued }]);
  expect(lane().queued).toBeGreaterThan(0);
  setMode('enforce');
  expect(lane().queued).toBe(0);
  expect(lane().top.runs).toEqual([{ name: 'ghost', permits: 50, waiting: 0 }]);
});

test.each([['a'], [{ downstreams: 'a' }], [['a']], [null], [{ downstream: 7 }]])(
  'setMode(..., %j) is no word about all of them',
  (options) => {
    const { setMode, snapshot } = observed();
    expect(() => setMode('off', options as never)).toThrow(/setMode: expected \{ downstream: '\w+' \} or nothing/);
    expect(snapshot().downstreams.map(({ mode }) => mode)).toEqual(['observe', 'observe']);
  },
);
