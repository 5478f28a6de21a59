import { afterAll, afterEach, beforeAll, describe, expect, expectTypeOf, test } from 'vitest';
import { createFetch, type FetchOptions } from '../../../src/adapters/fetch.ts';
import { createDispatcher, type DispatcherEvent, type PolicyInput } from '../../../src/index.ts';
import { ManualClock } from '../../../src/testing.ts';
import { TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start();
});
afterAll(() => server.close());
afterEach(() => server.answers((_, response) => void response.end('ok')));

function rig(
  options: FetchOptions = {},
  carrier: PolicyInput['downstreams'][string] = {},
  more: Partial<PolicyInput> = {},
) {
  const clock = new ManualClock();
  const policy: PolicyInput = { downstreams: { carrier: { hosts: [server.host], ...carrier } }, ...more };
  const dispatcher = createDispatcher(policy, { clock, alertSinks: [], env: {} });
  const events: DispatcherEvent[] = [];
  dispatcher.subscribe((event) => events.push(event));
  const told = (type: string) => events.filter((event) => event.type === type);
  return { clock, dispatcher, events, told, gated: createFetch(dispatcher, options) };
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Real time, for what a server and a manual clock do together. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

describe('what is sent', () => {
  test('its type fits where a fetch is asked for', () => {
    expectTypeOf(createFetch).returns.toMatchTypeOf<typeof fetch>();
  });

  test('a text, a URL, a Request and a Request with an init arrive as they would by fetch, each with a permit', async () => {
    const { gated, told } = rig();
    const post = { method: 'POST', body: 'text', headers: { 'x-a': '1' } };
    await gated(`${server.url}/text`, post);
    await gated(new URL(`${server.url}/url`));
    await gated(new Request(`${server.url}/request`, post));
    await gated(new Request(`${server.url}/both`, post), { method: 'PUT', headers: { 'x-b': '2' } });
    await gated(`${server.url}/init`, new Request('http://elsewhere.example', post));
    expect(
      server.arrived.map(({ method, path, body, headers }) => [method, path, body, headers['x-a'], headers['x-b']]),
    ).toEqual([
      ['POST', '/text', 'text', '1', undefined],
      ['GET', '/url', '', undefined, undefined],
      ['POST', '/request', 'text', '1', undefined],
      ['PUT', '/both', 'text', undefined, '2'],
      ['POST', '/init', 'text', '1', undefined],
    ]);
    expect(told('started')).toHaveLength(5);
  });

  test('the body of a request that waits is not touched; refused, it can be used again', async () => {
    const { gated, clock, dispatcher } = rig();
    dispatcher.pause('carrier', { for: '10s' });
    let pulled = 0;
    const body = new ReadableStream(
      {
        pull(controller) {
          pulled++;
          controller.enqueue(new TextEncoder().encode('text'));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const init = { method: 'POST', body, duplex: 'half' } as const;
    const late = await refusal(gated(server.url, { ...init, penstock: { deadline: clock.wallNow() + 5_000 } }));
    expect([late.code, pulled, body.locked]).toEqual(['DEADLINE_EXCEEDED', 0, false]);
    const request = new Request(server.url, { method: 'POST', body: 'again' });
    expect((await refusal(gated(request, { penstock: { deadline: clock.wallNow() + 5_000 } }))).code).toBe(
      'DEADLINE_EXCEEDED',
    );
    expect(request.bodyUsed).toBe(false);
    const sent = gated(server.url, init);
    await clock.advance(9_999);
    expect([pulled, server.arrived.length]).toEqual([0, 0]);
    await clock.advance(1);
    await sent;
    expect(server.arrived[0]?.body).toBe('text');
  });

  test('the response is the one that base returned, unread, a 429 included', async () => {
    const response = new Response('no', { status: 429, headers: { 'retry-after': '7' } });
    const { gated, clock, told } = rig({ base: async () => response });
    expect(await gated(server.url)).toBe(response);
    expect([response.bodyUsed, told('settled')]).toMatchObject([
      false,
      [{ outcome: 'throttled', retryAfterMs: 7_000 }],
    ]);
    const second = gated(server.url);
    await clock.advance(6_999);
    expect(told('started')).toHaveLength(1);
    await clock.advance(1);
    await second;
  });

  test('what base rejects with, and what is no request over HTTP, goes through', async () => {
    const broken = new TypeError('fetch failed');
    expect(await refusal(rig({ base: () => Promise.reject(broken) }).gated(server.url))).toBe(broken);
    const { gated, told } = rig({ unknownHosts: 'refuse' });
    expect(await (await gated('data:text/plain,hello')).text()).toBe('hello');
    expect(await refusal(gated('/relative'))).toBeInstanceOf(TypeError);
    expect(told('started')).toEqual([]);
  });
});

describe('what is known of a call', () => {
  const OURS = {
    'X-Penstock-Deadline': '30s',
    'x-penstock-priority': 'batch',
    'x-penstock-cost': '2',
    'x-penstock-tool': 'track',
    'x-penstock-run-id': 'job7',
    'x-penstock-account': 'acme',
  };

  test('headers of ours say it, and are not sent', async () => {
    const { gated, told, dispatcher } = rig({}, { quota: '60/minute' });
    await gated(server.url, { headers: { ...OURS, 'x-other': 'stays' } });
    await gated(new Request(server.url, { headers: OURS }));
    expect(told('started')).toMatchObject([1, 2].map(() => ({ priority: 'batch', tool: 'track', runId: 'job7' })));
    expect(server.arrived.map(({ headers }) => Object.keys(headers).filter((name) => name.startsWith('x-')))).toEqual([
      ['x-other'],
      [],
    ]);
    expect(dispatcher.snapshot().downstreams[0]?.accounts).toBe(1);
  });

  test('they are not sent where a request passes no gate either', async () => {
    const { gated } = rig({ lookup: () => false });
    await gated(server.url, { headers: OURS });
    expect(Object.keys(server.arrived[0]?.headers ?? {}).filter((name) => name.startsWith('x-'))).toEqual([]);
  });

  test.each([
    ['30s', 30_000],
    [new Date(new ManualClock().wallNow() + 20_000).toISOString(), 20_000],
    [String(new ManualClock().wallNow() + 10_000), 10_000],
  ])('a deadline of %s', async (deadline, afterMs) => {
    const { gated, clock } = rig({}, { maxConcurrent: 1 });
    server.answers(() => undefined);
    const answer = refusal(gated(server.url, { headers: { 'x-penstock-deadline': deadline } }));
    await until(() => server.arrived.length > 0);
    await clock.advance(afterMs - 1);
    expect(await Promise.race([answer, turn()])).toBe(undefined);
    await clock.advance(1);
    expect(await answer).toMatchObject({ code: 'DEADLINE_EXCEEDED', phase: 'running' });
  });

  test.each([
    ['deadline', 'soon', 'x-penstock-deadline: expected epoch milliseconds, an ISO 8601 instant, or a duration'],
    ['deadline', '30000', 'a duration? use'],
    ['priority', 'high', 'ctx.priority: expected one of interactive, normal, batch'],
    ['cost', 'much', 'x-penstock-cost: expected a whole number'],
    ['deadlin', '30s', 'x-penstock-deadlin: expected deadline'],
    ['zzzzzzz', '30s', 'expected one of deadline, priority, cost, tool, run-id, account'],
  ])('x-penstock-%s: %s', async (name, value, message) => {
    const { gated } = rig();
    const error = await refusal(gated(server.url, { headers: { [`x-penstock-${name}`]: value } }));
    expect([error.code, error.message]).toEqual(['INVALID_CALL', expect.stringContaining(message)]);
    expect(server.arrived).toEqual([]);
  });

  test.each(['tokens=1200', 'tokens=1200, requests=1', '{"tokens":1200}'])('a cost of %s', async (cost) => {
    const { gated, dispatcher } = rig({}, { quota: ['60/minute', '12000 tokens/minute'], defaultCost: { tokens: 1 } });
    const left = () => dispatcher.snapshot().downstreams[0]?.quotas.map(({ permits }) => permits) ?? [];
    const before = left();
    await gated(server.url, { headers: { 'x-penstock-cost': cost } });
    expect(left().map((permits, i) => (before[i] ?? 0) - permits)).toEqual([1, 1_200]);
  });

  test('the option context, then headers, then init.penstock; the earliest deadline counts', async () => {
    const context = (url: URL) => ({ tool: url.pathname, runId: 'of the option', deadline: Date.UTC(2027, 0) });
    const { gated, told, clock } = rig({ context });
    const init = { headers: { 'x-penstock-run-id': 'of the header' }, penstock: { priority: 'batch' } } as const;
    await gated(`${server.url}/a`, init);
    await gated(`${server.url}/b`, { ...init, penstock: { runId: 'of the init' } });
    expect(told('started')).toMatchObject([
      { tool: '/a', runId: 'of the header', priority: 'batch' },
      { tool: '/b', runId: 'of the init' },
    ]);
    const past = { headers: { 'x-penstock-deadline': '1d' }, penstock: { deadline: clock.wallNow() - 1 } };
    expect((await refusal(gated(server.url, past))).phase).toBe('entry');
  });

  test.each([
    ['a promise', async () => ({ tool: 'track' })],
    ['"track"', () => 'track'],
  ])('an option context that returns %s', async (found, context) => {
    const { gated, events } = rig({ context: context as never });
    const error = await refusal(gated(server.url));
    const message = `carrier: context: expected a function that returns a context, found one that returns ${found}`;
    expect([error.code, error.message, events]).toEqual(['INVALID_CALL', message, []]);
  });

  test('a dispatcher with a context of its own', async () => {
    const { dispatcher, told } = rig();
    await createFetch(dispatcher.with({ tool: 'track', runId: 'job7' }))(server.url, { penstock: { tool: 'other' } });
    expect(told('started')).toMatchObject([{ tool: 'other', runId: 'job7' }]);
  });
});

describe('signals', () => {
  test('while it waits: rejects with its reason; nothing is sent', async () => {
    const { gated, dispatcher, told } = rig();
    dispatcher.pause('carrier', { for: '10s' });
    const abort = new AbortController();
    const reason = new Error('enough');
    const waits = [
      gated(server.url, { signal: abort.signal }),
      gated(new Request(server.url, { signal: abort.signal })),
    ].map(refusal);
    await turn();
    abort.abort(reason);
    expect(await Promise.all(waits)).toEqual([reason, reason]);
    expect((await refusal(gated(server.url, { signal: AbortSignal.abort() }))).name).toBe('AbortError');
    expect([told('aborted').length, server.arrived]).toEqual([3, []]);
  });

  test('while it is under way, and while its body is read although its lease is over', async () => {
    server.answers((_, response) => {
      response.write('a');
    });
    const { gated, told } = rig();
    for (const leaseUntil of ['headers', 'body'] as const) {
      const abort = new AbortController();
      const made = leaseUntil === 'headers' ? gated : rig({ leaseUntil }).gated;
      const response = await made(server.url, { signal: abort.signal, penstock: { deadline: Date.UTC(2027, 0) } });
      const text = refusal(response.text());
      abort.abort(new Error(leaseUntil));
      expect(await text).toMatchObject({ message: leaseUntil });
    }
    expect(told('settled')).toHaveLength(1);
  });

  test('at the deadline the request itself ends', async () => {
    let signal: AbortSignal | undefined;
    const base: FetchOptions['base'] = (_, init) =>
      new Promise((_resolve, reject) => {
        signal = init?.signal ?? undefined;
        signal?.addEventListener('abort', () => reject(signal?.reason));
      });
    const { gated, clock } = rig({ base });
    const answer = refusal(gated(server.url, { penstock: { deadline: clock.wallNow() + 1_000 } }));
    await clock.advance(1_000);
    expect([(await answer).code, signal?.aborted]).toEqual(['DEADLINE_EXCEEDED', true]);
  });
});
