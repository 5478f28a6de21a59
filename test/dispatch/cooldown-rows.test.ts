import { describe, expect, it } from 'vitest';
import { returned429 } from '../support/answers.ts';
import { bare, configS } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { exhausted, holdsOf, nextIn, overloaded, rigOf, SAYS } from './support/refusals.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe('an overloaded server', () => {
  it('has a row of its own: its steps and those of the quota do not add up', async () => {
    const rig = rigOf();
    const holds = await holdsOf(
      rig,
      () => overloaded(),
      () => returned429(),
      () => overloaded(),
      () => returned429(),
    );
    expect(holds).toEqual([2_000, 2_000, 4_000, 4_000]);
    expect(rig.alerts.map(({ name, incident }) => [name, incident.inARow])).toEqual([
      ['QuotaModelWrong', 1],
      ['QuotaModelWrong', 2],
    ]);
    rig.call();
    await rig.settle();
    expect(
      await holdsOf(
        rig,
        () => overloaded(),
        () => returned429(),
      ),
    ).toEqual([2_000, 2_000]);
    await rig.rest();
  });

  it('while its hold is the longer one, an alert tells of that one and of its step', async () => {
    const rig = rigOf();
    await holdsOf(rig, () => overloaded());
    rig.callMany(2, { fn: () => rig.sleep(1).then(() => overloaded()) });
    await rig.by(1);
    rig.dispatcher.report('api', { status: 429 });
    expect(rig.alerts[0]).toMatchObject({ action: { cause: 'cooldown', step: 2 }, incident: { inARow: 1 } });
    await rig.by(MINUTE);
    await rig.rest();
  });

  it('keeps to its hint, with the floor from the second on, and is no news of the quota', async () => {
    const rig = rigOf();
    expect(
      await holdsOf(
        rig,
        () => overloaded(500),
        () => overloaded(500),
        () => overloaded(90_000),
      ),
    ).toEqual([500, 4_000, 90_000]);
    expect([rig.alerts, rig.snap().totals.throttled, rig.snap().inARow]).toEqual([[], 0, 0]);
    const held = rig.record.events.filter(({ type }) => type === 'held');
    expect(held.map((event) => 'incidentId' in event)).toEqual([false, false, false]);
    await rig.rest();
  });

  it('a success ends the rows whose hold it has seen the end of, and no other', async () => {
    const rig = rigOf();
    await holdsOf(rig, () => returned429());
    const between = rig.call({ runMs: 10_000 });
    await rig.settle();
    await holdsOf(rig, () => overloaded());
    await rig.by(20_000);
    expect([between.state, rig.snap().inARow]).toEqual(['fulfilled', 0]);
    expect(await holdsOf(rig, () => overloaded())).toEqual([4_000]);
    await rig.rest();
  });

  it('its lane is not forgotten while the row lasts', async () => {
    const rig = rigOf({ maxAccounts: 1 });
    rig.call({ account: 'A', fn: () => overloaded() });
    await rig.by(60 * MINUTE);
    const other = rig.call({ account: 'B' });
    await rig.settle();
    expect(other.result).toBe('RATE_LIMIT_QUEUE_FULL');
    rig.call({ account: 'A' });
    await rig.settle();
    const again = rig.call({ account: 'B' });
    await rig.settle();
    expect(again.result).toBe('fulfilled');
    await rig.rest();
  });
});

