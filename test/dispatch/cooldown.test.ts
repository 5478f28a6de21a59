import { describe, expect, it } from 'vitest';
import { returned429, thrown429 } from '../support/answers.ts';
import { holdsOf, nextIn, rigOf } from './support/refusals.ts';

const SECOND = 1_000;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe("the server's word", () => {
  it.each(['0.5', '1', '2.25', '59', '3600'])('is kept exactly the first time: Retry-After: %s', async (said) => {
    for (const answer of [() => returned429(said), () => Promise.reject(thrown429(said))]) {
      const rig = rigOf();
      rig.call({ fn: answer });
      await rig.settle();
      expect(await nextIn(rig)).toBe(Number(said) * SECOND);
      await rig.rest();
    }
  });

  it('is the floor of the cooldown, never its ceiling, from the second incident in a row on', async () => {
    const rig = rigOf();
    const said = ['1', '1', '1', '30', '1', '1'];
    expect(await holdsOf(rig, ...said.map((text) => () => returned429(text)))).toEqual([
      1_000, 4_000, 8_000, 30_000, 32_000, 60_000,
    ]);
    await rig.rest();
  });

  it('"now" is taken literally once', async () => {
    const rig = rigOf();
    const now = () => returned429('0');
    expect(await holdsOf(rig, now, now, now)).toEqual([0, 4_000, 8_000]);
    expect(rig.alerts.map(({ server }) => server.retryAfterMs)).toEqual([0, 0, 0]);
    rig.call();
    await rig.settle();
    expect(await holdsOf(rig, now)).toEqual([0]);
    await rig.rest();
  });

  it('that is longer than maxHold: one call may ask then, and the alert says so', async () => {
    const rig = rigOf({ maxHold: '10m', pauseAbove: '1h' });
    const month = () => returned429(String(30 * 86_400));
    expect(await holdsOf(rig, month, month)).toEqual([10 * MINUTE, 10 * MINUTE]);
    expect(rig.alerts.map(({ server }) => [server.capped, server.retryAfterMs])).toEqual([
      [true, 30 * DAY],
      [true, 30 * DAY],
    ]);
    await rig.rest();
  });

  it('leaves the call that was throttled alone: its caller has the answer at once', async () => {
    const rig = rigOf();
    const error = thrown429('60');
    const [thrown, returned] = [
      rig.call({ fn: () => Promise.reject(error) }),
      rig.call({ fn: () => returned429('60') }),
    ];
    await rig.settle();
    expect([thrown.error, thrown.endedMs, thrown.runs]).toEqual([error, 0, 1]);
    expect([(returned.value as Response).status, returned.endedMs, returned.runs]).toEqual([429, 0, 1]);
    await rig.by(MINUTE);
    await rig.rest();
  });
});

