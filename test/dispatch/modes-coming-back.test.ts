import { describe, expect, test } from 'vitest';
import { createDispatcher } from '../../src/dispatcher.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { ManualClock, recordEvents } from '../../src/testing.ts';

const other = { unlimited: true } as const;

function stage(api: DownstreamPolicyInput) {
  const clock = new ManualClock();
  const dispatcher = createDispatcher({ downstreams: { api, other } }, { clock, alertSinks: [], env: {} });
  const record = recordEvents(dispatcher);
  const count = (type: string): number => record.events.filter((event) => event.type === type).length;
  const gone = (): unknown => dispatcher.apply({ downstreams: { other } });
  const back = (policy: DownstreamPolicyInput): unknown => dispatcher.apply({ downstreams: { api: policy, other } });
  const pass = async (seconds: number): Promise<void> => {
    for (let i = 0; i < seconds; i++) await clock.advance(1_000);
  };
  return { clock, dispatcher, record, count, gone, back, pass };
}

const quota = { quota: '10/minute', utilization: 1 } as const;

describe('a downstream that is gone for a moment', () => {
  test('and was only observed has no second quota when it enforces', async () => {
    const { dispatcher, gone, back, pass } = stage({ ...quota, mode: 'observe' });
    for (let i = 0; i < 10; i++) await dispatcher.callDownstream('api', () => 1);
    gone();
    back(quota);
    let starts = 0;
    for (let i = 0; i < 30; i++) void dispatcher.callDownstream('api', () => starts++);
    await pass(59);
    expect(starts).toBe(0);
    await pass(5);
    expect(starts).toBeGreaterThan(0);
  });

  test.each([true, false])('keeps books again, with a call that still runs or without: %s', async (runs) => {
    const { dispatcher, gone, back, pass, count } = stage({ ...quota, mode: 'observe' });
    if (runs) void dispatcher.callDownstream('api', () => new Promise(() => undefined));
    await pass(1);
    gone();
    back({ ...quota, mode: 'observe' });
    await dispatcher.callDownstream('api', () => 1);
    await pass(60);
    expect(count('would-start')).toBe(runs ? 2 : 1);
  });

  test('hears of a mode that was said meanwhile', async () => {
    const { dispatcher, gone, back, pass, count } = stage(quota);
    await dispatcher.callDownstream('api', () => 1);
    gone();
    dispatcher.setMode('observe');
    back(quota);
    await dispatcher.callDownstream('api', () => 1);
    await pass(60);
    expect(count('would-start')).toBe(1);
  });
});

test('what was let go by a change of mode starts no more once a close has given its report', async () => {
  const { dispatcher, count, clock } = stage({ maxConcurrent: 1 });
  let starts = 0;
  const never = new Promise(() => undefined);
  const ends = Array.from({ length: 2_000 }, () =>
    dispatcher
      .callDownstream('api', () => (starts++ === 0 ? never : 'ran'))
      .catch((error: { code: string }) => error.code),
  );
  for (let i = 0; i < 4; i++) await undefined;
  dispatcher.setMode('observe');
  const report = await dispatcher.close({ within: 0 });
  const before = starts;
  for (let i = 0; i < 10; i++) await clock.advance(10);
  const codes = (await Promise.all(ends)).filter((end) => end === 'DISPATCHER_CLOSED');
  expect(starts).toBe(before);
  expect(report.settled + report.refused + report.abandoned).toBe(2_000);
  // The one that was abandoned has heard of it too.
  expect(codes).toHaveLength(report.refused + report.abandoned);
  expect(count('refused')).toBe(report.refused);
});

test('cancel takes out of the books what would still wait there', async () => {
  const { dispatcher, record, pass } = stage({ maxConcurrent: 1, mode: 'observe' });
  void dispatcher.callDownstream('api', () => new Promise(() => undefined), { runId: 'a' });
  await dispatcher.callDownstream('api', () => 1, { runId: 'b' });
  expect(dispatcher.snapshot().downstreams[0]!.queued).toBe(1);
  expect(dispatcher.cancel({ runId: 'b' }, 'not wanted')).toBe(0);
  await pass(1);
  expect(dispatcher.snapshot().downstreams[0]!.queued).toBe(0);
  expect(record.events.filter(({ type }) => type === 'would-refuse')).toMatchObject([
    { runId: 'b', code: 'CANCELLED' },
  ]);
});
