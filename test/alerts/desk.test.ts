import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type AlertDesk, createAlertDesk } from '../../src/alerts/desk.ts';
import type { Alert, AlertFacts, AlertSink } from '../../src/base/alert.ts';
import type { DispatcherEvent } from '../../src/base/events.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { factsOf, NOW, origin } from './facts.ts';

const MINUTE = 60_000;
let clock: ManualClock;
let told: Alert[];
let events: DispatcherEvent[];

beforeEach(() => {
  clock = new ManualClock({ wallMs: NOW });
  told = [];
  events = [];
});

function deskWith(options: { sinks?: readonly AlertSink[]; onAlert?: (alert: Alert) => void } = {}): AlertDesk {
  const sink = { name: 'memory', spacingMs: 0, deliver: (alert: Alert) => void told.push(alert) };
  const emit = (event: DispatcherEvent): void => void events.push(event);
  return createAlertDesk({ clock, sinks: [sink], emit, origin, ...options });
}

/** A 429 now; the hold keeps its instant unless the test changes it. */
function throttle(desk: AlertDesk, change: Partial<AlertFacts> = {}): Alert {
  const action = { kind: 'hold', cause: 'retry-after', until: NOW + 30_000 } as const;
  return desk.raise(factsOf({ at: clock.wallNow(), action, ...change }));
}

async function statuses(desk: AlertDesk): Promise<string[]> {
  await desk.flush();
  return told.map(({ status, incident }) => `${status} ${incident.throttles}`);
}

const incident = (throttles: number, inARow = 1): AlertFacts['incident'] => ({
  id: 'incident-1',
  startedAt: NOW,
  throttles,
  inARow,
});

describe('everybody who asked', () => {
  test('onAlert and the alert event get every one, at once, with ids of their own', () => {
    const onAlert = vi.fn();
    const desk = deskWith({ onAlert });
    const alerts = Array.from({ length: 20 }, () => throttle(desk));
    expect(onAlert.mock.calls).toEqual(alerts.map((alert) => [alert]));
    expect(events.map(({ type }) => type)).toEqual(alerts.map(() => 'alert'));
    expect(events[0]).toMatchObject({ at: NOW, downstream: 'carrier' });
    expect(new Set(alerts.map(({ id }) => id)).size).toBe(20);
    expect(told).toEqual([]);
  });

  test('an onAlert that throws or rejects is reported once and changes nothing', async () => {
    for (const onAlert of [
      () => {
        throw new Error('no pager');
      },
      () => Promise.reject(new Error('no pager')) as unknown as void,
    ]) {
      events = [];
      const desk = deskWith({ onAlert });
      throttle(desk);
      throttle(desk);
      await clock.advance(0);
      const failures = events.filter(({ type }) => type === 'listener-failed');
      expect(failures).toMatchObject([{ downstream: 'carrier', detail: 'onAlert: no pager' }]);
      await desk.close(1_000);
    }
  });

  test('an emit that throws does not reach whoever raised the alert', () => {
    const emit = (): void => {
      throw new Error('no bus');
    };
    const desk = createAlertDesk({ clock, sinks: [], emit, origin });
    expect(throttle(desk).name).toBe('QuotaModelWrong');
  });
});

