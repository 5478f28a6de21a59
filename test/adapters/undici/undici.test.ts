import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import {
  Client,
  fetch as fetch7,
  pipeline,
  request,
  setGlobalDispatcher,
  stream,
  type Dispatcher as Undici,
  upgrade,
} from 'undici';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { gate } from '../../../src/adapters/undici.ts';
import { Bench, limited, refusal, running, until } from './rig.ts';

const bench = new Bench();
const { agents } = bench;
const rig: Bench['rig'] = (...options) => bench.rig(...options);

/** Every way of asking that there is, each with the gate as its dispatcher. */
const WAYS: Readonly<Record<string, (dispatcher: Undici) => Promise<number>>> = {
  request: async (dispatcher) => {
    const { statusCode, body } = await request(bench.server.url, { dispatcher });
    await body.dump();
    return statusCode;
  },
  stream: async (dispatcher) => {
    let status = 0;
    await stream(bench.server.url, { dispatcher, method: 'GET' }, ({ statusCode }) => {
      status = statusCode;
      return new PassThrough().resume();
    });
    return status;
  },
  pipeline: async (dispatcher) => {
    let status = 0;
    const through = pipeline(bench.server.url, { dispatcher, method: 'POST' }, ({ statusCode, body }) => {
      status = statusCode;
      return body;
    });
    through.end('text');
    await once(through.resume(), 'end');
    return status;
  },
  'fetch of undici 7': async (dispatcher) => (await fetch7(bench.server.url, { dispatcher })).status,
  "Node's own fetch": async (dispatcher) => {
    setGlobalDispatcher(dispatcher);
    return (await fetch(bench.server.url)).status;
  },
};

describe.each(Object.entries(WAYS))('%s', (_, ask) => {
  test('takes a permit; a 429 holds back the next', async () => {
    const { gated, clock, count, outcomes } = rig();
    bench.server.answers(limited);
    expect(await ask(gated)).toBe(429);
    expect(outcomes()).toEqual(['throttled']);
    bench.server.answers((_request, response) => void response.end('ok'));
    const second = ask(gated);
    await until(() => count('queued') === 1);
    await clock.advance(6_900);
    expect(bench.server.arrived).toEqual([]);
    await clock.advance(200);
    expect(await second).toBe(200);
    expect(count('started')).toBe(2);
  });

  test('a refusal is its error; nothing is sent', async () => {
    const { gated, dispatcher } = rig();
    dispatcher.pause('carrier', { for: '10m' });
    const error = await refusal(ask(gated));
    expect([error, error.cause].map((each) => each?.code)).toContain('RATE_LIMITED');
    expect(bench.server.arrived).toEqual([]);
  });

  test('what goes wrong on the way is its error too', async () => {
    const { gated, outcomes } = rig();
    bench.server.answers((_request, response) => void response.socket?.destroy());
    expect(await refusal(ask(gated))).toBeInstanceOf(Error);
    expect(outcomes()).toEqual(['failed']);
  });
});

describe('aborts', () => {
  const asks: Readonly<Record<string, (dispatcher: Undici, signal: AbortSignal) => Promise<unknown>>> = {
    request: (dispatcher, signal) => request(bench.server.url, { dispatcher, signal }),
    'fetch of undici 7': (dispatcher, signal) => fetch7(bench.server.url, { dispatcher, signal }),
    "Node's own fetch": (dispatcher, signal) => {
      setGlobalDispatcher(dispatcher);
      return fetch(bench.server.url, { signal });
    },
  };
  test.each(Object.entries(asks))('%s: while it waits, at once, with its own reason', async (_, ask) => {
    const { gated, dispatcher, count, clock } = rig();
    dispatcher.pause('carrier', { for: '10s' });
    const abort = new AbortController();
    const answer = refusal(ask(gated, abort.signal));
    await until(() => count('queued') === 1);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await answer).toBe(reason);
    await clock.advance(20_000);
    expect([count('aborted'), bench.server.arrived]).toEqual([1, []]);
  });
  test.each(Object.entries(asks))('%s: before it is made, and while it is under way', async (_, ask) => {
    const { gated, dispatcher } = rig();
    expect((await refusal(ask(gated, AbortSignal.abort()))).name).toBe('AbortError');
    bench.server.answers(() => undefined);
    const abort = new AbortController();
    const answer = refusal(ask(gated, abort.signal));
    await until(() => bench.server.arrived.length === 1);
    abort.abort();
    expect((await answer).name).toBe('AbortError');
    await until(() => running(dispatcher) === 0);
  });
});

