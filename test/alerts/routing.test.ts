import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type AlertDesk, createAlertDesk } from '../../src/alerts/desk.ts';
import type { PacedSink } from '../../src/alerts/sink.ts';
import type { Alert, AlertFacts } from '../../src/base/alert.ts';
import type { DispatcherEvent } from '../../src/base/events.ts';
import { createDispatcher } from '../../src/dispatcher.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { factsOf, NOW, origin } from './facts.ts';
import { memory, pausedAndRefused } from './told.ts';

const MINUTE = 60_000;
let clock: ManualClock;
let events: DispatcherEvent[];
let muted: Map<string, number>;

beforeEach(() => {
  clock = new ManualClock({ wallMs: NOW });
  events = [];
  muted = new Map();
});

function deskOf(...sinks: PacedSink[]): AlertDesk {
  const emit = (event: DispatcherEvent): void => void events.push(event);
  return createAlertDesk({ clock, sinks, emit, origin, mutedUntil: (name) => muted.get(name), random: () => 0 });
}

function throttle(desk: AlertDesk, throttles: number, change: Partial<AlertFacts> = {}): Alert {
  const incident = { id: 'incident-1', startedAt: NOW, throttles, inARow: 1 };
  const action = { kind: 'hold', cause: 'retry-after', until: NOW + 30_000 } as const;
  return desk.raise(factsOf({ at: clock.wallNow(), incident, action, ...change }));
}

const onlyCritical = (alert: Alert): boolean => alert.severity === 'critical';

async function pass(desk: AlertDesk, ms: number): Promise<void> {
  await clock.advance(ms);
  await desk.flush();
}

describe('a sink that accepts some alerts only', () => {
  test('hears of an incident at once when it becomes what it accepts, and of its end whatever that is', async () => {
    const pager = memory({ name: 'pager', accepts: onlyCritical });
    const all = memory();
    const desk = deskOf(pager, all);
    throttle(desk, 1);
    await pass(desk, MINUTE);
    expect([pager.told, all.told]).toEqual([[], ['firing warning 1']]);
    throttle(desk, 2, pausedAndRefused());
    await pass(desk, 0);
    expect([pager.told, all.told]).toEqual([['firing critical 2'], ['firing warning 1']]);
    throttle(desk, 3);
    await pass(desk, 6 * MINUTE);
    expect(pager.told).toEqual(['firing critical 2', 'resolved warning 3']);
    expect(all.told.at(-1)).toBe('resolved warning 3');
  });

  test('hears nothing of one that never was', async () => {
    const pager = memory({ accepts: onlyCritical });
    const desk = deskOf(pager);
    throttle(desk, 1);
    throttle(desk, 100);
    await pass(desk, 10 * MINUTE);
    expect(pager.told).toEqual([]);
    expect(desk.sinks).toEqual([{ sink: 'memory', pending: 0, delivered: 0, replaced: 0, dropped: 0 }]);
  });

  test('a filter that throws or rejects lets everything through, harms nobody and is reported once', async () => {
    const filters: PacedSink['accepts'][] = [
      () => {
        throw new TypeError('https://hooks.example/secret');
      },
      (() => Promise.reject(new Error('secret'))) as never,
    ];
    for (const accepts of filters) {
      events = [];
      const sink = memory({ accepts: accepts as NonNullable<typeof accepts> });
      const desk = deskOf(sink);
      throttle(desk, 1);
      throttle(desk, 1, { downstream: 'mail' });
      await pass(desk, 0);
      expect(sink.told).toHaveLength(2);
      const reports = events.filter(({ type }) => type === 'sink-failed');
      expect(reports.length).toBeLessThanOrEqual(1);
      expect(JSON.stringify(reports)).not.toContain('secret');
    }
  });
});

describe('what waits says how things stand', () => {
  test('a change before the first word has gone out is no second message', async () => {
    const sink = memory();
    const desk = deskOf(sink);
    for (let throttles = 1; throttles <= 200; throttles++) throttle(desk, throttles);
    await pass(desk, 0);
    expect(sink.told).toEqual(['firing warning 100']);
    await pass(desk, 10 * MINUTE);
    expect(sink.told).toEqual(['firing warning 100', 'resolved warning 200']);
    expect(desk.sinks).toMatchObject([{ delivered: 2, replaced: 2 }]);
  });

  test('a change is left to the end where that follows within half a minute', async () => {
    const sink = memory();
    const desk = deskOf(sink);
    throttle(desk, 1);
    await pass(desk, 29_000);
    throttle(desk, 200);
    await pass(desk, 5 * MINUTE - 1);
    await pass(desk, 5 * MINUTE);
    expect(sink.told).toEqual(['firing warning 1', 'resolved warning 200']);
  });

  test('an end takes the place of a beginning that could not be told, and says that there was one', async () => {
    let isDown = true;
    const sink = memory();
    const { deliver } = sink;
    const desk = deskOf({
      ...sink,
      deliver: (alert, signal) => (isDown ? Promise.reject(new Error('down')) : deliver(alert, signal)),
    });
    throttle(desk, 7);
    await pass(desk, 6 * MINUTE);
    isDown = false;
    await desk.flush();
    expect(sink.told).toEqual(['resolved warning 7']);
    expect(sink.alerts[0]?.explanation).toContain('nothing for 5 min, after 7 alerts since 00:00:00 UTC');
  });
});