describe('one incident', () => {
  it('is all the 429s of calls from before its hold: one step, an alert each, one id', async () => {
    const rig = rigOf();
    rig.callMany(20, { fn: () => rig.sleep(10).then(() => returned429()) });
    rig.call({ fn: () => rig.sleep(MINUTE).then(() => returned429()) });
    await rig.to(10);
    expect(rig.snap()).toMatchObject({ inARow: 1, holds: [{ cause: 'cooldown', leftMs: 2_000 }] });
    await rig.to(MINUTE);
    expect(rig.snap()).toMatchObject({ inARow: 1, holds: [] });
    expect(rig.alerts.map(({ incident }) => incident.throttles)).toEqual(Array.from({ length: 21 }, (_, n) => n + 1));
    expect(new Set(rig.alerts.map(({ incident }) => incident.id)).size).toBe(1);
    expect(rig.alerts.map(({ action }) => action.step)).toEqual([...Array(20).fill(1), undefined]);
    await rig.rest();
  });

  it('is extended by what a later answer says, and by nothing else: our own floor counts once', async () => {
    const rig = rigOf();
    const answers = ['0', '0', undefined, '1', '10'];
    await holdsOf(
      rig,
      () => returned429('1'),
      () => returned429('1'),
    );
    rig.zero();
    for (const [n, said] of answers.entries())
      rig.call({ fn: () => (n === 0 ? returned429(said) : rig.sleep(n * SECOND).then(() => returned429(said))) });
    await rig.settle();
    const ends: number[] = [];
    for (let n = 0; n < answers.length; n++) {
      await rig.to(n * SECOND);
      ends.push(n * SECOND + Math.max(...rig.snap().holds.map(({ leftMs }) => leftMs)));
    }
    expect(ends).toEqual([8_000, 8_000, 8_000, 8_000, 14_000]);
    expect(rig.snap().inARow).toBe(3);
    await rig.by(MINUTE);
    await rig.rest();
  });

  it.each(['deadline', 'abort', 'orphan'])(
    'hears of outcomes that come after their caller was rejected: %s',
    async (how) => {
      const rig = rigOf({ leaseGrace: '2s' });
      const abort = new AbortController();
      const late = () => rig.sleep(how === 'orphan' ? 10_000 : 2_500).then(() => returned429('60'));
      const call = rig.call({ fn: late, ...(how === 'abort' ? { signal: abort.signal } : { deadlineIn: SECOND }) });
      await rig.to(SECOND);
      abort.abort();
      await rig.settle();
      expect(call.endedMs).toBe(SECOND);
      const at = how === 'orphan' ? 10_000 : 2_500;
      await rig.to(at);
      expect(rig.snap().holds).toMatchObject([{ cause: 'retry-after', leftMs: MINUTE }]);
      expect(rig.alerts.filter(({ name }) => name === 'QuotaModelWrong')).toHaveLength(1);
      expect(await nextIn(rig)).toBe(MINUTE);
      await rig.rest();
    },
  );

  it('a late success ends nothing; one from after the hold does', async () => {
    const rig = rigOf();
    rig.call({ runMs: 5_000 });
    await rig.settle();
    await holdsOf(rig, () => returned429());
    await rig.to(5_000);
    expect(rig.snap().inARow).toBe(1);
    rig.call();
    await rig.settle();
    expect(rig.snap()).toMatchObject({ inARow: 0 });
    expect(rig.snap().incidentId).toBeUndefined();
    await rig.rest();
  });

  it('a nested call counts by its own start, the call around it by its own', async () => {
    const rig = rigOf();
    const outer = rig.call({
      fn: async (call) => {
        await rig.sleep(100);
        rig.dispatcher.report('api', { status: 429 });
        return call.run(() => rig.sleep(SECOND));
      },
    });
    await rig.to(100);
    expect(rig.snap().inARow).toBe(1);
    await rig.to(2_100 + SECOND);
    expect([outer.state, rig.snap().inARow]).toEqual(['fulfilled', 0]);
    const around = rig.call({
      fn: async (call) => {
        await call.run(() => returned429('1'));
        return 'fine all the same';
      },
    });
    await rig.settle();
    expect([around.state, rig.snap().inARow]).toEqual(['fulfilled', 1]);
    await rig.by(MINUTE);
    await rig.rest({ otherCalls: 2 });
  });
});

describe('a 429 of a nested call that the call around it ends with, too', () => {
  it.each([true, false])('is one answer: one alert, and no longer wait (thrown: %s)', async (isThrown) => {
    const rig = rigOf();
    const answer = isThrown ? thrown429('60') : returned429('60');
    const around = rig.call({
      fn: async (call) => {
        const same = await call
          .run(() => (isThrown ? Promise.reject(answer) : answer))
          .catch((error: unknown) => error);
        await rig.sleep(10_000);
        if (isThrown) throw same;
        return same;
      },
    });
    await rig.to(10_000);
    expect(isThrown ? around.error : around.value).toBe(answer);
    expect([rig.alerts.length, rig.snap().totals.throttled]).toEqual([1, 1]);
    expect(rig.snap()).toMatchObject({ inARow: 1, holds: [{ leftMs: 50_000 }] });
    const other = rig.call({ fn: () => answer });
    await rig.to(MINUTE);
    expect([other.startedMs, rig.alerts.length]).toEqual([MINUTE, 2]);
    await rig.by(MINUTE);
    await rig.rest({ otherCalls: 1 });
  });
});