describe('what goes out', () => {
  test('its type fits where undici asks for an interceptor', () => {
    expectTypeOf(gate).returns.toExtend<Undici.DispatcherComposeInterceptor>();
  });

  test.each<[string, NonNullable<Undici.RequestOptions['headers']>]>([
    ['an object', { 'x-penstock-tool': 'track', 'x-a': ['1', '2'] }],
    ['a list', ['X-Penstock-Tool', 'track', 'x-a', '1', 'x-a', '2']],
    [
      'a Map',
      new Map([
        ['x-penstock-tool', 'track'],
        ['x-a', '1, 2'],
      ]),
    ],
  ])('headers of ours, in %s, are read and not sent', async (_, headers) => {
    const { gated, events } = rig();
    await (await request(bench.server.url, { dispatcher: gated, headers })).body.dump();
    expect(events.find(({ type }) => type === 'started')).toMatchObject({ tool: 'track' });
    expect(Object.entries(bench.server.arrived[0]?.headers ?? {}).filter(([name]) => name.startsWith('x-'))).toEqual([
      ['x-a', '1, 2'],
    ]);
  });

  test('the name that Node gives itself is none', async () => {
    const policy = { requiresUserAgent: 'they ask for it' };
    const { gated } = rig({}, policy);
    const error = await refusal(WAYS["Node's own fetch"]!(gated));
    expect(error.cause).toMatchObject({ code: 'INVALID_CALL', message: expect.stringContaining('they ask for it') });
    expect(await WAYS["Node's own fetch"]!(rig({ userAgent: 'acme' }, policy).gated)).toBe(200);
    expect(bench.server.arrived[0]?.headers['user-agent']).toBe('acme');
  });

  test('a body that is an iterator is not touched while it waits', async () => {
    const { gated, dispatcher, clock, count } = rig();
    dispatcher.pause('carrier', { for: '10s' });
    let pulled = 0;
    async function* body() {
      pulled++;
      yield 'text';
    }
    const answer = request(bench.server.url, { dispatcher: gated, method: 'POST', body: body() as never });
    await until(() => count('queued') === 1);
    expect(pulled).toBe(0);
    await clock.advance(10_000);
    await (await answer).body.dump();
    expect(bench.server.arrived[0]?.body).toBe('text');
  });

  test('unknown hosts, lookup, a client of one origin', async () => {
    const { gated, count } = rig({
      lookup: ({ pathname }) => (pathname === '/free' ? false : undefined),
      unknownHosts: 'refuse',
    });
    await (await request(`${bench.server.url}/free`, { dispatcher: gated })).body.dump();
    expect(count('started')).toBe(0);
    expect((await refusal(request('http://nobody.invalid', { dispatcher: gated }))).message).toContain(
      'no downstream claims nobody.invalid',
    );
    const { dispatcher } = rig();
    const client = new Client(bench.server.url);
    agents.push(client);
    const alone = client.compose(gate(dispatcher));
    expect((await refusal(alone.request({ path: '/', method: 'GET' }))).message).toContain('names no host');
  });
});

describe('until when', () => {
  test('with body, to the end of the body; trailers arrive', async () => {
    const { gated, dispatcher, outcomes } = rig({ leaseUntil: 'body' });
    let end = () => undefined as void;
    bench.server.answers((_, response) => {
      response.writeHead(200, { trailer: 'x-sum' });
      response.write('a');
      end = () => {
        response.addTrailers({ 'x-sum': '7' });
        response.end();
      };
    });
    const { body, trailers } = await request(bench.server.url, { dispatcher: gated });
    expect(running(dispatcher)).toBe(1);
    end();
    expect([await body.text(), trailers]).toEqual(['a', { 'x-sum': '7' }]);
    expect([running(dispatcher), outcomes()]).toEqual([0, ['success']]);
  });

  test('with body, one that nobody reads gives its place back', async () => {
    const { gated, dispatcher, clock, count } = rig({ leaseUntil: 'body', unreadAfter: '5s' });
    bench.server.answers((_, response) => {
      response.end('x'.repeat(4_000_000));
    });
    const { body } = await request(bench.server.url, { dispatcher: gated });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await clock.advance(5_000);
    await clock.advance(5_000);
    expect([running(dispatcher), count('body-unread')]).toEqual([0, 1]);
    expect((await body.text()).length).toBe(4_000_000);
  });

  test('at the deadline the request ends', async () => {
    const { gated, clock } = rig();
    bench.server.answers(() => undefined);
    const answer = refusal(request(bench.server.url, { dispatcher: gated, headers: { 'x-penstock-deadline': '5s' } }));
    await until(() => bench.server.arrived.length === 1);
    await clock.advance(5_000);
    expect(await answer).toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'running' });
  });

  test('an upgrade takes a permit and ends its lease', async () => {
    const { gated, dispatcher, outcomes } = rig({ leaseUntil: 'body' });
    bench.server.server.once('upgrade', (_, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    const { socket } = await upgrade(bench.server.url, { dispatcher: gated, protocol: 'websocket' });
    socket.destroy();
    expect([running(dispatcher), outcomes()]).toEqual([0, ['success']]);
  });

  test('CONNECT', async () => {
    const { gated, outcomes } = rig();
    bench.server.server.once('connect', (_, socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    const { socket } = await gated.connect({ origin: bench.server.url, path: 'elsewhere.example:443' });
    socket.destroy();
    expect(outcomes()).toEqual(['success']);
  });
});
