import { beforeEach, describe, expect, test, vi } from 'vitest';
import { buildAlert } from '../../src/alerts/alert.ts';
import { createOutbox, type Outbox } from '../../src/alerts/outbox.ts';
import type { PacedSink } from '../../src/alerts/sink.ts';
import type { Alert } from '../../src/base/alert.ts';
import type { DispatcherEvent } from '../../src/base/events.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { factsOf, NOW, origin } from './facts.ts';

let clock: ManualClock;
let events: DispatcherEvent[];

beforeEach(() => {
  clock = new ManualClock({ wallMs: NOW });
  events = [];
});

function outboxOf(...sinks: PacedSink[]): Outbox {
  return createOutbox({ clock, sinks, emit: (event) => void events.push(event), random: () => 0 });
}

function sinkOf(deliver: PacedSink['deliver'], name = 'memory'): PacedSink {
  return { name, spacingMs: 0, deliver };
}

function alertOf(downstream: string, throttles = 1): Alert {
  const incident = { id: 'incident-1', startedAt: NOW, throttles, inARow: 1 };
  return buildAlert(factsOf({ downstream, incident }), origin);
}

const text = ({ downstream, incident }: Alert): string => `${downstream} ${incident.throttles}`;

/** Bottleneck takes a few turns of the real event loop per delivery; nothing is slept for. */
async function eventually(check: () => void): Promise<void> {
  await vi.waitFor(check, { interval: 1 });
}

