import { afterEach, expect, test } from 'vitest';
import { createDispatcher, type Dispatcher, type PolicyInput, type PolicyWatch } from '../../src/index.ts';
import { ManualClock } from '../../src/testing.ts';
import { runBlock } from './support/example.ts';
import { blockAt } from './support/pages.ts';

const PAGE = 'docs/levers.md';
let dispatcher: Dispatcher;
afterEach(() => dispatcher.close({ within: 0 }));

test('Change a limit', async () => {
  const block = blockAt(PAGE, 'ts', 'Change a limit');
  const { exports } = await runBlock<{ dispatcher: Dispatcher; watch: PolicyWatch }>(block);
  ({ dispatcher } = exports);
  await exports.watch.ready;
  expect(dispatcher.names()).toContain('carrier');
  await exports.watch.close();
});

function made(): { readonly clock: ManualClock; readonly errors: unknown[] } {
  const clock = new ManualClock();
  const policy: PolicyInput = { downstreams: { carrier: { quota: '60/minute' } } };
  dispatcher = createDispatcher(policy, { clock, alertSinks: [], env: {} });
  const errors: unknown[] = [];
  const ask = (): unknown => dispatcher.callDownstream('carrier', () => 1, { runId: 'job7/a' });
  for (let i = 0; i < 10; i++) void Promise.resolve(ask()).catch((error: unknown) => errors.push(error));
  return { clock, errors };
}

test('Pause and resume', async () => {
  const { clock, errors } = made();
  await clock.advance(0);
  await runBlock(blockAt(PAGE, 'ts', 'Pause and resume'), { given: { dispatcher } });
  await clock.advance(0);
  expect(errors).toEqual([]);
  expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ isPaused: false, queued: 4 });
});

test('Cancel a run', async () => {
  const { clock, errors } = made();
  await clock.advance(0);
  await runBlock(blockAt(PAGE, 'ts', 'Cancel a run'), { given: { dispatcher } });
  await clock.advance(0);
  expect(errors).toMatchObject([{}, {}, {}, {}].map(() => ({ code: 'CANCELLED' })));
});
