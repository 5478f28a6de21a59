import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type AlertDesk, createAlertDesk } from '../../src/alerts/desk.ts';
import type { PacedSink } from '../../src/alerts/sink.ts';
import type { Alert, AlertFacts } from '../../src/base/alert.ts';
import type { DispatcherEvent } from '../../src/base/events.ts';
import { Composition } from '../../src/composition.ts';
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

async function pass(desk: AlertDesk, ms: number): Promise<void> {
  await clock.advance(ms);
  await desk.flush();
}

describe('a downstream that is muted', () => {
  test('no sink hears of it; events and onAlert go on; what is still open when the mute ends is told then', async () => {
    const onAlert = vi.fn();
    const sink = memory();
    const emit = (event: DispatcherEvent): void => void events.push(event);
    const desk = createAlertDesk({
      clock,
      sinks: [sink],
      emit,
      onAlert,
      origin,
      mutedUntil: (name) => muted.get(name),
    });
    muted.set('carrier', NOW + 10 * MINUTE);
    const lasting = { action: { kind: 'hold', cause: 'retry-after', until: NOW + 30 * MINUTE } } as const;
    throttle(desk, 1, lasting);
    throttle(desk, 1, { downstream: 'mail' });
    await pass(desk, 0);
    await pass(desk, 10 * MINUTE - 1);
    expect(sink.alerts.map(({ downstream, status }) => `${downstream} ${status}`)).toEqual([
      'mail firing',
      'mail resolved',
    ]);
    expect(onAlert).toHaveBeenCalledTimes(2);
    expect(events.filter(({ type }) => type === 'alert')).toHaveLength(2);
    await pass(desk, 1);
    expect(sink.told.at(-1)).toBe('firing warning 1');
    await pass(desk, 20 * MINUTE);
    expect(sink.told.at(-1)).toBe('resolved warning 1');
    expect(clock.violations).toEqual([]);
  });

  test('what begins and ends under the mute is never told', async () => {
    const sink = memory();
    const desk = deskOf(sink);
    muted.set('carrier', NOW + 60 * MINUTE);
    throttle(desk, 1);
    await pass(desk, 120 * MINUTE);
    expect(sink.told).toEqual([]);
    expect([clock.idleTimers, clock.pendingTimers]).toEqual([0, 0]);
  });

  test('a mute that begins while a sink knows of an incident stops repeats and changes, not the end', async () => {
    const sink = memory({ repeatMs: 2 * MINUTE });
    const desk = deskOf(sink);
    throttle(desk, 1);
    await pass(desk, 0);
    muted.set('carrier', NOW + 60 * MINUTE);
    throttle(desk, 200, pausedAndRefused());
    await pass(desk, 5 * MINUTE - 1);
    expect(sink.told).toEqual(['firing warning 1']);
    await pass(desk, 1);
    expect(sink.told).toEqual(['firing warning 1', 'resolved critical 200']);
  });

  test('a mute that is lifted early, or ends while a sink knows of the incident: it hears how things stand', async () => {
    const sink = memory();
    const desk = deskOf(sink);
    const until = NOW + 60 * MINUTE;
    throttle(desk, 1, { action: { kind: 'hold', cause: 'retry-after', until } });
    await pass(desk, 0);
    muted.set('carrier', NOW + 50 * MINUTE);
    throttle(desk, 20, pausedAndRefused(until));
    await pass(desk, 10 * MINUTE);
    muted.clear();
    desk.replanned();
    await pass(desk, 0);
    expect(sink.told).toEqual(['firing warning 1', 'firing critical 20']);
  });

  test('a mute that ends soon: what has not changed is told once more all the same', async () => {
    const sink = memory();
    const desk = deskOf(sink);
    throttle(desk, 1);
    await pass(desk, MINUTE);
    muted.set('carrier', NOW + 2 * MINUTE);
    desk.replanned();
    await pass(desk, MINUTE - 1);
    expect(sink.told).toHaveLength(1);
    await pass(desk, 1);
    expect(sink.told).toEqual(['firing warning 1', 'firing warning 1']);
    await pass(desk, 2 * MINUTE);
    expect(sink.told).toHaveLength(2);
  });

  test('a dispatcher asks its plans, which may change at any time', async () => {
    const sink = memory();
    const composition = new Composition(
      { downstreams: { carrier: { quota: '60/minute' } } },
      { clock, alertSinks: [sink] },
    );
    const found = composition.find('carrier');
    const { mute: _, ...plan } = found.plan;
    found.replan({ ...plan, mute: { until: NOW + 60 * MINUTE, reason: 'they are moving house' } });
    throttle(composition.desk, 1, { action: { kind: 'hold', cause: 'retry-after', until: NOW + 90 * MINUTE } });
    await pass(composition.desk, MINUTE);
    expect(sink.told).toEqual([]);
    composition.register('carrier', { quota: '30/minute' });
    await pass(composition.desk, 0);
    expect(sink.told).toEqual(['firing warning 1']);
  });
});

describe('a mute that begins while something is on its way', () => {
  const broken = () => {
    const state = { isDown: true };
    const sink = memory();
    const { deliver } = sink;
    const failing: PacedSink = {
      ...sink,
      deliver: (alert, signal) => {
        if (state.isDown) throw new Error('down');
        return deliver(alert, signal);
      },
    };
    return { state, told: sink.told, failing };
  };

  test('what waits for a receiver that was away is not told, nor that it is over', async () => {
    const { state, told, failing } = broken();
    const desk = deskOf(failing);
    throttle(desk, 1);
    await pass(desk, 0);
    muted.set('carrier', NOW + 60 * MINUTE);
    desk.replanned();
    state.isDown = false;
    await pass(desk, MINUTE);
    await pass(desk, 30 * MINUTE);
    expect(told).toEqual([]);
    expect(desk.pending).toBe(0);
  });

  test('what is under way and fails is not tried again; what still lasts at the end of the mute is told', async () => {
    const told: string[] = [];
    let fail: (() => void) | undefined;
    const first = (): Promise<void> => new Promise((_, reject) => (fail = () => reject(new Error('down'))));
    let count = 0;
    const deliver = ({ status }: Alert): Promise<void> | undefined => {
      count += 1;
      if (count === 1) return first();
      told.push(status);
      return undefined;
    };
    const desk = deskOf({ name: 'slow', spacingMs: 0, deliver });
    throttle(desk, 1, { action: { kind: 'hold', cause: 'retry-after', until: NOW + 30 * MINUTE } });
    await vi.waitFor(() => expect(fail).toBeDefined());
    muted.set('carrier', NOW + 10 * MINUTE);
    desk.replanned();
    fail?.();
    await pass(desk, MINUTE);
    expect(told).toEqual([]);
    await pass(desk, 9 * MINUTE);
    expect(told).toEqual(['firing']);
  });

  test('what is raised while the desk closes is muted as before', async () => {
    let end: (() => void) | undefined;
    const told: string[] = [];
    const deliver = ({ downstream }: Alert): Promise<void> => {
      told.push(downstream);
      return new Promise((resolve) => (end = resolve));
    };
    const desk = deskOf({ name: 'slow', spacingMs: 0, deliver });
    throttle(desk, 1, { downstream: 'mail' });
    await vi.waitFor(() => expect(end).toBeDefined());
    muted.set('carrier', NOW + MINUTE);
    const closing = desk.close(5_000);
    throttle(desk, 1);
    expect(desk.pending).toBe(1);
    end?.();
    await closing;
    expect(told).toEqual(['mail']);
  });
});