describe('delivery', () => {
  test('never in the turn of the alert; flush waits for all of it', async () => {
    const told: string[] = [];
    const outbox = outboxOf(sinkOf((alert) => void told.push(text(alert))));
    outbox.send(alertOf('carrier'));
    outbox.send(alertOf('mail'));
    expect(told).toEqual([]);
    expect(outbox.pending()).toBe(2);
    await outbox.flush();
    expect(told).toEqual(['carrier 1', 'mail 1']);
    expect(outbox.pending()).toBe(0);
    expect(outbox.dropped()).toEqual({ memory: 0 });
    expect(clock.timersSet).toBe(0);
  });

  test('a newer alert takes the place of one about the same that has not gone out', async () => {
    const told: string[] = [];
    const outbox = outboxOf(sinkOf((alert) => void told.push(text(alert))));
    outbox.send(alertOf('carrier', 1));
    outbox.send(alertOf('mail', 1));
    outbox.send(alertOf('carrier', 2));
    outbox.send(alertOf('carrier', 3));
    expect(outbox.pending()).toBe(2);
    await outbox.flush();
    expect(told).toEqual(['carrier 3', 'mail 1']);
  });

  test('one that comes while an older one is going out follows it, and flush waits for both', async () => {
    const told: string[] = [];
    const outbox = outboxOf(
      sinkOf(async (alert) => {
        told.push(text(alert));
        if (told.length === 1) outbox.send(alertOf('carrier', 2));
      }),
    );
    outbox.send(alertOf('carrier', 1));
    await outbox.flush();
    expect(told).toEqual(['carrier 1', 'carrier 2']);
    expect(outbox.pending()).toBe(0);
  });

  test('one sink gets one at a time, and a slow one holds up no other', async () => {
    const told: string[] = [];
    const finish: (() => void)[] = [];
    let atOnce = 0;
    const slow = sinkOf(async () => {
      atOnce += 1;
      await new Promise<void>((resolve) => finish.push(resolve));
      atOnce -= 1;
    }, 'slow');
    const quick = sinkOf((alert) => void told.push(text(alert)));
    const outbox = outboxOf(slow, quick);
    outbox.send(alertOf('carrier'));
    outbox.send(alertOf('mail'));
    const flushed = outbox.flush();
    for (const turn of [1, 2]) {
      await eventually(() => expect(finish).toHaveLength(turn));
      await eventually(() => expect(told).toHaveLength(2));
      expect(atOnce).toBe(1);
      finish.at(-1)?.();
    }
    await flushed;
    expect(outbox.pending()).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  test('deliveries to one sink keep its spacing', async () => {
    const at: number[] = [];
    const outbox = outboxOf({ name: 'paced', spacingMs: 30, deliver: () => void at.push(performance.now()) });
    for (const downstream of ['a', 'b', 'c']) outbox.send(alertOf(downstream));
    await outbox.flush();
    expect(at[2]! - at[0]!).toBeGreaterThan(50);
  });

  test('a wall clock that steps back does not stop deliveries', async () => {
    const told: string[] = [];
    const outbox = outboxOf(sinkOf((alert) => void told.push(text(alert))));
    outbox.send(alertOf('carrier'));
    await outbox.flush();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    try {
      clock.jumpWall(-3_600_000);
      outbox.send(alertOf('mail'));
      await outbox.flush();
    } finally {
      vi.useRealTimers();
    }
    expect(told).toEqual(['carrier 1', 'mail 1']);
  });
});

describe('a sink that fails', () => {
  const failures: [string, PacedSink['deliver'], string][] = [
    [
      'throws',
      () => {
        throw new TypeError('https://hooks.example/secret');
      },
      'TypeError',
    ],
    [
      'rejects',
      () => Promise.reject(Object.assign(new Error('secret'), { code: 'ECONNREFUSED' })),
      'Error ECONNREFUSED',
    ],
    ['rejects with text', () => Promise.reject('secret'), 'failed'],
  ];
  test.each(failures)('%s: reported once, by kind alone, and tried again later', async (_, fail, kind) => {
    const deliver = vi.fn(fail);
    const outbox = outboxOf(sinkOf(deliver, 'pager'));
    outbox.send(alertOf('carrier'));
    outbox.send(alertOf('mail'));
    await outbox.flush();
    const detail = `pager: ${kind}; its alerts wait and are tried again`;
    expect(events).toEqual([{ at: NOW, downstream: 'carrier', type: 'sink-failed', detail }]);
    expect(outbox.pending()).toBe(2);
    expect([clock.pendingTimers, clock.idleTimers]).toEqual([0, 1]);

    deliver.mockImplementation(() => undefined);
    await clock.advance(1_000);
    await eventually(() => expect(outbox.pending()).toBe(0));
    expect(outbox.dropped()).toEqual({ pager: 0 });
    expect(clock.idleTimers).toBe(0);
  });

  test('is tried after 1 s, 2 s, 4 s and so on, at most a minute apart, for as long as it takes', async () => {
    const deliver = vi.fn(() => {
      throw new Error('no');
    });
    const outbox = outboxOf(sinkOf(deliver));
    outbox.send(alertOf('carrier'));
    for (const delay of [1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * 1_000)) {
      await eventually(() => expect(clock.nextTimerInMs).toBe(delay));
      await clock.advance(delay);
    }
    await eventually(() => expect(deliver).toHaveBeenCalledTimes(9));
    expect(events).toHaveLength(1);
    expect(outbox.pending()).toBe(1);
  });

  test('is reported anew when it fails after having worked', async () => {
    let isDown = true;
    const outbox = outboxOf(
      sinkOf(() => {
        if (isDown) throw new Error('no');
      }),
    );
    for (const down of [true, false, true]) {
      isDown = down;
      outbox.send(alertOf('carrier'));
      await outbox.flush();
    }
    expect(events).toHaveLength(2);
  });

  test('hangs: given up after 10 s with its signal fired, and what it does later changes nothing', async () => {
    let signal: AbortSignal | undefined;
    let finish = (): void => undefined;
    const told: string[] = [];
    const outbox = outboxOf(
      sinkOf((alert, given) => {
        told.push(text(alert));
        if (told.length > 1) return;
        signal = given;
        return new Promise<void>((_, reject) => {
          finish = () => reject(new Error('late'));
        });
      }),
    );
    outbox.send(alertOf('carrier'));
    await eventually(() => expect(signal).toBeDefined());
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(9_999);
    expect(signal?.aborted).toBe(false);
    await clock.advance(1);
    expect(signal?.aborted).toBe(true);
    expect(events).toMatchObject([{ type: 'sink-failed', detail: expect.stringContaining('TimeoutError') }]);
    outbox.send(alertOf('carrier', 2));
    await outbox.flush();
    finish();
    await clock.advance(0);
    expect(told).toEqual(['carrier 1', 'carrier 2']);
    expect(outbox.pending()).toBe(0);
  });

  test('flush tries once and resolves, back-off or not', async () => {
    const deliver = vi.fn(() => {
      throw new Error('no');
    });
    const outbox = outboxOf(sinkOf(deliver));
    outbox.send(alertOf('carrier'));
    await outbox.flush();
    await outbox.flush();
    expect(deliver).toHaveBeenCalledTimes(2);
    expect(clock.idleTimers).toBe(1);
  });
});

describe('bounds', () => {
  test('a thousand things at most wait for one sink; what is more is dropped and counted', async () => {
    const outbox = outboxOf(
      sinkOf(() => undefined, 'a'),
      sinkOf(() => undefined, 'b'),
    );
    for (let i = 0; i < 1_002; i++) outbox.send(alertOf(`downstream-${i}`));
    outbox.send(alertOf('downstream-0', 2));
    expect(outbox.pending()).toBe(2_000);
    expect(outbox.dropped()).toEqual({ a: 2, b: 2 });
    await outbox.close(0);
    expect(outbox.dropped()).toEqual({ a: 1_002, b: 1_002 });
  });
});

describe('close', () => {
  test('delivers what waits', async () => {
    const told: string[] = [];
    const outbox = outboxOf(sinkOf((alert) => void told.push(text(alert))));
    outbox.send(alertOf('carrier'));
    outbox.send(alertOf('mail'));
    await outbox.close(10_000);
    expect(told).toEqual(['carrier 1', 'mail 1']);
    expect([clock.pendingTimers, clock.idleTimers]).toEqual([0, 0]);
  });

  test('ends within its time: a hanging delivery is aborted, the rest dropped and counted', async () => {
    let signal: AbortSignal | undefined;
    const outbox = outboxOf(
      sinkOf((_, given) => {
        signal = given;
        return new Promise<void>(() => undefined);
      }, 'pager'),
    );
    outbox.send(alertOf('carrier'));
    outbox.send(alertOf('mail'));
    await eventually(() => expect(signal).toBeDefined());
    const closed = outbox.close(5_000);
    await clock.advance(4_999);
    expect(outbox.pending()).toBe(2);
    await clock.advance(1);
    await closed;
    expect(signal?.aborted).toBe(true);
    expect([outbox.pending(), outbox.dropped()]).toEqual([0, { pager: 2 }]);
    outbox.send(alertOf('model'));
    expect([outbox.pending(), outbox.dropped()]).toEqual([0, { pager: 3 }]);
    await clock.advance(60_000);
    expect([clock.pendingTimers, clock.idleTimers, events]).toEqual([0, 0, []]);
  });

  test('a sink in its back-off is tried once more, then dropped', async () => {
    const deliver = vi.fn(() => {
      throw new Error('no');
    });
    const outbox = outboxOf(sinkOf(deliver));
    outbox.send(alertOf('carrier'));
    await outbox.flush();
    await outbox.close(5_000);
    expect(deliver).toHaveBeenCalledTimes(2);
    expect(outbox.dropped()).toEqual({ memory: 1 });
    expect([clock.pendingTimers, clock.idleTimers]).toEqual([0, 0]);
  });
});
