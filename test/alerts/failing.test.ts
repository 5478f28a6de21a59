import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type AlertDesk, createAlertDesk } from '../../src/alerts/desk.ts';
import { createOutbox, type Outbox } from '../../src/alerts/outbox.ts';
import { DeliveryFailed, type PacedSink } from '../../src/alerts/sink.ts';
import type { Alert } from '../../src/base/alert.ts';
import { type Clock, createSystemClock } from '../../src/base/clock.ts';
import type { DispatcherEvent } from '../../src/base/events.ts';
import type { SinkSnapshot } from '../../src/base/snapshot.ts';
import { alertOf, fail, flushed, pass, refuse } from './deliveries.ts';
import { factsOf, NOW, origin } from './facts.ts';

const MINUTE = 60_000;
let clock: Clock;
let events: DispatcherEvent[];
const emit = (event: DispatcherEvent): void => void events.push(event);

// The machine's own timers are moved by the test, Bottleneck's among them.
beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  clock = createSystemClock();
  events = [];
});
afterEach(() => {
  vi.useRealTimers();
});

function outboxOf(...sinks: PacedSink[]): Outbox {
  return createOutbox({ clock, sinks, emit, random: () => 0 });
}

describe('a receiver that asks for time', () => {
  test('gets it, for every alert, from a flush as well; a close that has the time waits for it', async () => {
    let isAsking = true;
    const attempts: string[] = [];
    const outbox = outboxOf({
      name: 'chat',
      spacingMs: 0,
      deliver: async ({ downstream }) => {
        attempts.push(downstream);
        if (isAsking) throw new DeliveryFailed('no', { isRetryable: true, status: 429, retryAfterMs: 8_000 });
      },
    });
    outbox.send(alertOf('a'));
    await flushed(outbox);
    outbox.send(alertOf('b'));
    await flushed(outbox);
    await pass(7_000);
    expect(attempts).toEqual(['a']);
    const [{ failing }] = outbox.sinks() as [SinkSnapshot];
    expect(failing).toMatchObject({ attempts: 1, kind: 'status 429' });
    expect(failing?.nextAt).toBeGreaterThanOrEqual(NOW + 8_000);
    isAsking = false;
    const closed = outbox.close(10_000);
    await pass(750);
    expect(attempts).toEqual(['a']);
    await pass(100);
    await closed;
    expect(attempts).toEqual(['a', 'a', 'b']);
    expect(outbox.dropped()).toEqual({ chat: 0 });
  });

  test('for longer than a close has: what waits is dropped at once, nothing is asked early', async () => {
    const deliver = vi.fn(() => {
      throw new DeliveryFailed('no', { isRetryable: true, status: 429, retryAfterMs: 60_000 });
    });
    const outbox = outboxOf({ name: 'chat', spacingMs: 0, deliver });
    outbox.send(alertOf('a'));
    await flushed(outbox);
    await outbox.close(10_000);
    expect(deliver).toHaveBeenCalledTimes(1);
    expect(outbox.dropped()).toEqual({ chat: 1 });
  });

  test('forty that failed in one second do not come back in one', async () => {
    const waits: number[] = [];
    for (let n = 0; n < 40; n++) {
      const deliver = (): never => {
        throw new DeliveryFailed('no', { isRetryable: true, status: 429, retryAfterMs: 10_000 });
      };
      const outbox = createOutbox({ clock, sinks: [{ name: 'chat', deliver }], emit, random: () => n / 40 });
      outbox.send(alertOf('a'));
      await pass(20);
      const [{ failing }] = outbox.sinks() as [SinkSnapshot];
      waits.push((failing?.nextAt ?? 0) - (failing?.since ?? 0));
      await outbox.close(0);
    }
    expect(Math.min(...waits)).toBeCloseTo(10_000, -1);
    expect(Math.max(...waits)).toBeGreaterThan(14_000);
    expect(new Set(waits).size).toBe(40);
  });
});

describe('sinks of one name, and names that are none', () => {
  test('each has a count of its own', async () => {
    const named = (name: string): PacedSink => ({ name, spacingMs: 0, deliver: () => undefined });
    const outbox = outboxOf(named('slack'), named('slack'), named('slack'), named('two\nlines'), named('__proto__'));
    outbox.send(alertOf('a'));
    await outbox.close(0);
    expect(JSON.stringify(outbox.dropped())).toBe('{"slack":1,"slack#2":1,"slack#3":1,"two lines":1,"__proto__":1}');
    expect(outbox.sinks().map(({ sink }) => sink)).toEqual(['slack', 'slack#2', 'slack#3', 'two lines', '__proto__']);
  });
});

