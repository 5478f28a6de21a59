import { expect, it } from 'vitest';
import { bare } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { api, bench } from './support/bench.ts';
import { fateOf } from './support/odd.ts';

it('close() waits for the calls of a downstream that was unregistered', async () => {
  const rig = new Rig({ api: bare(), other: bare() });
  const call = rig.call({ runMs: 500 });
  await rig.settle();
  rig.dispatcher.unregister('api');
  rig.watch.otherTimers = 1;
  const closing = fateOf(rig.dispatcher.close());
  await rig.to(499);
  expect(closing.state).toBe('pending');
  await rig.to(500);
  expect(call.state).toBe('fulfilled');
  expect(closing).toMatchObject({ state: 'fulfilled', result: { abandoned: 0, tookMs: 500 } });
  await rig.rest();
});

it('close() abandons the calls of a downstream that was unregistered when its time is up', async () => {
  const rig = new Rig(bare());
  rig.call({ fn: () => new Promise(() => undefined) });
  const bounded = rig.call({ fn: () => new Promise(() => undefined), deadlineIn: 60_000 });
  await rig.settle();
  rig.dispatcher.unregister('api');
  const closing = fateOf(rig.dispatcher.close({ within: '1s' }));
  await rig.clock.advance(1_000);
  expect(closing).toMatchObject({ state: 'fulfilled', result: { settled: 0, abandoned: 2 } });
  expect(bounded.refusal).toMatchObject({ code: 'DISPATCHER_CLOSED', started: true });
});

it.each([false, true])(
  'close() resolves once all of 10,000 refused callers have been told; cancelled before: %s',
  async (isCancelled) => {
    const { dispatcher, clock } = bench(api({ quota: '1/minute', mode: 'enforce' }));
    let told = 0;
    for (let n = 0; n < 10_000; n++) {
      void dispatcher.callDownstream('api', () => undefined, { tool: 'ship' }).catch(() => told++);
    }
    await clock.advance(0);
    if (isCancelled) expect(dispatcher.cancel({ tool: 'ship' }, 'enough')).toBe(9_999);
    let toldAtClose = -1;
    void dispatcher.close({ drain: isCancelled }).then(() => (toldAtClose = told));
    await clock.advance(1_000);
    expect(toldAtClose).toBe(9_999);
  },
);
