import { expect, test } from 'vitest';
import { type Alert, createDispatcher } from '../../src/index.ts';
import { ManualClock } from '../../src/testing.ts';

const fail = () => Promise.reject(Object.assign(new Error('429'), { status: 429, headers: { 'retry-after': '3600' } }));

/** A lane that is paused with 30 calls in line that never said how long they can wait. */
async function paused() {
  const clock = new ManualClock();
  const [all, critical, heard]: [Alert[], Alert[], Alert[]] = [[], [], []];
  const sink = (name: string, into: Alert[]) => ({ name, deliver: (alert: Alert) => void into.push(alert) });
  const pager = { ...sink('pager', critical), accepts: ({ severity }: Alert) => severity === 'critical' };
  const dispatcher = createDispatcher(
    { downstreams: { mail: { quota: '60/minute' } } },
    { clock, alertSinks: [sink('chat', all), pager], onAlert: (alert) => heard.push(alert), env: {} },
  );
  const call = (fn: () => Promise<unknown> = async () => 1) => dispatcher.callDownstream('mail', fn).catch(() => 0);
  void call(fail);
  for (let n = 0; n < 35; n += 1) void call();
  const after = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    await dispatcher.flush();
  };
  await after(1_000);
  return { after, all, critical, heard, ...dispatcher };
}

test('a pause that refuses calls is critical: who is called only then is called, the others hear of it when they may', async () => {
  const { after, all, critical, heard } = await paused();
  expect(all).toMatchObject([{ severity: 'warning', impact: { refused: 0 } }]);
  await after(6_000);
  expect(critical).toMatchObject([{ severity: 'critical', action: { kind: 'pause' }, impact: { waiting: 0 } }]);
  expect(critical[0]?.impact.refused).toBeGreaterThan(0);
  expect(critical[0]?.explanation).toContain(`${critical[0]?.impact.refused} calls were refused so far`);
  expect(all).toHaveLength(1);
  await after(300_000);
  expect(all).toMatchObject([{}, { severity: 'critical', impact: { waiting: 0 } }]);
  await after(600_000);
  expect([all.length, critical.length, heard.length]).toEqual([2, 1, 1]);
});

test('once it is resumed nothing is looked at again', async () => {
  const { after, all, critical, resume } = await paused();
  resume('mail', { all: true });
  await after(240_000);
  expect([all.length, critical.length]).toEqual([1, 0]);
});