describe('a sink that fails for a while', () => {
  let isDown: boolean;
  let told: Alert[];
  let onAlert: ReturnType<typeof vi.fn<(alert: Alert) => void>>;
  const broken = (name: string, error: () => Error): PacedSink => ({
    name,
    spacingMs: 0,
    deliver: () => (isDown ? Promise.reject(error()) : undefined),
  });
  const deskOf = (...sinks: PacedSink[]): AlertDesk =>
    createAlertDesk({ clock, sinks, emit, onAlert, origin, random: () => 0 });

  beforeEach(() => {
    isDown = true;
    told = [];
    onAlert = vi.fn();
  });
  const heard: PacedSink = { name: 'heard', spacingMs: 0, deliver: (alert) => void told.push(alert) };
  const about = (alerts: readonly Alert[]): string[] =>
    alerts.filter(({ name }) => name === 'SinkFailing').map(({ downstream, status }) => `${downstream} ${status}`);

  test('is told to the others and to onAlert after five attempts, never to itself, and as over once it works', async () => {
    const toItself: string[] = [];
    const sink = broken('slack', () =>
      Object.assign(new Error('https://hooks.example/secret'), { code: 'ECONNREFUSED' }),
    );
    const accepts = ({ name }: Alert): boolean => {
      toItself.push(name);
      return true;
    };
    const desk = deskOf({ ...sink, accepts }, heard);
    desk.raise(factsOf({ at: clock.wallNow() }));
    await pass(14_000);
    expect(about(told)).toEqual([]);
    await pass(2_000);
    expect(about(told)).toEqual(['sink:slack firing']);
    expect(about(onAlert.mock.calls.map(([alert]) => alert))).toEqual(['sink:slack firing']);
    const [alert] = told.filter(({ name }) => name === 'SinkFailing');
    expect(alert).toMatchObject({ severity: 'warning', action: { kind: 'none' }, incident: { throttles: 0 } });
    expect(alert?.explanation).toBe(
      [
        'Penstock keeps what this sink can still be told and tries again. No call waits for it.',
        'The sink slack has failed 5 times in a row since 00:00:00 UTC (Error ECONNREFUSED); 1 alert waits, 0 dropped so far. This process has been up for 15.01 s.',
        'To do: see whether the receiver is up, and whether its address and its secret are still right. Until then, what it should say is in the logs, in `onAlert` and at the other sinks.',
      ].join('\n'),
    );
    expect(toItself).toEqual(['QuotaModelWrong']);
    isDown = false;
    await pass(30_000);
    expect(about(told)).toEqual(['sink:slack firing', 'sink:slack resolved']);
    expect(told.at(-1)?.explanation).toMatch(/^The sink slack takes alerts again, after one alert since 00:00:15 UTC/);
    expect(desk.sinks[0]).toEqual({ sink: 'slack', pending: 0, delivered: 1, replaced: 0, dropped: 0 });
    expect(JSON.stringify([told, events])).not.toContain('hooks.example');
  });

  test('is told at once where an alert was lost for good, or where it asks for more than a minute', async () => {
    for (const [error, words] of [
      [
        refuse(404),
        'refuses what it is sent (status 404): an alert that it refused was given up; 0 alerts wait, 1 dropped so far',
      ],
      [
        new DeliveryFailed('no', { isRetryable: true, status: 429, retryAfterMs: 61_000 }),
        'has failed once since 00:00:00 UTC (status 429); 1 alert waits',
      ],
    ] as const) {
      told = [];
      vi.setSystemTime(NOW);
      const desk = deskOf(
        broken('slack', () => error),
        heard,
      );
      desk.raise(factsOf({ at: NOW }));
      await pass(20);
      expect(about(told)).toEqual(['sink:slack firing']);
      expect(told.at(-1)?.explanation).toContain(words);
      await desk.close(0);
    }
  });

  test('where all fail, each is told of the others once, and no loop begins', async () => {
    const desk = deskOf(
      broken('a', () => refuse(403)),
      broken('b', () => refuse(404)),
      broken('c', () => fail(500)),
    );
    desk.raise(factsOf({ at: NOW }));
    await pass(4 * MINUTE);
    expect(about(onAlert.mock.calls.map(([alert]) => alert)).sort()).toEqual([
      'sink:a firing',
      'sink:b firing',
      'sink:c firing',
    ]);
    await pass(60 * MINUTE);
    expect(onAlert.mock.calls.length).toBeLessThan(10);
    await desk.close(0);
  });

  test('one that comes and goes is told of at most every five minutes', async () => {
    const desk = deskOf(
      broken('slack', () => refuse(400)),
      heard,
    );
    for (let n = 0; n < 120; n++) {
      isDown = n % 2 === 0;
      desk.raise(factsOf({ at: clock.wallNow(), downstream: `downstream-${n}` }));
      await pass(5_000);
    }
    expect(about(told).filter((text) => text.endsWith('firing')).length).toBeLessThanOrEqual(3);
    await desk.close(0);
  });

  test('one without room for more is told of, once', async () => {
    const desk = deskOf(
      broken('slack', () => fail(500)),
      { ...heard, accepts: ({ name }) => name === 'SinkFailing' },
    );
    for (let n = 0; n < 1_100; n++) desk.raise(factsOf({ at: NOW, downstream: `downstream-${n}` }));
    await flushed(desk);
    expect(about(told)).toEqual(['sink:slack firing']);
    expect(told[0]?.explanation).toContain('The sink slack has no room for more alerts, and what is new is dropped');
    expect(events.filter(({ type }) => type === 'sink-failed').length).toBeLessThanOrEqual(2);
    await desk.close(0);
  });
});

test('full, a sink lets go of what repeats what it knows, before what it has never heard', async () => {
  const told: string[] = [];
  const outbox = outboxOf({ name: 'hook', spacingMs: 0, deliver: ({ downstream }) => void told.push(downstream) });
  const [reader] = outbox.readers;
  for (let n = 0; n < 1_000; n++) reader!.tell(alertOf(`downstream-${n}`), n === 500);
  reader!.tell(alertOf('new'), false);
  reader!.tell(alertOf('newer'), false);
  reader!.tell(alertOf('a repeat'), true);
  expect(outbox.sinks()).toMatchObject([{ pending: 1_000, dropped: 3 }]);
  await pass(60_000);
  expect(told).toHaveLength(1_000);
  expect([told.includes('new'), told.includes('newer'), told.includes('downstream-500')]).toEqual([true, false, false]);
});