describe('a sink is told an incident', () => {
  test('at once when it opens, and not again for what has not changed', async () => {
    const desk = deskWith();
    for (let throttles = 1; throttles < 8; throttles++) throttle(desk, { incident: incident(throttles) });
    expect(await statuses(desk)).toEqual(['firing 1']);
    await clock.advance(4 * MINUTE);
    throttle(desk, { incident: incident(8) });
    await clock.advance(2 * MINUTE);
    throttle(desk, { incident: incident(8) });
    expect(await statuses(desk)).toEqual(['firing 1']);
  });

  test.each<[string, Partial<AlertFacts>]>([
    ['severity', { incident: incident(2, 3) }],
    ['the hold', { action: { kind: 'hold', cause: 'retry-after', until: NOW + 90_000 } }],
    ['the kind of hold', { action: { kind: 'pause', cause: 'retry-after', until: NOW + 30_000 } }],
    ['the order of magnitude', { incident: incident(10) }],
  ])('again once %s has changed, five minutes after the last time at the earliest', async (_, change) => {
    const desk = deskWith();
    throttle(desk);
    await desk.flush();
    await clock.advance(MINUTE);
    throttle(desk, change);
    await clock.advance(4 * MINUTE - 1);
    expect(await statuses(desk)).toHaveLength(1);
    await clock.advance(1);
    expect(await statuses(desk)).toHaveLength(2);
    expect(told[1]).toMatchObject({ status: 'firing', at: new Date(NOW + MINUTE).toISOString() });
  });

  test('a change that comes after five minutes is told at once', async () => {
    const desk = deskWith();
    throttle(desk);
    await desk.flush();
    await clock.advance(4 * MINUTE);
    throttle(desk);
    await clock.advance(2 * MINUTE);
    throttle(desk, { incident: incident(10) });
    expect(await statuses(desk)).toEqual(['firing 1', 'firing 10']);
  });

  test('once when it is over: five minutes after the last 429', async () => {
    const desk = deskWith();
    throttle(desk);
    await desk.flush();
    await clock.advance(MINUTE);
    throttle(desk);
    await clock.advance(5 * MINUTE - 1);
    expect(await statuses(desk)).toEqual(['firing 1']);
    await clock.advance(1);
    expect(await statuses(desk)).toEqual(['firing 1', 'resolved 1']);
    const at = new Date(NOW + 6 * MINUTE).toISOString();
    expect(told[1]).toMatchObject({ status: 'resolved', at, endsAt: at, action: { kind: 'none' } });
    expect(told[1]?.id).not.toBe(told[0]?.id);
    expect(told[1]?.explanation).toBe(
      'carrier is quiet again: nothing for 5 min, after 2 alerts since 00:00:00 UTC.\nNothing is to be done now, but the cause was not found: it may come back.',
    );
    await clock.advance(60 * MINUTE);
    expect(await statuses(desk)).toHaveLength(2);
  });

  test('after two windows, where those are longer', async () => {
    const desk = deskWith();
    throttle(desk, { longestWindowMs: 60 * MINUTE });
    await desk.flush();
    await clock.advance(120 * MINUTE - 1);
    expect(await statuses(desk)).toHaveLength(1);
    await clock.advance(1);
    expect(await statuses(desk)).toEqual(['firing 1', 'resolved 1']);
  });

  test('never as over while the lane still stands', async () => {
    const desk = deskWith();
    throttle(desk, { action: { kind: 'pause', cause: 'retry-after', until: NOW + 60 * MINUTE } });
    await desk.flush();
    await clock.advance(60 * MINUTE - 1);
    expect(await statuses(desk)).toHaveLength(1);
    await clock.advance(1);
    expect(await statuses(desk)).toEqual(['firing 1', 'resolved 1']);
  });

  test('anew when one opens after the end of the last', async () => {
    const desk = deskWith();
    throttle(desk);
    await desk.flush();
    await clock.advance(5 * MINUTE);
    await desk.flush();
    throttle(desk);
    expect(await statuses(desk)).toEqual(['firing 1', 'resolved 1', 'firing 1']);
  });

  test('by name and downstream: others are told apart', async () => {
    const desk = deskWith();
    throttle(desk);
    throttle(desk, { downstream: 'mail' });
    throttle(desk, { name: 'LaneStalled', detail: 'nothing moves' });
    throttle(desk, { incident: { ...incident(1), id: 'incident-2' } });
    await desk.flush();
    expect(told.map(({ name, downstream }) => `${name} ${downstream}`)).toEqual([
      'QuotaModelWrong carrier',
      'QuotaModelWrong mail',
      'LaneStalled carrier',
    ]);
  });
});

describe('timers', () => {
  test('one that lets the process exit while something is open, none otherwise', async () => {
    const desk = deskWith();
    expect(clock.idleTimers).toBe(0);
    for (const downstream of ['a', 'b', 'c']) throttle(desk, { downstream });
    await desk.flush();
    expect([clock.idleTimers, clock.pendingTimers]).toEqual([1, 0]);
    await clock.advance(5 * MINUTE);
    await desk.flush();
    expect([clock.idleTimers, clock.pendingTimers]).toEqual([0, 0]);
    expect(told.filter(({ status }) => status === 'resolved')).toHaveLength(3);
    expect(clock.violations).toEqual([]);
  });

  test('a storm sets no timer per alert, and a hold of years none that is too long', async () => {
    const desk = deskWith();
    for (let i = 0; i < 1_000; i++) throttle(desk);
    expect(clock.timersSet).toBe(1);
    throttle(desk, { downstream: 'b', action: { kind: 'pause', until: Number.MAX_SAFE_INTEGER } });
    await clock.advance(24 * 60 * MINUTE);
    expect(clock.violations).toEqual([]);
    await desk.close(1_000);
    expect(clock.idleTimers).toBe(0);
  });

  test('a timer that fires early ends nothing early', async () => {
    const desk = deskWith();
    throttle(desk);
    await desk.flush();
    await clock.fireEarly(0.6);
    expect(await statuses(desk)).toHaveLength(1);
    await clock.advance(1);
    expect(await statuses(desk)).toHaveLength(2);
  });
});

describe('close', () => {
  test('drains, stops the timer and is done once; later alerts reach listeners but no sink', async () => {
    const onAlert = vi.fn();
    const desk = deskWith({ onAlert });
    throttle(desk);
    expect(desk.pending).toBe(1);
    await Promise.all([desk.close(1_000), desk.close(1_000)]);
    expect(told).toHaveLength(1);
    expect([desk.pending, desk.dropped, clock.idleTimers, clock.pendingTimers]).toEqual([0, { memory: 0 }, 0, 0]);
    throttle(desk, { downstream: 'mail' });
    expect(onAlert).toHaveBeenCalledTimes(2);
    expect([desk.pending, desk.dropped, clock.idleTimers]).toEqual([0, { memory: 1 }, 0]);
  });

  test('an idle desk closes at once, without a timer', async () => {
    const desk = deskWith({ sinks: [] });
    throttle(desk);
    await desk.close(10_000);
    expect(desk.dropped).toEqual({});
    expect(clock.pendingTimers).toBe(0);
  });
});
