import { afterEach, describe, expect, test } from 'vitest';
import { type Carrier, openCarrier, SlidingWindow } from '../../demo/carrier.ts';

const RULES = { limit: 5, windowMs: 1_000, latencyMs: 0, stormAbove: 3, outageMs: 2_000 };

function windowAt(rules = RULES) {
  let now = 0;
  const gate = new SlidingWindow(rules, () => now);
  const at = (ms: number) => {
    now = ms;
    return gate.rule();
  };
  return { at };
}

describe('the sliding window', () => {
  test('accepts the limit and no more, wherever the window starts', () => {
    const gate = windowAt({ ...RULES, stormAbove: 1_000 });
    const accepted: number[] = [];
    for (let ms = 0; ms < 5_000; ms += 37) if (gate.at(ms).status === 200) accepted.push(ms);
    for (const start of accepted) {
      const within = accepted.filter((at) => at >= start && at < start + RULES.windowMs);
      expect(within.length).toBeLessThanOrEqual(RULES.limit);
    }
    expect(accepted.length).toBeGreaterThanOrEqual(4 * RULES.limit);
  });

  test('what it rejects does not count', () => {
    const gate = windowAt({ ...RULES, stormAbove: 1_000 });
    for (let i = 0; i < 100; i += 1) gate.at(900);
    expect(gate.at(1_900).status).toBe(200);
  });

  test('a 429 says when the oldest request leaves the window', () => {
    const gate = windowAt();
    for (let i = 0; i < RULES.limit; i += 1) gate.at(100 + i);
    expect(gate.at(400)).toEqual({ status: 429, retryAfterMs: 700 });
  });

  test('after a storm everyone gets a 503 for a while, and then it is over', () => {
    const gate = windowAt();
    for (let i = 0; i < RULES.limit; i += 1) gate.at(0);
    const storm = Array.from({ length: RULES.stormAbove + 1 }, () => gate.at(10).status);
    expect(storm).toEqual([429, 429, 429, 429]);
    expect(gate.at(11).status).toBe(503);
    expect(gate.at(2_009).status).toBe(503);
    expect(gate.at(2_010).status).toBe(200);
  });

  test('rejections that are spread out are no storm', () => {
    const gate = windowAt();
    for (let ms = 0; ms < 10_000; ms += 125) expect(gate.at(ms).status).not.toBe(503);
  });
});

describe('the carrier over HTTP', () => {
  let carrier: Carrier | undefined;
  afterEach(() => carrier?.close());

  test('answers, refuses with whole seconds of Retry-After, and keeps books by consumer', async () => {
    const open = await openCarrier({ ...RULES, limit: 1 }, () => 0);
    carrier = open;
    const ask = (consumer: string) => fetch(`${open.url}/v1/deliveries/7`, { headers: { 'x-consumer': consumer } });
    const first = await ask('sync');
    expect(await first.json()).toEqual({ delivery: '7', status: 'in transit' });
    const second = await ask('ticket');
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1']);
    await second.arrayBuffer();
    const books = open.entries().map(({ consumer, status }) => [consumer, status]);
    expect(books).toEqual([
      ['sync', 200],
      ['ticket', 429],
    ]);
    expect(Math.abs((open.entries()[0]?.at ?? 0) - Date.now())).toBeLessThan(60_000);
  });

  test('its health page is free', async () => {
    const open = await openCarrier({ ...RULES, limit: 1 }, () => 0);
    carrier = open;
    for (let i = 0; i < 3; i += 1) await (await fetch(`${open.url}/health`)).arrayBuffer();
    expect((await fetch(`${open.url}/v1/deliveries/7`)).status).toBe(200);
    expect(open.entries()).toHaveLength(1);
  });
});
