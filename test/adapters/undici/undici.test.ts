import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import {
  Agent,
  Client,
  fetch as fetch7,
  getGlobalDispatcher,
  interceptors,
  pipeline,
  request,
  setGlobalDispatcher,
  stream,
  type Dispatcher as Undici,
  upgrade,
} from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { createFetch } from '../../../src/adapters/fetch.ts';
import { type GateOptions, gate } from '../../../src/adapters/undici.ts';
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherEvent,
  type DownstreamPolicyInput,
  type PolicyInput,
} from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { TestServer } from '../support/server.ts';

let server: TestServer;
const agents: Undici[] = [];
const before = getGlobalDispatcher();
beforeAll(async () => {
  server = await TestServer.start();
});
afterEach(async () => {
  setGlobalDispatcher(before);
  server.answers((_, response) => void response.end('ok'));
  await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
});
afterAll(() => server.close());

function rig(options: GateOptions = {}, policy: DownstreamPolicyInput = {}) {
  const clock = new ManualClock();
  const carrier = { hosts: [server.host], ...policy };
  const dispatcher = createDispatcher<PolicyInput>({ downstreams: { carrier } }, { clock, alertSinks: [], env: {} });
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  const agent = new Agent();
  agents.push(agent);
  const count = (type: string) => events.filter((event) => event.type === type).length;
  const outcomes = () => events.flatMap((event) => (event.type === 'settled' ? [event.outcome] : []));
  return { clock, dispatcher, agent, gated: agent.compose(gate(dispatcher, options)), events, count, outcomes };
}

const running = (dispatcher: Dispatcher) => dispatcher.snapshot().downstreams[0]?.running;
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const turn = () => new Promise((resolve) => setImmediate(resolve));
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}
const limited = (_: unknown, response: import('node:http').ServerResponse) => {
  response.writeHead(429, { 'retry-after': '7' });
  response.end('no');
};

/** Every way of asking that there is, each with the gate as its dispatcher. */
const WAYS: Readonly<Record<string, (dispatcher: Undici) => Promise<number>>> = {
  request: async (dispatcher) => {
    const { statusCode, body } = await request(server.url, { dispatcher });
    await body.dump();
    return statusCode;
  },
  stream: async (dispatcher) => {
    let status = 0;
    await stream(server.url, { dispatcher, method: 'GET' }, ({ statusCode }) => {
      status = statusCode;
      return new PassThrough().resume();
    });
    return status;
  },
  pipeline: async (dispatcher) => {
    let status = 0;
    const through = pipeline(server.url, { dispatcher, method: 'POST' }, ({ statusCode, body }) => {
      status = statusCode;
      return body;
    });
    through.end('text');
    await once(through.resume(), 'end');
    return status;
  },
  'fetch of undici 7': async (dispatcher) => (await fetch7(server.url, { dispatcher })).status,
  "Node's own fetch": async (dispatcher) => {
    setGlobalDispatcher(dispatcher);
    return (await fetch(server.url)).status;
  },
};

describe.each(Object.entries(WAYS))('%s', (_, ask) => {
  test('takes a permit; a 429 holds back the next', async () => {
    const { gated, clock, count, outcomes } = rig();
    server.answers(limited);
    expect(await ask(gated)).toBe(429);
    expect(outcomes()).toEqual(['throttled']);
    server.answers((_request, response) => void response.end('ok'));
    const second = ask(gated);
    await until(() => count('queued') === 1);
    await clock.advance(6_900);
    expect(server.arrived).toEqual([]);
    await clock.advance(200);
    expect(await second).toBe(200);
    expect(count('started')).toBe(2);
  });

  test('a refusal is its error; nothing is sent', async () => {
    const { gated, dispatcher } = rig();
    dispatcher.pause('carrier', { for: '10m' });
    const error = await refusal(ask(gated));
    expect([error, error.cause].map((each) => each?.code)).toContain('RATE_LIMITED');
    expect(server.arrived).toEqual([]);
  });

  test('what goes wrong on the way is its error too', async () => {
    const { gated, outcomes } = rig();
    server.answers((_request, response) => void response.socket?.destroy());
    expect(await refusal(ask(gated))).toBeInstanceOf(Error);
    expect(outcomes()).toEqual(['failed']);
  });
});