describe('report()', () => {
  it('without a start joins the incident whose hold is in force, and opens one otherwise', async () => {
    const rig = rigOf();
    for (const atMs of [0, 500, 1_999]) {
      await rig.to(atMs);
      rig.dispatcher.report('api', { status: 429 });
    }
    expect(rig.snap()).toMatchObject({ inARow: 1, holds: [{ leftMs: 1 }] });
    rig.dispatcher.report('api', { status: 429, retryAfterMs: 3_000 });
    expect(rig.snap()).toMatchObject({ inARow: 1, holds: [{ leftMs: 1 }, { leftMs: 3_000 }] });
    await rig.by(3_000);
    rig.dispatcher.report('api', { status: 429 });
    expect(rig.snap()).toMatchObject({ inARow: 2, holds: [{ leftMs: 4_000 }] });
    expect(rig.alerts.map(({ incident }) => incident.throttles)).toEqual([1, 2, 3, 4, 1]);
    await rig.by(4_000);
    await rig.rest();
  });

  it('after resume({ all: true }) opens a new one: the operator has ended the last', async () => {
    const rig = rigOf();
    rig.dispatcher.report('api', { status: 429, retryAfterMs: 60_000 });
    rig.dispatcher.resume('api', { all: true });
    expect(rig.snap()).toMatchObject({ inARow: 1, holds: [] });
    rig.dispatcher.report('api', { status: 429 });
    expect(rig.snap()).toMatchObject({ inARow: 2, holds: [{ cause: 'cooldown', leftMs: 4_000 }] });
    await rig.by(4_000);
    await rig.rest();
  });

  it.each([
    ['before the hold', -1, 1],
    ['during it', 1_000, 1],
    ['after it', 2_000, 2],
    ['in the future: a clock that is ahead', DAY, 2],
  ])('of a call that started %s', async (_, startedMs, inARow) => {
    const rig = rigOf();
    await rig.to(10);
    rig.zero();
    rig.dispatcher.report('api', { status: 429 });
    const zero = rig.clock.wallNow();
    await rig.to(3_000);
    rig.dispatcher.report('api', { status: 429 }, { startedAt: zero + startedMs });
    expect(rig.snap().inARow).toBe(inARow);
    await rig.by(MINUTE);
    const after = inARow === 2 ? 0 : 1;
    rig.dispatcher.report('api', { status: 200 });
    expect(rig.snap().inARow).toBe(inARow);
    rig.dispatcher.report('api', { status: 200 }, { startedAt: zero + startedMs });
    expect(rig.snap().inARow).toBe(startedMs === DAY ? after : inARow);
    rig.dispatcher.report('api', { status: 200 }, { startedAt: rig.clock.wallNow() });
    expect(rig.snap().inARow).toBe(0);
    await rig.rest();
  });

  it('of a call that starts in the future, by a clock that is ahead, is one of now', async () => {
    const rig = rigOf();
    rig.dispatcher.report('api', { status: 429 });
    rig.dispatcher.report('api', { status: 429 }, { startedAt: rig.clock.wallNow() + DAY });
    expect(rig.snap()).toMatchObject({ inARow: 1, holds: [{ leftMs: 2_000 }] });
    await rig.by(2_000);
    await rig.rest();
  });
});

describe('what is told', () => {
  it('of a hold: that it is later, if by a millisecond or more', async () => {
    const rig = rigOf();
    for (const ms of [60_000, 60_000.5, 60_000.9, 60_001, 60_001, 90_000]) {
      rig.dispatcher.report('api', { status: 429, retryAfterMs: ms });
    }
    const told = rig.record.events.flatMap((event) =>
      event.type === 'held' ? [event.until - rig.clock.wallNow()] : [],
    );
    expect(told).toEqual([60_000, 60_001, 90_000]);
    await rig.by(90_000);
    await rig.rest();
  });

  it('of the hold before: how long it had been over when the incident began', async () => {
    const rig = rigOf();
    await holdsOf(rig, () => returned429('1'));
    await rig.by(500);
    rig.call({ fn: () => rig.sleep(3_000).then(() => returned429()) });
    await holdsOf(rig, () => returned429('5'));
    rig.call({ fn: () => rig.sleep(200).then(() => returned429()) });
    await rig.settle();
    rig.dispatcher.report('api', { status: 529, retryAfterMs: 100, headers: {} });
    await rig.by(200);
    const since = rig.alerts.map(({ observed }) => observed.sinceHoldMs);
    // The third is one more of the second incident; before the fourth an overload was answered, and waited out.
    expect(since).toEqual([undefined, 500, 3_500, 100]);
    await rig.by(MINUTE);
    await rig.rest();
  });

  it('of a hold before that was not over yet: nothing', async () => {
    const rig = rigOf();
    rig.call({ fn: () => rig.sleep(12_000).then(() => returned429()) });
    await rig.settle();
    rig.dispatcher.pause('api', { for: '10s' });
    rig.dispatcher.report('api', { status: 429 });
    await rig.to(12_000);
    expect(rig.alerts.map(({ observed }) => observed.sinceHoldMs)).toEqual([undefined, undefined]);
    await rig.rest();
  });
});