describe('a receiver that forgets', () => {
  test('is told again for as long as an incident lasts, by one timer, with how things stand', async () => {
    const forgets = memory({ name: 'alertmanager', repeatMs: 2 * MINUTE });
    const other = memory();
    const desk = deskOf(forgets, other);
    throttle(desk, 1, { action: { kind: 'hold', cause: 'retry-after', until: NOW + 9 * MINUTE } });
    expect(clock.idleTimers).toBe(1);
    await pass(desk, MINUTE);
    throttle(desk, 2, { action: { kind: 'hold', cause: 'retry-after', until: NOW + 9 * MINUTE } });
    for (let minute = 1; minute < 12; minute++) await pass(desk, MINUTE);
    const repeated = ['firing warning 1', ...Array.from({ length: 4 }, () => 'firing warning 2'), 'resolved warning 2'];
    expect(forgets.told).toEqual(repeated);
    expect(other.told).toEqual(['firing warning 1', 'resolved warning 2']);
    expect([clock.idleTimers, clock.pendingTimers, clock.violations]).toEqual([0, 0, []]);
  });

  test('no repeat is faster than once a second', async () => {
    const sink = memory({ repeatMs: Number.MIN_VALUE });
    const desk = deskOf(sink);
    throttle(desk, 1);
    for (let n = 0; n < 10; n++) await pass(desk, 100);
    expect(sink.told).toHaveLength(2);
  });
});

describe('an end that is known', () => {
  test('resume ends the wait for the hold, not the wait for quiet', async () => {
    const sink = memory();
    const desk = deskOf(sink);
    throttle(desk, 1, { action: { kind: 'pause', cause: 'retry-after', until: NOW + 600 * MINUTE } });
    throttle(desk, 1, { downstream: 'mail', action: { kind: 'hold', until: NOW + 600 * MINUTE } });
    await pass(desk, MINUTE);
    desk.resumed('carrier');
    await pass(desk, 4 * MINUTE - 1);
    expect(sink.told).toHaveLength(2);
    await pass(desk, 1);
    expect(sink.alerts.map(({ downstream, status }) => `${downstream} ${status}`).slice(2)).toEqual([
      'carrier resolved',
    ]);
    desk.resumed('mail');
    await pass(desk, 0);
    expect(sink.told).toHaveLength(4);
    expect([clock.idleTimers, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('a policy that was rejected stays rejected until somebody says otherwise', async () => {
    const sink = memory();
    const onAlert = vi.fn();
    const desk = createAlertDesk({ clock, sinks: [sink], emit: () => undefined, onAlert, origin });
    const notice = { name: 'PolicyRejected', downstream: 'policy', detail: 'downstreams.carier: unknown key' } as const;
    const first = desk.notify(notice);
    const second = desk.notify(notice);
    expect([first.incident.id, first.severity, first.downstream]).toEqual([second.incident.id, 'warning', 'policy']);
    await pass(desk, 24 * 60 * MINUTE);
    expect(sink.alerts.map(({ status }) => status)).toEqual(['firing']);
    desk.end('PolicyRejected', 'policy');
    desk.end('PolicyRejected', 'policy');
    await desk.flush();
    expect(sink.alerts.map(({ status }) => status)).toEqual(['firing', 'resolved']);
    expect(sink.alerts.at(-1)?.explanation).toMatch(/^A policy was accepted again/);
    expect(onAlert).toHaveBeenCalledTimes(2);
    expect(desk.notify(notice).incident.id).not.toBe(first.incident.id);
    await desk.close(1_000);
    expect([clock.idleTimers, clock.pendingTimers]).toEqual([0, 0]);
  });
});

test('a call that never settles takes no time from the alerts that wait when a dispatcher is closed', async () => {
  let isDown = true;
  const sink = memory();
  const deliver: PacedSink['deliver'] = (alert, signal) =>
    isDown ? Promise.reject(new Error('down')) : sink.deliver(alert, signal);
  const policy = { downstreams: { carrier: { quota: '60/minute' } } } as const;
  const dispatcher = createDispatcher(policy, { clock, alertSinks: [{ ...sink, deliver }] });
  void dispatcher.callDownstream('carrier', () => new Promise<void>(() => undefined)).catch(() => undefined);
  await clock.advance(0);
  dispatcher.report('carrier', { status: 429, retryAfterMs: 30_000 });
  await dispatcher.flush();
  isDown = false;
  const closed = dispatcher.close({ within: 1_000 });
  await vi.waitFor(() => expect(sink.told).toEqual(['firing warning 1']), { interval: 1 });
  await clock.advance(1_000);
  expect(await closed).toMatchObject({ abandoned: 1, alertsDropped: { memory: 0 } });
  expect(dispatcher.snapshot().alerts).toEqual({
    pending: 0,
    dropped: { memory: 0 },
    sinks: [{ sink: 'memory', pending: 0, delivered: 1, replaced: 0, dropped: 0 }],
  });
});

test('resume with all ends the wait for the hold; without, the server keeps its hold', async () => {
  for (const all of [false, true]) {
    const sink = memory();
    const own = new ManualClock({ wallMs: NOW });
    const policy = { downstreams: { carrier: { quota: '60/minute' } } } as const;
    const dispatcher = createDispatcher(policy, { clock: own, alertSinks: [sink] });
    dispatcher.report('carrier', { status: 429, retryAfterMs: 60 * MINUTE });
    await dispatcher.flush();
    dispatcher.resume('carrier', { all });
    await own.advance(5 * MINUTE);
    await dispatcher.flush();
    expect(sink.alerts.map(({ status }) => status)).toEqual(all ? ['firing', 'resolved'] : ['firing']);
    await dispatcher.close();
  }
});
