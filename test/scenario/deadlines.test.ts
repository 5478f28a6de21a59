import { describe, expect, it } from 'vitest';
import { returned429, thrown429 } from '../support/answers.ts';
import { configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';

describe('Deadlines', () => {
  it('B78: a hopeless call is refused in the turn it was made, and takes nothing', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const ten = rig.callMany(10);
    await rig.settle();
    const before = rig.snap();
    const hopeless = rig.call({ deadlineIn: 5_000 });
    await rig.settle();
    expect(hopeless.refusal).toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'admission', started: false });
    expect(hopeless.refusal.expectedWaitMs).toBeCloseTo(11_000, 6);
    expect([hopeless.runs, hopeless.endedMs]).toEqual([0, 0]);
    expect(rig.snap()).toMatchObject({ queued: before.queued, quotas: before.quotas });
    const eleventh = rig.call({ deadlineIn: 30_000 });
    await rig.to(11_000);
    expect(ten.map((call) => call.startedMs)).toEqual(ten.map((_, n) => (n + 1) * 1_000));
    expect(eleventh.startedMs).toBe(11_000);
    await rig.rest();
  });

  it('B78: a start exactly at the deadline is in time', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    const exact = rig.call({ deadlineIn: 1_000 });
    const after = rig.call({ deadlineIn: 1_999 });
    await rig.to(1_000);
    expect([exact.startedMs, exact.state, after.result]).toEqual([1_000, 'fulfilled', 'DEADLINE_EXCEEDED']);
    await rig.rest();
  });

  it('B79: whoever the hold outlasts is refused with it, and the rest start when it ends', async () => {
    const rig = new Rig(configS());
    const fails = rig.call({ deadlineIn: 120_000, fn: () => Promise.reject(thrown429('3600')) });
    await rig.settle();
    const x = rig.call({ deadlineIn: 119_999 });
    const y = rig.call({ deadlineIn: 120_000 });
    const z = rig.call({ deadlineIn: 3_601_000 });
    await rig.settle();
    expect([fails.runs, fails.endedMs, (fails.error as { status: number }).status]).toEqual([1, 0, 429]);
    expect([x.endedMs, y.endedMs]).toEqual([0, 0]);
    expect([x.runs, y.runs]).toEqual([0, 0]);
    for (const call of [x, y]) {
      expect(['RATE_LIMITED', 'DEADLINE_EXCEEDED']).toContain(call.refusal.code);
    }
    await rig.to(3_600_000);
    expect(z.startedMs).toBe(3_600_000);
    await rig.rest();
  });

  it('B79: the same with the waiters there first', async () => {
    const rig = new Rig(configS({ maxConcurrent: 1 }));
    rig.call({ deadlineIn: 120_000, fn: () => rig.sleep(10).then(() => returned429('3600')) });
    const calls = [119_999, 120_000, 3_601_000].map((deadlineIn) => rig.call({ deadlineIn }));
    await rig.to(10);
    expect(calls.map((call) => [call.result, call.runs])).toEqual([
      ['DEADLINE_EXCEEDED', 0],
      ['DEADLINE_EXCEEDED', 0],
      ['waiting', 0],
    ]);
    expect(calls[0]?.refusal).toMatchObject({ phase: 'waiting' });
    await rig.to(3_600_010);
    expect(calls[2]?.startedMs).toBe(3_600_010);
    await rig.rest();
  });

  it('B80: a waiter that a new hold makes hopeless is refused then, and never runs', async () => {
    const rig = new Rig(configS());
    rig.call({ fn: () => rig.sleep(1_000).then(() => returned429('60')) });
    await rig.settle();
    await rig.drain();
    rig.callMany(2);
    const w = rig.call({ deadlineIn: 10_000 });
    await rig.to(999);
    expect(w.state).toBe('waiting');
    await rig.to(1_000);
    expect(w.refusal).toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'waiting', limitedBy: expect.any(String) });
    await rig.to(200_000);
    expect(w.runs).toBe(0);
    await rig.rest();
  });

  it('B82: the deadline covers the wait and the run together', async () => {
    const rig = new Rig(configS());
    await rig.drain();
    rig.callMany(2);
    let remainingMs: number | undefined;
    let firedMs: number | undefined;
    const call = rig.call({
      deadlineIn: 5_000,
      fn: (lease) => {
        remainingMs = lease.remainingMs;
        return new Promise((_, reject) => {
          lease.signal.addEventListener('abort', () => {
            firedMs = rig.t;
            reject(lease.signal.reason);
          });
        });
      },
    });
    await rig.to(10_000);
    expect([call.startedMs, firedMs, call.endedMs]).toEqual([3_000, 5_000, 5_000]);
    expect(remainingMs).toBeLessThanOrEqual(2_000);
    expect(remainingMs).toBeGreaterThan(1_999);
    expect(call.refusal).toMatchObject({
      code: 'DEADLINE_EXCEEDED',
      phase: 'running',
      started: true,
      retryable: false,
    });
    await rig.rest();
  });
});
