import { describe, expect, it } from 'vitest';
import { configS } from '../support/configs.ts';
import { BOTH, fetched, refusal, restartOf, rigAt, START } from '../support/refused.ts';
import { Rig } from '../support/rig.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const DAY = 86_400_000;

describe.each(BOTH)('Retry-After parsing (%s)', (_, isThrown) => {
  it.each(['2147483', '2147484', '9999999999', '9'.repeat(400)])(
    'B27: no start for a day after Retry-After: %s, and one call then',
    async (text) => {
      const rig = rigAt(START);
      rig.call({ fn: refusal({ 'retry-after': text }, isThrown) });
      await rig.settle();
      const soon = rig.call({ deadlineIn: MINUTE });
      const patient = rig.callMany(2);
      const gone = new AbortController();
      const abortable = rig.call({ signal: gone.signal });
      await rig.settle();
      expect(soon.refusal.code).toBe('DEADLINE_EXCEEDED');
      expect(rig.snap()).toMatchObject({ queued: 3, isPaused: true });
      expect(rig.snap().heldUntil).toBe(rig.clock.wallNow() + DAY);
      gone.abort(new Error('enough'));
      await rig.settle();
      expect(abortable.state).toBe('rejected');
      await rig.to(DAY - 1);
      expect(rig.starts()).toEqual([0]);
      expect(rig.alerts[0]?.server).toMatchObject({ capped: true });
      await rig.to(DAY + MINUTE);
      // The cap is over: one asks, and the other follows at the gentler pace.
      expect(patient.map((call) => call.startedMs)).toEqual([DAY, DAY + 2 * SECOND]);
      await rig.rest();
    },
  );

  it('B27: 30 days are not over at once, and a server that says so again is obeyed again', async () => {
    const rig = rigAt(START);
    const month = refusal({ 'retry-after': '2592000' }, isThrown);
    const asking = [rig.call({ fn: month })];
    await rig.settle();
    asking.push(...rig.callMany(3, { fn: month }));
    await rig.to(3 * DAY + MINUTE);
    expect(asking.map((call) => call.startedMs)).toEqual([0, DAY, 2 * DAY, 3 * DAY]);
    await rig.rest();
  });

  it.each([59, 60, 61, 119, 120, 121, 600])('B28: %d s are waited out to the end, and no longer', async (seconds) => {
    expect(await restartOf({ 'retry-after': String(seconds) }, isThrown)).toBe(seconds * SECOND);
  });

  it('B29: the answer reaches its caller at once; nobody waits beyond a budget', async () => {
    const rig = new Rig(configS({ whilePaused: 'wait' }));
    const first = rig.call({
      deadlineIn: 30_000,
      fn: refusal({ 'retry-after': '1800' }, isThrown, 'cap lifts at 13:00'),
    });
    await rig.to(10);
    expect(first.endedMs).toBe(0);
    expect(isThrown ? first.error : first.value).toMatchObject({
      status: 429,
      headers: { 'retry-after': '1800' },
      body: 'cap lifts at 13:00',
    });
    const control = new AbortController();
    const after = rig.call({ deadlineIn: 30_000 });
    const waiting = rig.call({ signal: control.signal });
    await rig.settle();
    expect(after.refusal).toMatchObject({ code: 'DEADLINE_EXCEEDED', expectedWaitMs: 1_800_000 - 10 });
    expect(rig.alerts[0]?.server).toMatchObject({ status: 429, retryAfterMs: 1_800_000 });
    expect(waiting.state).toBe('waiting');
    await rig.to(10_000);
    control.abort(new Error('no longer'));
    await rig.settle();
    expect(waiting).toMatchObject({ state: 'rejected', endedMs: 10_000 });
    await rig.rest();
  });

  it('B29: where a pause refuses, X and Y are refused at once, and told how long it is', async () => {
    const rig = new Rig(configS());
    rig.call({ deadlineIn: 30_000, fn: refusal({ 'retry-after': '1800' }, isThrown) });
    await rig.to(10);
    const refused = [rig.call({ deadlineIn: 30_000 }), rig.call({ signal: new AbortController().signal })];
    await rig.settle();
    for (const call of refused) {
      expect(call.refusal.code).toBe('RATE_LIMITED');
      expect(call.refusal.retryAfterMs).toBeGreaterThanOrEqual(1_800_000 - 10);
    }
    await rig.rest();
  });

  const HOUR_AGO = 'Wed, 31 Dec 2025 23:00:00 GMT';
  const SECOND_AGO = 'Wed, 31 Dec 2025 23:59:59 GMT';
  it.each(['-1', '-3600', HOUR_AGO, SECOND_AGO])('B30: "%s" is no hint: the cooldown, and it grows', async (text) => {
    const row = new Rig(configS());
    const starts: (number | undefined)[] = [];
    for (let n = 0; n < 4; n += 1) {
      const call = row.call({ fn: refusal({ 'retry-after': text }, isThrown) });
      await row.by(20_000 * n + 2_000);
      starts.push(call.startedMs);
    }
    expect(row.alerts.map((alert) => alert.action.step)).toEqual([1, 2, 3, 4]);
    expect(row.alerts.map((alert) => alert.server.retryAfterMs)).toEqual([undefined, undefined, undefined, undefined]);
    for (let n = 1; n < 4; n += 1) expect(starts[n]! - starts[n - 1]!).toBeGreaterThanOrEqual(2_000 * 2 ** (n - 1));
    await row.rest();
  });

  it.each([
    'soon',
    '',
    '   ',
    'NaN',
    'Infinity',
    '-Infinity',
    '0x10',
    '1e3',
    '12abc',
    '²',
    'Wed, 99 Foo 2026 99:99:99 GMT',
  ])('B31: "%s" is no hint', async (text) => {
    const rig = new Rig(configS());
    rig.call({ fn: refusal({ 'retry-after': text }, isThrown) });
    await rig.settle();
    expect(rig.alerts).toHaveLength(1);
    expect(rig.alerts[0]?.server).toEqual({ status: 429 });
    expect(JSON.stringify(rig.dispatcher.snapshot())).not.toMatch(/NaN|null/);
    const next = rig.call();
    await rig.to(MINUTE);
    expect(next.startedMs).toBe(2_000);
    await rig.rest();
  });

  it('B31: of "5, 10" the larger', async () => {
    expect(await restartOf({ 'retry-after': '5, 10' }, isThrown)).toBe(10_000);
    expect(await restartOf({ 'retry-after': ['5', '10'] }, isThrown)).toBe(10_000);
    expect(await restartOf(fetched({ 'retry-after': ['5', '10'] }), isThrown)).toBe(10_000);
  });
});
