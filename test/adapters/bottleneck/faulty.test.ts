import { describe, expect, test, vi } from 'vitest';
import { bottleneckEngine, type GroupLike, type LimiterLike } from '../../../src/adapters/bottleneck.ts';
import { createDispatcher } from '../../../src/dispatcher.ts';
import { fakeTimers } from '../../contract/support.ts';

fakeTimers();

const on = (): unknown => undefined;
const broken = (): never => {
  throw new Error('no connection');
};

const FAULTY: readonly [string, LimiterLike | GroupLike][] = [
  ['throws', { on, schedule: broken }],
  ['rejects', { on, schedule: () => Promise.reject(new Error('no connection')) }],
  ['cannot be listened to', { on: broken, schedule: (_, job) => job() }],
  ['is done without having run anything', { on, schedule: () => Promise.resolve() }],
  ['is a group that has none', { key: broken }],
];

describe('a limiter that', () => {
  test.each(FAULTY)('%s refuses calls, and nothing hangs', async (_, limiter) => {
    const engines = { api: bottleneckEngine(limiter) };
    const dispatcher = createDispatcher({ downstreams: { api: {} } }, { alertSinks: [], env: {}, engines });
    const ends: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const end = (value: unknown): unknown => ends.push(value);
      dispatcher.callDownstream('api', () => 'ran').then(end, end);
    }
    await vi.advanceTimersByTimeAsync(100);
    expect(ends).toHaveLength(3);
    for (const end of ends) expect(end).toMatchObject({ code: 'RATE_LIMIT_QUEUE_FULL', started: false });
    expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ queued: 0, running: 0 });
    await dispatcher.close({ within: 0 });
  });
});
