import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createOutbox, type Outbox } from '../../src/alerts/outbox.ts';
import { DeliveryFailed, type PacedSink } from '../../src/alerts/sink.ts';
import { type Clock, createSystemClock } from '../../src/base/clock.ts';
import type { DispatcherEvent } from '../../src/base/events.ts';
import { alertOf, fail, flushed, pass, refuse } from './deliveries.ts';
import { NOW } from './facts.ts';

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

/** Takes several at once; what it does with a batch is the test's. */
function batchSink(
  take: (names: readonly string[]) => void,
  mostAtOnce = 100,
): PacedSink & { readonly batches: string[] } {
  const batches: string[] = [];
  return {
    name: 'batch',
    spacingMs: 0,
    mostAtOnce,
    batches,
    deliver: () => {
      throw new Error('not used');
    },
    deliverAll: async (alerts) => {
      const names = alerts.map(({ downstream }) => downstream);
      batches.push(names.join(' '));
      take(names);
    },
  };
}

describe('batches', () => {
  test('what comes while a delivery is on its way goes together, at most so many, in order; the first waits for nobody', async () => {
    let release = (): void => undefined;
    const sink = batchSink(() => undefined, 3);
    const { deliverAll } = sink;
    const outbox = outboxOf({
      ...sink,
      deliverAll: async (alerts, signal) => {
        await deliverAll!(alerts, signal);
        if (sink.batches.length === 1) await new Promise<void>((resolve) => (release = resolve));
      },
    });
    outbox.send(alertOf('a'));
    await pass(20);
    expect(sink.batches).toEqual(['a']);
    for (const name of ['b', 'c', 'd', 'b', 'e']) outbox.send(alertOf(name));
    release();
    await flushed(outbox);
    expect(sink.batches).toEqual(['a', 'b c d', 'e']);
    expect(outbox.sinks()).toMatchObject([{ pending: 0, delivered: 5, replaced: 1, dropped: 0 }]);
  });

  test('a batch that was refused is not sent again: each goes by itself once, and what is bad is given up', async () => {
    const sink = batchSink((names) => {
      if (names.includes('bad')) throw refuse(400);
    });
    const outbox = outboxOf(sink);
    for (const name of ['a', 'bad', 'b']) outbox.send(alertOf(name));
    await flushed(outbox);
    expect(sink.batches).toEqual(['a bad b', 'a', 'bad', 'b']);
    expect(outbox.sinks()).toMatchObject([{ pending: 0, delivered: 2, dropped: 1 }]);
    outbox.send(alertOf('a'));
    outbox.send(alertOf('b'));
    await flushed(outbox);
    expect(sink.batches.at(-1)).toBe('a b');
  });

  test('a sink that knows which were refused is asked nothing twice', async () => {
    const sink = batchSink(() => undefined);
    const { deliverAll } = sink;
    const outbox = outboxOf({
      ...sink,
      deliverAll: async (alerts, signal) => {
        await deliverAll!(alerts, signal);
        const refused = alerts.filter(({ downstream }) => downstream === 'bad');
        throw new DeliveryFailed('no', { isRetryable: false, status: 400, refused });
      },
    });
    for (const name of ['a', 'bad', 'b']) outbox.send(alertOf(name));
    await flushed(outbox);
    expect(sink.batches).toEqual(['a bad b']);
    expect(outbox.sinks()).toMatchObject([{ pending: 0, delivered: 2, dropped: 1 }]);
  });

  test('an answer about the address is about all of them', async () => {
    const sink = batchSink(() => {
      throw refuse(404);
    });
    const outbox = outboxOf(sink);
    for (const name of ['a', 'b', 'c']) outbox.send(alertOf(name));
    await flushed(outbox);
    expect(sink.batches).toEqual(['a b c']);
    expect(outbox.dropped()).toEqual({ batch: 3 });
    expect(events).toMatchObject([
      { type: 'sink-failed', detail: 'batch: status 404; 3 alerts that it refused were given up' },
    ]);
  });

  test('one alert that the receiver chokes on holds up no other for long', async () => {
    const sink = batchSink((names) => {
      if (names.includes('bad')) throw fail(500);
    });
    const outbox = outboxOf(sink);
    for (const name of ['a', 'bad', 'b', 'c', 'd', 'e']) outbox.send(alertOf(name));
    await pass(MINUTE);
    expect(outbox.sinks()).toMatchObject([{ pending: 1, delivered: 5, dropped: 0 }]);
    expect(sink.batches.slice(0, 3)).toEqual(['a bad b c d e', 'a bad b c d e', 'a bad b c d e']);
    outbox.send(alertOf('f'));
    await pass(1_000);
    expect(sink.batches.at(-1)).toBe('f');
  });
});

describe('a single alert', () => {
  test('that is refused for good is given up, reported and counted; the next goes at once', async () => {
    const told: string[] = [];
    const outbox = outboxOf({
      name: 'hook',
      spacingMs: 0,
      deliver: async ({ downstream }) => {
        if (downstream === 'bad') throw refuse(400);
        told.push(downstream);
      },
    });
    for (const name of ['bad', 'a']) outbox.send(alertOf(name));
    await pass(20);
    expect(told).toEqual(['a']);
    expect(outbox.sinks()).toEqual([{ sink: 'hook', pending: 0, delivered: 1, replaced: 0, dropped: 1 }]);
    const detail = 'hook: status 400; an alert that it refused was given up';
    expect(events).toMatchObject([{ downstream: 'bad', type: 'sink-failed', detail }]);
  });

  test('that the receiver chokes on is set aside once the next one has gone out', async () => {
    const attempts: string[] = [];
    const outbox = outboxOf({
      name: 'hook',
      spacingMs: 0,
      deliver: async ({ downstream }) => {
        attempts.push(downstream);
        if (downstream === 'bad') throw fail(500);
      },
    });
    for (const name of ['bad', 'a', 'b']) outbox.send(alertOf(name));
    await pass(10_000);
    expect(attempts.slice(0, 5)).toEqual(['bad', 'bad', 'bad', 'a', 'b']);
    expect(outbox.pending()).toBe(1);
    await pass(5 * MINUTE);
    expect(attempts.length).toBeLessThan(16);
  });
});
