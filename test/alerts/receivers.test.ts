import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { buildAlert } from '../../src/alerts/alert.ts';
import { createOutbox, type Outbox } from '../../src/alerts/outbox.ts';
import type { PacedSink } from '../../src/alerts/sink.ts';
import type { Alert } from '../../src/base/alert.ts';
import { createDispatcher } from '../../src/dispatcher.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';
import { factsOf, NOW, origin } from './facts.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A receiver on loopback: its answer can be changed, and what it took is kept in order. */
let server: Server;
let url: string;
let answer: Answer;
let taken: string[];
let asked: number[];
let clock: ManualClock;

const take: Answer = (request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => (body += chunk.toString()));
  request.on('end', () => {
    taken.push(...[JSON.parse(body)].flat().map(({ downstream, status }: Alert) => `${downstream} ${status}`));
    response.end('ok');
  });
};
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response.writeHead(code, headers).end();

beforeEach(async () => {
  clock = new ManualClock({ wallMs: NOW });
  [taken, asked] = [[], []];
  server = createServer((request, response) => {
    asked.push(clock.now());
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-path`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const post = (body: unknown, signal: AbortSignal): Promise<Response> =>
  fetch(url, { method: 'POST', body: JSON.stringify(body), signal });

/** As somebody writes it who has read nothing: the answer of `fetch` is handed on as it is. */
function fetchSink(change: Partial<PacedSink> = {}): PacedSink {
  const deliver = async (alert: Alert, signal: AbortSignal): Promise<void> =>
    (await post(alert, signal)) as unknown as undefined;
  return { name: 'hook', spacingMs: 0, deliver, ...change };
}

function outboxOf(sink: PacedSink, events: unknown[] = []): Outbox {
  return createOutbox({ clock, sinks: [sink], emit: (event) => void events.push(event), random: () => 0 });
}

const alertOf = (downstream: string): Alert => buildAlert(factsOf({ downstream }), origin);

async function eventually(check: () => void): Promise<void> {
  await vi.waitFor(check, { interval: 1, timeout: 5_000 });
}

describe('a receiver that', () => {
  test('answers 500 for a minute: nothing is lost, order is kept, and it is seldom asked', async () => {
    answer = status(500);
    const outbox = outboxOf(fetchSink());
    for (const name of ['c', 'a', 'b']) outbox.send(alertOf(name));
    for (const delay of [1, 2, 4, 8, 16]) {
      await eventually(() => expect(clock.nextTimerInMs).toBe(delay * 1_000));
      await clock.advance(delay * 1_000);
    }
    await eventually(() => expect(clock.nextTimerInMs).toBe(32_000));
    answer = take;
    outbox.send(alertOf('d'));
    await clock.advance(32_000);
    expect(clock.now()).toBeGreaterThan(60_000);
    await eventually(() => expect(taken).toEqual(['c firing', 'a firing', 'b firing', 'd firing']));
    // From the third failure on a round asks twice: is it the receiver or the alert?
    expect(asked.length).toBeLessThanOrEqual(2 + 2 * 4 + 4);
    const sinks = [{ sink: 'hook', pending: 0, delivered: 4, replaced: 0, dropped: 0 }];
    await eventually(() => expect(outbox.sinks()).toEqual(sinks));
  });

  test.each([
    ['seconds', '30'],
    ['a date', new Date(NOW + 30_000).toUTCString()],
  ])('answers 429 with Retry-After (%s): is not asked before, not even about something else', async (_, value) => {
    answer = status(429, { 'retry-after': value });
    const outbox = outboxOf(fetchSink());
    outbox.send(alertOf('a'));
    await eventually(() => expect(clock.nextTimerInMs).toBe(30_000));
    answer = take;
    outbox.send(alertOf('b'));
    await outbox.flush();
    await clock.advance(29_999);
    expect(asked).toEqual([0]);
    await clock.advance(1);
    await eventually(() => expect(taken).toEqual(['a firing', 'b firing']));
    expect(asked).toEqual([0, 30_000, 30_000]);
  });

  test('closes the connection, is not there, or answers 404: told by its kind alone', async () => {
    const events: { detail?: string }[] = [];
    answer = (request) => request.socket.destroy();
    const outbox = outboxOf(fetchSink(), events);
    outbox.send(alertOf('a'));
    await outbox.flush();
    answer = take;
    await outbox.flush();
    answer = status(404);
    outbox.send(alertOf('b'));
    await outbox.flush();
    const port = (server.address() as AddressInfo).port;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    outbox.send(alertOf('c'));
    await outbox.flush();
    expect(taken).toEqual(['a firing']);
    expect(events.map(({ detail }) => detail)).toEqual([
      expect.stringMatching(/^hook: TypeError (UND_ERR_SOCKET|ECONNRESET); its alerts wait and are tried again$/),
      'hook: status 404; an alert that it refused was given up',
      'hook: TypeError ECONNREFUSED; its alerts wait and are tried again',
    ]);
    expect(JSON.stringify(events)).not.toMatch(new RegExp(`secret|${port}`));
  });

  test('hangs: ten seconds are given to it, then its request is aborted and the alert waits', async () => {
    let isAborted = false;
    answer = (request) => void request.socket.on('close', () => (isAborted = true));
    const outbox = outboxOf(fetchSink());
    outbox.send(alertOf('a'));
    await eventually(() => expect(asked).toHaveLength(1));
    await clock.advance(9_999);
    expect(outbox.sinks()).toMatchObject([{ pending: 1 }]);
    await clock.advance(1);
    await eventually(() => expect(isAborted).toBe(true));
    answer = take;
    await clock.advance(1_000);
    await eventually(() => expect(taken).toEqual(['a firing']));
  });

  test('takes arrays and answers 400 to one bad alert: the good ones are there, none of them twice in a batch', async () => {
    const bodies: string[][] = [];
    answer = (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const names = (JSON.parse(body) as Alert[]).map(({ downstream }) => downstream);
        bodies.push(names);
        taken.push(...names.filter((name) => name !== 'bad'));
        response.writeHead(names.includes('bad') ? 400 : 200).end();
      });
    };
    const deliverAll = async (alerts: readonly Alert[], signal: AbortSignal): Promise<void> =>
      (await post(alerts, signal)) as unknown as undefined;
    const outbox = outboxOf(fetchSink({ deliverAll }));
    for (const name of ['a', 'bad', 'b']) outbox.send(alertOf(name));
    await outbox.flush();
    expect(bodies).toEqual([['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
    expect(new Set(taken)).toEqual(new Set(['a', 'b']));
    expect(outbox.sinks()).toMatchObject([{ delivered: 2, dropped: 1 }]);
  });
});

/** Microseconds of one call that is answered 429, alert and all; the least of several rounds. */
async function costOf(sink: PacedSink | undefined): Promise<number> {
  const policy = {
    downstreams: { carrier: { quota: '1000000/second', warm: { for: 0 }, cooldown: { base: 1, max: 1 } } },
  };
  const dispatcher = createDispatcher(policy, { alertSinks: sink === undefined ? [] : [sink] });
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 8; round++) {
    const from = performance.now();
    for (let call = 0; call < 250; call++) dispatcher.report('carrier', { status: 429, retryAfterMs: 1 });
    least = Math.min(least, (performance.now() - from) / 250);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await dispatcher.close({ within: 0 });
  return least * 1_000;
}

test('no call is slower for a receiver that hangs, fails, closes or is a black hole', async () => {
  await costOf(undefined);
  const bare = await costOf(undefined);
  const kinds: [string, Answer][] = [
    ['hangs', () => undefined],
    ['500', status(500)],
    ['429', status(429, { 'retry-after': '1' })],
    ['closes', (request) => void request.socket.destroy()],
  ];
  const costs: Record<string, number> = { bare };
  for (const [name, does] of kinds) {
    answer = does;
    costs[name] = await costOf(fetchSink({ spacingMs: 100 }));
  }
  const blackHole = (): Promise<void> => new Promise(() => undefined);
  costs['black hole'] = await costOf({ name: 'hole', deliver: blackHole });
  console.info(
    Object.entries(costs)
      .map(([name, us]) => `${name} ${us.toFixed(1)} µs`)
      .join(', '),
  );
  // The alert itself is built for listeners in any case; what a sink adds is a look at one entry.
  for (const us of Object.values(costs)) expect(us).toBeLessThan(2 * bare + 20);
});
