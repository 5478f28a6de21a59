import { describe, expect, it } from 'vitest';
import type { DownstreamSnapshot, QuotaSnapshot, Snapshot } from '../../src/base/snapshot.ts';
import { ManualClock } from '../../src/testing.ts';
import { configF, configS } from '../support/configs.ts';
import { Made } from '../support/made.ts';
import { Watch } from '../support/watch.ts';

/** A watch over a lane that does not exist: the test says what it looks like. */
function watching(one: Partial<DownstreamSnapshot> = {}, quota: Partial<QuotaSnapshot> = {}) {
  const clock = new ManualClock();
  const calls: Made[] = [];
  const made = (): Made => {
    const call = new Made('api', { requests: 1 }, { isSetup: false, zeroMs: () => 0 });
    calls.push(call);
    return call;
  };
  const lane = {
    downstream: 'api',
    queued: 0,
    running: 0,
    overdue: 0,
    accounts: 0,
    holds: [],
    quotas: [{ quota: '10/second', unit: 'requests', permits: 0, burst: 1, ...quota }],
    ...one,
  };
  const snapshot = () => ({ schema: 1, downstreams: [lane] }) as unknown as Snapshot;
  const config = configF({ maxConcurrent: 2 });
  const watch = new Watch({ clock, configs: { api: config }, calls, snapshot });
  const start = (call = made()): void => {
    call.runs += 1;
    watch.started(call);
  };
  return { clock, watch, made, start, faults: () => [...watch.faults].join('\n') };
}

describe('the watch sees', () => {
  it('1: a start too many in a window, and none where there is none', async () => {
    const { clock, watch, start, faults } = watching();
    for (let n = 0; n < 10; n += 1) start();
    await clock.advance(1_000);
    start();
    watch.windows();
    expect(faults()).toBe('');
    for (let n = 0; n < 10; n += 1) start();
    watch.windows();
    expect(faults()).toContain('11 requests in a window of 1000 ms, 10 declared');
  });

  it('2: a start during a hold, and none at its end or after it was ended', async () => {
    const { clock, watch, start, faults } = watching();
    const event = { at: 0, downstream: 'api', cause: 'cooldown' } as const;
    watch.hear({ ...event, type: 'held', until: clock.wallNow() + 1_000 });
    await clock.advance(1_000);
    start();
    watch.hear({ ...event, type: 'held', until: clock.wallNow() + 1_000 });
    watch.hear({ ...event, type: 'resumed', until: clock.wallNow() });
    start();
    expect(faults()).toBe('');
    watch.hear({ ...event, type: 'held', until: clock.wallNow() + 1 });
    start();
    expect(faults()).toContain('a start during a hold (cooldown), 1 ms early');
  });

  it.each([
    [1, ''],
    [1.001, '1.001 permits'],
    [Number.NaN, 'not finite'],
  ])('3: a level of %d in a bucket of 1', (permits, text) => {
    const { watch, faults } = watching({}, { permits });
    watch.look();
    if (text === '') expect(faults()).toBe('');
    else expect(faults()).toContain(text);
  });

  it('4: fn that runs twice, or after its caller was told', () => {
    const { made, start, faults } = watching();
    const call = made();
    start(call);
    expect(faults()).toBe('');
    start(call);
    call.state = 'rejected';
    start(call);
    expect(faults()).toMatch(/ran 2 times[\s\S]*after its caller was told/);
  });

  it('5: a second timer, and one with a delay that no platform keeps', () => {
    const { clock, watch, faults } = watching();
    clock.setTimer(5, () => undefined);
    clock.setTimer(5, () => undefined, { keepAlive: false });
    watch.look();
    expect(faults()).toBe('');
    clock.setTimer(0, () => undefined);
    watch.look();
    expect(faults()).toMatch(/2 timers keep 1 lanes[\s\S]*delay of 0 ms/);
  });

  it('6: what is left at rest', () => {
    const clean = watching();
    clean.watch.atRest();
    expect(clean.faults()).toBe('');
    const { clock, watch, made, faults } = watching({ queued: 1 });
    made();
    clock.setTimer(5, () => undefined);
    watch.atRest();
    expect(faults()).toMatch(/1 queued, 0 running at rest\n1 timers pending at rest\n1 promises never settled/);
  });

  it.each<[string, Partial<DownstreamSnapshot>, Partial<QuotaSnapshot>, boolean]>([
    ['a permit, a place, and somebody who waits', { queued: 1 }, { permits: 1 }, true],
    ['nobody who waits', {}, { permits: 1 }, false],
    ['no whole permit', { queued: 1 }, { permits: 0.999 }, false],
    ['no place', { queued: 1, running: 2 }, { permits: 1 }, false],
    ['a hold', { queued: 1, holds: [{ cause: 'operator', leftMs: 5, until: 5 }] }, { permits: 1 }, false],
  ])('8: %s', (_, lane, quota, isFault) => {
    const { watch, made, faults } = watching(lane, {
      burst: 2,
      ...quota,
      ...(quota.permits === 1 && { permits: 1.01 }),
    });
    made();
    watch.look();
    expect(faults().includes('wait for nothing')).toBe(isFault);
  });
});

it('the configurations are what their names say', () => {
  expect(configS().declares).toEqual([{ limit: 75, windowMs: 60_000, unit: 'requests' }]);
  expect(configS({ maxQueueDepth: 3 }).policy).toMatchObject({ maxQueueDepth: 3 });
});