describe('aborts', () => {
  const asks: Readonly<Record<string, (dispatcher: Undici, signal: AbortSignal) => Promise<unknown>>> = {
    request: (dispatcher, signal) => request(server.url, { dispatcher, signal }),
    'fetch of undici 7': (dispatcher, signal) => fetch7(server.url, { dispatcher, signal }),
    "Node's own fetch": (dispatcher, signal) => {
      setGlobalDispatcher(dispatcher);
      return fetch(server.url, { signal });
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
    expect([count('aborted'), server.arrived]).toEqual([1, []]);
  });
  test.each(Object.entries(asks))('%s: before it is made, and while it is under way', async (_, ask) => {
    const { gated, dispatcher } = rig();
    expect((await refusal(ask(gated, AbortSignal.abort()))).name).toBe('AbortError');
    server.answers(() => undefined);
    const abort = new AbortController();
    const answer = refusal(ask(gated, abort.signal));
    await until(() => server.arrived.length === 1);
    abort.abort();
    expect((await answer).name).toBe('AbortError');
    await until(() => running(dispatcher) === 0);
  });
});

describe('what goes out', () => {
  test('its type fits where undici asks for an interceptor', () => {
    expectTypeOf(gate).returns.toExtend<Undici.DispatcherComposeInterceptor>();
  });

  test.each<[string, Undici.RequestOptions['headers']]>([
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
    await (await request(server.url, { dispatcher: gated, headers })).body.dump();
    expect(events.find(({ type }) => type === 'started')).toMatchObject({ tool: 'track' });
    expect(Object.entries(server.arrived[0]?.headers ?? {}).filter(([name]) => name.startsWith('x-'))).toEqual([
      ['x-a', '1, 2'],
    ]);
  });

  test('the name that Node gives itself is none', async () => {
    const policy = { requiresUserAgent: 'they ask for it' };
    const { gated } = rig({}, policy);
    const error = await refusal(WAYS["Node's own fetch"]!(gated));
    expect(error.cause).toMatchObject({ code: 'INVALID_CALL', message: expect.stringContaining('they ask for it') });
    expect(await WAYS["Node's own fetch"]!(rig({ userAgent: 'acme' }, policy).gated)).toBe(200);
    expect(server.arrived[0]?.headers['user-agent']).toBe('acme');
  });

  test('a body that is an iterator is not touched while it waits', async () => {
    const { gated, dispatcher, clock, count } = rig();
    dispatcher.pause('carrier', { for: '10s' });
    let pulled = 0;
    async function* body() {
      pulled++;
      yield 'text';
    }
    const answer = request(server.url, { dispatcher: gated, method: 'POST', body: body() as never });
    await until(() => count('queued') === 1);
    expect(pulled).toBe(0);
    await clock.advance(10_000);
    await (await answer).body.dump();
    expect(server.arrived[0]?.body).toBe('text');
  });

  test('unknown hosts, lookup, a client of one origin', async () => {
    const { gated, count } = rig({
      lookup: ({ pathname }) => (pathname === '/free' ? false : undefined),
      unknownHosts: 'refuse',
    });
    await (await request(`${server.url}/free`, { dispatcher: gated })).body.dump();
    expect(count('started')).toBe(0);
    expect((await refusal(request('http://nobody.invalid', { dispatcher: gated }))).message).toContain(
      'no downstream claims nobody.invalid',
    );
    const { dispatcher } = rig();
    const client = new Client(server.url);
    agents.push(client);
    const alone = client.compose(gate(dispatcher));
    expect((await refusal(alone.request({ path: '/', method: 'GET' }))).message).toContain('names no host');
  });
});

