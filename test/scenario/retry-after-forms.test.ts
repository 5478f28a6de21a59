import { afterEach, describe, expect, it } from 'vitest';
import { configS } from '../support/configs.ts';
import { BOTH, type Fields, fetched, refusal, restartOf, START } from '../support/refused.ts';
import { Rig } from '../support/rig.ts';

const SECOND = 1_000;
const MINUTE = 60_000;

describe.each(BOTH)('forms of a wait (%s)', (_, isThrown) => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
  const zones = ['UTC', 'America/New_York', 'Asia/Kolkata'];
  const forms = ['Wed, 21 Oct 2026 07:28:30 GMT', 'Wednesday, 21-Oct-26 07:28:30 GMT', 'Wed Oct 21 07:28:30 2026'];
  it.each(zones.flatMap((tz) => forms.map((form) => [form, tz] as const)))(
    'B32: "%s" holds for 30 s in %s',
    async (form, tz) => {
      process.env.TZ = tz;
      expect(await restartOf({ 'retry-after': form }, isThrown, Date.UTC(2026, 9, 21, 7, 28))).toBe(30_000);
    },
  );

  it.each([
    ['0.5', 500],
    ['1.5', 1_500],
    ['2.0', 2_000],
    ['299.997', 299_997],
    ['0.0001', 1],
  ])('B33: "%s" is %d ms, never less and never dropped', async (text, ms) => {
    // A call that was refused took its permit: the next is due a second later by the bucket alone, where that is later.
    const rig = new Rig(configS({ whilePaused: 'wait' }));
    rig.call({ fn: refusal({ 'retry-after': text }, isThrown) });
    await rig.settle();
    expect(rig.alerts[0]?.server).toMatchObject({ retryAfterMs: ms, readFrom: 'retry-after' });
    const next = rig.call();
    await rig.to(10 * MINUTE);
    expect(next.startedMs).toBe(ms);
    await rig.rest();
  });

  const then = (START + 30_000) / SECOND;
  it.each<readonly [Fields, string]>([
    [{ 'retry-after': String(then) }, 'retry-after (read as an epoch in seconds)'],
    [{ 'retry-after': `${then}000` }, 'retry-after (read as an epoch in milliseconds)'],
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(then) },
      'x-ratelimit-reset (read as an epoch in seconds)',
    ],
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${then}000` },
      'x-ratelimit-reset (read as an epoch in milliseconds)',
    ],
  ])('B35: a timestamp (%o) is an instant, and the alert says so', async (fields, readFrom) => {
    const rig = new Rig(configS());
    rig.call({ fn: refusal(fields, isThrown) });
    await rig.settle();
    expect(rig.alerts[0]?.server).toMatchObject({ retryAfterMs: 30_000, readFrom });
    const next = rig.call();
    await rig.to(MINUTE);
    expect(next.startedMs).toBe(30_000);
    await rig.rest();
  });

  const noon = Date.UTC(2026, 7, 7, 12);
  const date = new Date(noon).toUTCString();
  const halfPast = new Date(noon + 30_000).toUTCString();
  it.each([40_000, -40_000])('B36: a local clock that is %d ms off changes no wait', async (offMs) => {
    const spent = { 'x-ratelimit-remaining': '0' };
    const wall = noon + offMs;
    expect(await restartOf({ date, 'retry-after': halfPast }, isThrown, wall)).toBe(30_000);
    expect(await restartOf({ date, ...spent, 'x-ratelimit-reset': String(noon / SECOND + 30) }, isThrown, wall)).toBe(
      30_000,
    );
    expect(await restartOf({ date, ...spent, 'x-ratelimit-reset-after': '30' }, isThrown, wall)).toBe(30_000);
    const byLocal = await restartOf({ 'retry-after': halfPast }, isThrown, wall);
    // Without a Date the local clock has to do: 70 s, or an instant that has passed, which is no hint.
    expect(byLocal).toBe(offMs < 0 ? 70_000 : 2_000);
  });

  it('B38: 0 is a value; taken literally once', async () => {
    const rig = new Rig(configS());
    rig.call({ fn: refusal({ 'retry-after': '0' }, isThrown) });
    await rig.settle();
    expect(rig.alerts[0]?.server).toEqual({ status: 429, retryAfterMs: 0, readFrom: 'retry-after' });
    const next = rig.call();
    await rig.to(SECOND);
    expect(next.startedMs).toBeLessThanOrEqual(SECOND);
    await rig.rest();
    const row = new Rig(configS());
    const starts: number[] = [];
    const again = (): unknown => {
      starts.push(row.t);
      return refusal({ 'retry-after': '0' }, isThrown)();
    };
    for (let n = 0; n < 10; n += 1) {
      row.call({ fn: again });
      await row.by(100);
    }
    expect(starts.filter((at) => at < SECOND).length).toBeLessThanOrEqual(3);
    await row.to(60 * MINUTE);
    // From the second in a row on, the floor that grows.
    const gaps = starts.slice(2).map((at, n) => at - starts[n + 1]!);
    expect(gaps.slice(0, 4).every((gap, n) => gap >= 4_000 * 2 ** Math.min(n, 3))).toBe(true);
    await row.rest();
  });

  const bare: Record<string, string> = Object.assign(Object.create(null), { 'Retry-After': '7' });
  const containers: readonly (readonly [string, object])[] = [
    ['lower case', { 'retry-after': '7' }],
    ['as sent', { 'Retry-After': '7' }],
    ['upper case', { 'RETRY-AFTER': '7' }],
    ['a list', { 'Retry-after': ['7'] }],
    ['a number', { 'Retry-After': 7 }],
    ['Headers', new Headers({ 'Retry-After': '7' })],
    ['a Map', new Map([['Retry-After', '7']])],
    ['pairs', [['Retry-After', '7']]],
    ['no prototype', bare],
  ];
  it.each(containers)('B39: 7 s in %s, wherever it hangs', async (_, headers) => {
    const places = [
      { status: 429, headers },
      { response: { status: 429, headers } },
      { status: 429, responseHeaders: headers },
    ];
    for (const place of isThrown ? places : [places[0]!, places[2]!]) {
      const rig = new Rig(configS());
      const fn = (): unknown => {
        if (isThrown) throw Object.assign(new Error('x'), place);
        return place;
      };
      rig.call({ fn });
      await rig.settle();
      const next = rig.call();
      await rig.to(MINUTE);
      expect(next.startedMs).toBe(7_000);
      await rig.rest();
    }
  });

  it('B40: a header that nobody can read hides nothing', async () => {
    const rig = new Rig(configS());
    const answer = refusal({ 'retry-after': 'abc' }, isThrown, 'limit: 60 per minute per key');
    const call = rig.call({ fn: answer });
    await rig.settle();
    expect(isThrown ? call.error : call.value).toMatchObject({ status: 429, body: 'limit: 60 per minute per key' });
    const next = rig.call();
    await rig.to(MINUTE);
    expect(next.startedMs).toBe(2_000);
    expect(rig.alerts.map((alert) => alert.name)).toEqual(['QuotaModelWrong']);
    await rig.rest();
  });

  it.each<readonly [string, number | undefined]>([
    ['2026-08-07T21:00:00Z', 30_000],
    ['6m0s', 360_000],
    ['17ms', 17],
    ['500ms', 500],
    ['7.66s', 7_660],
    ['2m59.56s', 179_560],
    ['60', 60_000],
    ['1786136400', 30_000],
    ['1786136400000', 30_000],
    ['abc', undefined],
    ['', undefined],
  ])('B41: a reset of "%s"', async (text, ms) => {
    const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': text };
    // What cannot be read is the cooldown's.
    expect(await restartOf(headers, isThrown, Date.UTC(2026, 7, 7, 20, 59, 30))).toBe(ms ?? 2_000);
    expect(await restartOf(fetched(headers), isThrown, Date.UTC(2026, 7, 7, 20, 59, 30))).toBe(ms ?? 2_000);
  });
});