describe('what is exhausted', () => {
  it.each([
    ['its reset', { resetMs: 90_000 }, 90_000, 'quota-reset'],
    ['the longer of both, where it names a wait too', { retryAfterMs: 30_000, resetMs: 90_000 }, 90_000, 'quota-reset'],
    ['a wait longer than ours', { retryAfterMs: 120_000 }, 120_000, 'quota-reset'],
    ['cooldown.max, where it names seconds, which cure nothing', { retryAfterMs: 7_000 }, MINUTE, 'cooldown'],
    ['cooldown.max, where nothing is known', {}, MINUTE, 'cooldown'],
    ['cooldown.max, where what it says is no time', { resetMs: Number.NaN, retryAfterMs: 'soon' }, MINUTE, 'cooldown'],
    ['cooldown.max, where the reset lies in the past', { resetMs: -5 }, MINUTE, 'cooldown'],
    ['maxHold, where it says never', { resetMs: Number.POSITIVE_INFINITY }, DAY, 'quota-reset'],
  ])('is held until %s, in as many answers as come', async (_, server, heldMs, cause) => {
    const rig = rigOf({ pauseAbove: '2d' });
    for (let n = 1; n <= 3; n++) {
      rig.call({ fn: () => exhausted(server) });
      await rig.settle();
      expect(rig.snap()).toMatchObject({ inARow: 0, holds: [{ cause, leftMs: heldMs }] });
      await rig.by(heldMs);
    }
    expect(rig.alerts.map(({ name, action }) => [name, action.step])).toEqual(
      Array(3).fill(['QuotaExhausted', undefined]),
    );
    expect(rig.alerts.map(({ incident }) => [incident.throttles, incident.inARow])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    await rig.rest();
  });

  it('is not asked at once again and again by a server that says "now"', async () => {
    const rig = rigOf();
    const now = () => exhausted({ resetMs: 0 });
    expect(await holdsOf(rig, now, now, now)).toEqual([0, 2_000, 2_000]);
    await rig.rest();
  });

  it('takes no step of the cooldown and gives none back', async () => {
    const rig = rigOf();
    const out = () => exhausted({ resetMs: 10_000 });
    const full = () => returned429();
    expect(await holdsOf(rig, full, out, full, out, out, full)).toEqual([2_000, 10_000, 4_000, 10_000, 10_000, 8_000]);
    const incidents = rig.alerts.map(({ name, incident }) => `${name} ${incident.inARow}`);
    expect(incidents.filter((text) => text.startsWith('QuotaModelWrong'))).toEqual(
      [1, 2, 3].map((n) => `QuotaModelWrong ${n}`),
    );
    expect(new Set(rig.alerts.map(({ incident }) => incident.id)).size).toBe(6);
    rig.call();
    await rig.settle();
    expect(await holdsOf(rig, full)).toEqual([2_000]);
    await rig.rest();
  });

  it('by many calls in flight is one incident; a 429 among them is one of its own', async () => {
    const rig = rigOf();
    rig.callMany(5, { fn: () => rig.sleep(1).then(() => exhausted({ resetMs: 10_000 })) });
    rig.call({ fn: () => rig.sleep(2).then(() => returned429()) });
    rig.callMany(5, { fn: () => rig.sleep(3).then(() => exhausted()) });
    await rig.to(3);
    expect(rig.snap().holds.map(({ cause, until }) => [cause, until - rig.clock.wallNow()])).toEqual([
      ['quota-reset', 9_998],
      ['cooldown', 1_999],
    ]);
    const ids = (name: string) => new Set(rig.alerts.flatMap((one) => (one.name === name ? [one.incident.id] : [])));
    expect([ids('QuotaExhausted').size, ids('QuotaModelWrong').size]).toEqual([1, 1]);
    expect(rig.alerts.at(-1)?.incident.throttles).toBe(10);
    expect(rig.snap()).toMatchObject({ inARow: 1, incidentId: [...ids('QuotaModelWrong')][0] });
    await rig.by(MINUTE);
    await rig.rest();
  });

  it('is told of without a step, where nobody knows its reset', async () => {
    const rig = rigOf();
    rig.call({ fn: () => exhausted() });
    await rig.settle();
    expect(rig.alerts[0]?.explanation).toContain('the server named no reset, this is our own choice.');
    await rig.by(MINUTE);
    await rig.rest();
  });

  it('longer than maxHold is said to be', async () => {
    const rig = rigOf({ maxHold: '1h' });
    rig.call({ fn: () => exhausted({ resetMs: DAY }) });
    await rig.settle();
    expect(rig.alerts).toMatchObject([{ server: { capped: true, resetMs: DAY }, action: { kind: 'pause' } }]);
    await rig.by(60 * MINUTE);
    await rig.rest();
  });

  it('has no gentler pace after its reset, but after a hold that we chose ourselves', async () => {
    for (const [server, warmMs] of [
      [{ resetMs: 10_000 }, 0],
      [{}, 60_000],
    ] as const) {
      const rig = new Rig(configS({ classify: 'says' }), SAYS);
      rig.call({ fn: () => exhausted(server) });
      await rig.settle();
      await rig.by(rig.snap().holds[0]?.leftMs ?? 0);
      expect(rig.snap().warmLeftMs).toBe(warmMs);
      await rig.rest();
    }
  });
});

describe('a downstream without admission control', () => {
  it.each([
    ['429', () => returned429('60'), 'QuotaModelWrong'],
    ['exhausted', () => exhausted({ resetMs: MINUTE }), 'QuotaExhausted'],
  ] as const)('is told of and never held: %s', async (_, answer, name) => {
    const rig = new Rig(bare({ unlimited: true, classify: 'says' }), SAYS);
    rig.callMany(3, { fn: () => rig.sleep(1).then((): unknown => answer()) });
    await rig.to(1);
    rig.call({ fn: answer });
    await rig.settle();
    expect(await nextIn(rig)).toBe(0);
    expect(rig.snap()).toMatchObject({ holds: [], inARow: 0, isPaused: false });
    expect(rig.alerts.map((one) => [one.name, one.action.kind, one.incident.throttles])).toEqual(
      [1, 2, 3, 1].map((count) => [name, 'none', count]),
    );
    await rig.rest();
  });

  it('is not held by an overload either', async () => {
    const rig = new Rig(bare({ unlimited: true }));
    rig.call({ fn: () => overloaded(60_000) });
    await rig.settle();
    expect([await nextIn(rig), rig.snap().holds, rig.alerts]).toEqual([0, [], []]);
    await rig.rest();
  });
});

describe('several workers', () => {
  it('never earlier than the server said, up to 5 % later, whatever comes of one incident', async () => {
    let draw = 0;
    const rig = rigOf({ workers: 4, pauseAbove: '1h' }, { random: () => [0.4, 1, 1, 1][draw++ % 4]! });
    draw = 0;
    rig.callMany(4, { fn: () => returned429('600') });
    await rig.settle();
    expect([await nextIn(rig), draw]).toEqual([612_000, 1]);
    await rig.rest();
  });

  it('a hold that we chose ourselves is no pause, however it is spread', async () => {
    const own = {
      cooldown: { base: '60s', max: '60s' },
      pauseAbove: '60s',
      workers: 4,
      whilePaused: 'refuse',
    } as const;
    const rig = rigOf(own, { random: () => 1 });
    await rig.to(0.1);
    rig.call({ fn: () => returned429() });
    await rig.settle();
    expect([rig.snap().isPaused, await nextIn(rig)]).toEqual([false, MINUTE]);
    await rig.rest();
  });
});

describe('a hold of exactly pauseAbove', () => {
  it.each([0, 0.1, 1_000_001 / 7, 1e6 + 1 / 7, 1e6 + 2 / 7, 1e6 + 3 / 7, 1e9 + 0.7])(
    'is waited out, whatever the clock reads (%s ms)',
    async (atMs) => {
      const rig = rigOf({ whilePaused: 'refuse' });
      await rig.to(atMs);
      rig.call({ fn: () => returned429('300') });
      await rig.settle();
      expect(rig.snap().isPaused).toBe(false);
      expect(await nextIn(rig)).toBeCloseTo(300_000, 3);
      await rig.rest();
    },
  );
});

describe('a change of policy', () => {
  it('leaves hold and row as they are; the next incident is held by the new one', async () => {
    const rig = rigOf();
    await holdsOf(
      rig,
      () => returned429(),
      () => returned429(),
    );
    rig.call({ fn: () => returned429() });
    await rig.settle();
    rig.dispatcher.register('api', { cooldown: { ladder: ['10s', '20s', '30s', '40s'] }, warm: { for: 0 } });
    expect(rig.snap()).toMatchObject({ inARow: 3, holds: [{ leftMs: 8_000 }] });
    await rig.by(8_000);
    expect(
      await holdsOf(
        rig,
        () => returned429(),
        () => returned429(),
      ),
    ).toEqual([40_000, 40_000]);
    await rig.rest();
  });
});