describe('until when', () => {
  test('with body, to the end of the body; trailers arrive', async () => {
    const { gated, dispatcher, outcomes } = rig({ leaseUntil: 'body' });
    let end = () => undefined as void;
    server.answers((_, response) => {
      response.writeHead(200, { trailer: 'x-sum' });
      response.write('a');
      end = () => {
        response.addTrailers({ 'x-sum': '7' });
        response.end();
      };
    });
    const { body, trailers } = await request(server.url, { dispatcher: gated });
    expect(running(dispatcher)).toBe(1);
    end();
    expect([await body.text(), trailers]).toEqual(['a', { 'x-sum': '7' }]);
    expect([running(dispatcher), outcomes()]).toEqual([0, ['success']]);
  });

  test('with body, one that nobody reads gives its place back', async () => {
    const { gated, dispatcher, clock, count } = rig({ leaseUntil: 'body', unreadAfter: '5s' });
    server.answers((_, response) => {
      response.end('x'.repeat(4_000_000));
    });
    const { body } = await request(server.url, { dispatcher: gated });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await clock.advance(5_000);
    await clock.advance(5_000);
    expect([running(dispatcher), count('body-unread')]).toEqual([0, 1]);
    expect((await body.text()).length).toBe(4_000_000);
  });

  test('at the deadline the request ends', async () => {
    const { gated, clock } = rig();
    server.answers(() => undefined);
    const answer = refusal(request(server.url, { dispatcher: gated, headers: { 'x-penstock-deadline': '5s' } }));
    await until(() => server.arrived.length === 1);
    await clock.advance(5_000);
    expect(await answer).toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'running' });
  });

  test('an upgrade takes a permit and ends its lease', async () => {
    const { gated, dispatcher, outcomes } = rig({ leaseUntil: 'body' });
    server.server.once('upgrade', (_, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    const { socket } = await upgrade(server.url, { dispatcher: gated, protocol: 'websocket' });
    socket.destroy();
    expect([running(dispatcher), outcomes()]).toEqual([0, ['success']]);
  });

  test('CONNECT', async () => {
    const { gated, outcomes } = rig();
    server.server.once('connect', (_, socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    const { socket } = await gated.connect({ origin: server.url, path: 'elsewhere.example:443' });
    socket.destroy();
    expect(outcomes()).toEqual(['success']);
  });
});

describe('with what stands beside it', () => {
  test("undici's retries outside: each attempt takes a permit, none before the server's time", async () => {
    const { agent, dispatcher, clock, count } = rig();
    const retries = interceptors.retry({
      maxRetries: 2,
      minTimeout: 1,
      maxTimeout: 1,
      statusCodes: [429],
      methods: ['GET'],
    });
    const composed = agent.compose(gate(dispatcher), retries);
    server.answers((request_, response, n) => (n === 1 ? limited(request_, response) : void response.end('ok')));
    const answer = request(server.url, { dispatcher: composed });
    await until(() => count('queued') === 1);
    expect(server.arrived.length).toBe(1);
    await clock.advance(7_100);
    const { statusCode, body } = await answer;
    expect([statusCode, await body.text(), count('started')]).toEqual([200, 'ok', 2]);
  });

  test("undici's retries inside: one permit for all of them", async () => {
    const { agent, dispatcher, count, outcomes } = rig();
    const retries = interceptors.retry({
      maxRetries: 2,
      minTimeout: 1,
      maxTimeout: 1,
      statusCodes: [500],
      methods: ['GET'],
    });
    const composed = agent.compose(retries, gate(dispatcher));
    server.answers((_, response, n) => {
      response.statusCode = n === 1 ? 500 : 200;
      response.end('ok');
    });
    expect(await (await request(server.url, { dispatcher: composed })).body.text()).toBe('ok');
    expect([server.arrived.length, count('started'), outcomes()]).toEqual([2, 1, ['success']]);
  });

  test('each hop of a redirect that fetch follows takes a permit of the host it goes to', async () => {
    const { gated, count } = rig({}, { maxConcurrent: 1 });
    server.answers((_, response, n) => {
      if (n === 1) response.writeHead(302, { location: `${server.url}/there` });
      response.end('ok');
    });
    setGlobalDispatcher(gated);
    expect(await (await fetch(server.url)).text()).toBe('ok');
    expect(count('started')).toBe(2);
  });

  test('createFetch on top: one permit for one request; a hop under it takes its own, in its place', async () => {
    const { gated, dispatcher, count, outcomes } = rig({}, { maxConcurrent: 1 });
    setGlobalDispatcher(gated);
    const outer = createFetch(dispatcher);
    await outer(server.url);
    expect(count('started')).toBe(1);
    server.answers((_, response, n) => {
      if (n === 1) response.writeHead(302, { location: `${server.url}/there` });
      response.end('ok');
    });
    expect(await (await outer(server.url)).text()).toBe('ok');
    await until(() => count('settled') === 3);
    expect([count('started'), outcomes(), running(dispatcher)]).toEqual([3, ['success', 'success', 'success'], 0]);
    await fetch(server.url);
    expect(count('started')).toBe(4);
  });
});
