import { AsyncLocalStorage } from 'node:async_hooks';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, Agent as UndiciAgent, request as undiciRequest } from 'undici';
import { describe, expect, test } from 'vitest';
import { watchUngated } from '../../../src/adapters/guard.ts';
import { createDispatcher } from '../../../src/index.ts';
import { CLIENTS, later, serving, watching } from './support.ts';

describe.each(CLIENTS)('%s', (_, request) => {
  test('within a call of the downstream nothing is told, outside any it is, once as an alert', async () => {
    const { host, url } = await serving();
    const { dispatcher, watch, alerts, details } = watching({ carrier: { unlimited: true, hosts: [host] } });
    await dispatcher.callDownstream('carrier', () => request(url));
    expect(details('ungated-request')).toEqual([]);
    await request(`${url}/v1/secret?key=abc`);
    await request(url);
    expect(details('ungated-request')).toEqual([
      `GET ${host}: made outside any call of carrier.`,
      `GET ${host}: made outside any call of carrier.`,
    ]);
    expect(details('hidden-retries')).toEqual([]);
    expect(alerts.map(({ name, severity, downstream }) => ({ name, severity, downstream }))).toEqual([
      { name: 'UngatedRequest', severity: 'warning', downstream: 'carrier' },
    ]);
    expect(JSON.stringify([alerts, watch.inventory()])).not.toContain('secret');
    expect(watch.inventory()).toMatchObject({
      claimed: [{ host, downstream: 'carrier', requests: 3, gated: 1, ungated: 2, retries: 0, unattributed: 0 }],
      unclaimed: [],
    });
  });

  test("within another downstream's call it has passed no gate of its own", async () => {
    const { host, url } = await serving();
    const { dispatcher, details } = watching({ carrier: { unlimited: true, hosts: [host] }, sms: { unlimited: true } });
    await dispatcher.callDownstream('sms', () => request(url));
    expect(details('ungated-request')).toHaveLength(1);
    await dispatcher.callDownstream('carrier', () => dispatcher.callDownstream('sms', () => request(url)));
    expect(details('ungated-request')).toHaveLength(1);
  });

  test('after its call has ended', async () => {
    const { host, url } = await serving();
    const { dispatcher, details } = watching({ carrier: { unlimited: true, hosts: [host] } });
    let late: Promise<unknown> | undefined;
    await dispatcher.callDownstream('carrier', () => {
      late = sleep(5).then(() => request(url));
    });
    await late;
    expect(details('ungated-request')).toEqual([
      `GET ${host}: made after the call of carrier that began it had ended.`,
    ]);
  });

  test('five calls at once over one connection each have their own', async () => {
    const { host, url } = await serving((_request, response) => void setTimeout(() => response.end('{}'), 2));
    const { dispatcher, watch } = watching({ carrier: { maxConcurrent: 5, hosts: [host] } });
    await Promise.all([1, 2, 3, 4, 5].map(() => dispatcher.callDownstream('carrier', () => request(url))));
    expect(watch.inventory().claimed).toMatchObject([{ gated: 5, ungated: 0, retries: 0 }]);
  });
});

test('every way in which a call runs is a call', async () => {
  const { host, url } = await serving();
  const { clock, dispatcher, watch, details } = watching({
    carrier: { quota: '60/minute', burst: 1, hosts: [host] },
    seen: { quota: '60/minute', mode: 'observe', hosts: [`${host.replace('127.0.0.1', 'localhost')}`] },
  });
  const request = async (): Promise<string> => (await fetch(url)).text();
  // At once, waited, wrapped, with an account, through `with`, nested.
  await dispatcher.callDownstream('carrier', request);
  const waited = dispatcher.callDownstream('carrier', request, { signal: new AbortController().signal });
  await clock.advance(1_250);
  await waited;
  await clock.advance(1_250);
  await dispatcher.wrap('carrier', request)();
  await dispatcher.callDownstream('carrier', request, { account: 'a', deadline: clock.wallNow() + 60_000 });
  await clock.advance(1_250);
  await dispatcher.with({ runId: 'run' }).callDownstream('carrier', request);
  await clock.advance(1_250);
  const nested = dispatcher.callDownstream('carrier', async (call) => {
    await request();
    const inner = call.run(request);
    await clock.advance(1_250);
    return inner;
  });
  await nested;
  await dispatcher.callDownstream('seen', async () => (await fetch(url.replace('127.0.0.1', 'localhost'))).text());
  dispatcher.setMode('off', { downstream: 'carrier' });
  await dispatcher.callDownstream('carrier', async (call) => {
    await request();
    await call.run(request);
  });
  expect([...details('ungated-request'), ...details('hidden-retries')]).toEqual([]);
  expect(watch.inventory().claimed.map(({ gated, requests }) => [gated, requests])).toEqual([
    [9, 9],
    [1, 1],
  ]);
});

test('what holds an acquired lease has made the request', async () => {
  const { host, url } = await serving();
  const { dispatcher, watch, details } = watching({ carrier: { maxConcurrent: 2, hosts: [host] } });
  const lease = await dispatcher.acquire('carrier');
  await (await fetch(url)).text();
  await (await fetch(url)).text();
  // Within a call an interceptor acquires one more for every attempt: those are no hidden retries.
  await dispatcher.callDownstream('carrier', async () => {
    for (let i = 0; i < 3; i++) await (await fetch(url)).text();
  });
  lease.release();
  expect([...details('ungated-request'), ...details('hidden-retries')]).toEqual([]);
  await (await fetch(url)).text();
  expect(details('ungated-request')).toHaveLength(1);
  expect(watch.inventory().claimed).toMatchObject([{ gated: 5, ungated: 1 }]);
});

test("the caller's own async context is what it was, before, within and after a call", async () => {
  const { dispatcher } = watching({ carrier: { unlimited: true } });
  const own = new AsyncLocalStorage<string>();
  const seen = await own.run('mine', async () => {
    const within = await dispatcher.callDownstream('carrier', async () => {
      await sleep(1);
      return own.getStore();
    });
    return [within, own.getStore()];
  });
  expect(seen).toEqual(['mine', 'mine']);
});

test('what fn throws, returns and is given stays as it is', async () => {
  const { dispatcher } = watching({ carrier: { unlimited: true } });
  const error = new Error('no');
  await expect(dispatcher.callDownstream('carrier', () => Promise.reject(error))).rejects.toBe(error);
  const thrown = dispatcher.callDownstream('carrier', () => {
    throw error;
  });
  await expect(thrown).rejects.toBe(error);
  expect(await dispatcher.callDownstream('carrier', (call) => typeof call.waitedMs)).toBe('number');
});

describe('connections that are few', () => {
  test('node:http with one socket', async () => {
    const { host, url } = await serving((_request, response) => void setTimeout(() => response.end(), 2));
    const { dispatcher, watch } = watching({ carrier: { unlimited: true, hosts: [host] } });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    later(() => agent.destroy());
    const request = (): Promise<unknown> =>
      new Promise((resolve, reject) => {
        get(url, { agent }, (response) => response.resume().on('end', resolve)).on('error', reject);
      });
    const gated = [1, 2, 3].map(() => dispatcher.callDownstream('carrier', request));
    await Promise.all([request(), ...gated, request()]);
    expect(watch.inventory().claimed).toMatchObject([{ gated: 3, ungated: 2, retries: 0, unattributed: 0 }]);
  });

  test('a limited pool of undici: what waits in it is still whose it was', async () => {
    const { host, url } = await serving((_request, response) => void setTimeout(() => response.end(), 2));
    const { dispatcher, watch } = watching({ carrier: { unlimited: true, hosts: [host] } });
    const pool = new Pool(url, { connections: 1 });
    later(() => pool.destroy());
    const request = async (): Promise<string> => (await pool.request({ path: '/', method: 'GET' })).body.text();
    const call = (): Promise<string> => dispatcher.callDownstream('carrier', request);
    await Promise.all([call(), call(), request(), call(), request()]);
    expect(watch.inventory().claimed).toMatchObject([{ gated: 3, ungated: 2, retries: 0, unattributed: 0 }]);
  });

  test('a fetch that waits in one is not told of as anybody else’s', async () => {
    const { host, url } = await serving((_request, response) => void setTimeout(() => response.end(), 2));
    const { dispatcher, watch, details } = watching({ carrier: { unlimited: true, hosts: [host] } });
    const agent = new UndiciAgent({ connections: 2 });
    later(() => agent.destroy());
    const request = async (): Promise<string> =>
      (await fetch(url, { dispatcher: agent } as unknown as RequestInit)).text();
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => dispatcher.callDownstream('carrier', request)));
    expect([...details('ungated-request'), ...details('hidden-retries')]).toEqual([]);
    // Without a call that it could belong to there is no doubt.
    await Promise.all([1, 2, 3, 4].map(request));
    expect(details('ungated-request')).toHaveLength(4);
    expect(watch.inventory().claimed).toMatchObject([{ requests: 10, ungated: 4 }]);
  });
});

test('five hundred calls at once, gated and not, over two downstreams and every client', async () => {
  const one = await serving((_request, response) => void setTimeout(() => response.end('{}'), 1));
  const two = await serving((_request, response) => void setTimeout(() => response.end('{}'), 1));
  const { dispatcher, watch, details } = watching({
    one: { unlimited: true, hosts: [one.host] },
    two: { maxConcurrent: 20, hosts: [two.host] },
  });
  const wrong = { one: 0, two: 0 };
  await Promise.all(
    Array.from({ length: 500 }, async (_, i) => {
      const name = i % 2 === 0 ? 'one' : 'two';
      const { url } = name === 'one' ? one : two;
      const request = CLIENTS[i % CLIENTS.length]![1];
      const kind = i % 5;
      if (kind < 3) return dispatcher.callDownstream(name, () => request(url));
      wrong[name]++;
      const other = name === 'one' ? 'two' : 'one';
      return kind === 3 ? request(url) : dispatcher.callDownstream(other, () => request(url));
    }),
  );
  const { claimed } = watch.inventory();
  const of = (name: string) => claimed.find(({ downstream }) => downstream === name);
  expect(of('one')).toMatchObject({ requests: 250, gated: 250 - wrong.one, ungated: wrong.one, unattributed: 0 });
  expect(of('two')).toMatchObject({ requests: 250, gated: 250 - wrong.two, ungated: wrong.two, unattributed: 0 });
  expect(details('ungated-request')).toHaveLength(wrong.one + wrong.two);
  expect(details('hidden-retries')).toEqual([]);
});

test('calls that ran before it was watched are not held against it', async () => {
  const { host, url } = await serving();
  const dispatcher = createDispatcher({ downstreams: { carrier: { unlimited: true, hosts: [host] } } }, { env: {} });
  const told: string[] = [];
  dispatcher.subscribe(({ type }) => told.push(type));
  let go = (): void => {};
  const before = dispatcher.callDownstream('carrier', async () => {
    await new Promise<void>((resolve) => (go = resolve));
    return (await fetch(url)).text();
  });
  await sleep(1);
  using watch = watchUngated(dispatcher);
  go();
  await before;
  expect(told).not.toContain('ungated-request');
  await (await fetch(url)).text();
  expect(told).toContain('ungated-request');
  expect(watch.inventory().claimed).toMatchObject([{ ungated: 1, unattributed: 1 }]);
});

test('two dispatchers, each with its own hosts; one ends, the other goes on', async () => {
  const one = await serving();
  const two = await serving();
  const a = watching({ carrier: { unlimited: true, hosts: [one.host] } });
  const b = watching({ carrier: { unlimited: true, hosts: [two.host] } });
  await a.dispatcher.callDownstream('carrier', async () => (await fetch(one.url)).text());
  await b.dispatcher.callDownstream('carrier', async () => (await fetch(two.url)).text());
  // A call of the one is none of the other, though they have the same name.
  await a.dispatcher.callDownstream('carrier', async () => (await fetch(two.url)).text());
  expect([a.details('ungated-request').length, b.details('ungated-request').length]).toEqual([0, 1]);
  a.watch.stop();
  a.watch.stop();
  await (await fetch(one.url)).text();
  await (await fetch(two.url)).text();
  await b.dispatcher.callDownstream('carrier', async () => (await fetch(two.url)).text());
  expect([a.details('ungated-request').length, b.details('ungated-request').length]).toEqual([0, 2]);
});

test('the close of the dispatcher ends it, and another one may begin', async () => {
  const { host, url } = await serving();
  const { dispatcher, watch } = watching({ carrier: { unlimited: true, hosts: [host] } });
  expect(() => watchUngated(dispatcher.with({}))).toThrow('watchUngated: this dispatcher is watched already');
  expect(dispatcher.snapshot().inventory).toMatchObject({ claimed: [], unclaimed: [] });
  await dispatcher.close();
  await (await fetch(url)).text();
  expect(watch.inventory().claimed).toEqual([]);
  expect(dispatcher.snapshot()).not.toHaveProperty('inventory');
});

test('what is meant to pass no gate is counted and not told', async () => {
  const { host, url } = await serving();
  const { dispatcher, watch, alerts, details } = watching({ carrier: { unlimited: true, hosts: [host] } });
  const request = async (): Promise<string> => (await fetch(url)).text();
  expect(await watch.allow(request)).toBe('{}');
  await watch.allow(async () => {
    await sleep(1);
    await Promise.all([request(), dispatcher.callDownstream('carrier', request)]);
  });
  // Within a call of the downstream it is that call's.
  await dispatcher.callDownstream('carrier', () => watch.allow(request));
  expect([...alerts, ...details('ungated-request')]).toEqual([]);
  await request();
  expect(details('ungated-request')).toHaveLength(1);
  expect(watch.inventory().claimed).toMatchObject([{ requests: 5, gated: 2, ungated: 1, allowed: 2 }]);
});

test('the policy may change: a host is claimed, or no more', async () => {
  const { host, url } = await serving();
  const { dispatcher, watch, details } = watching({ carrier: { unlimited: true } });
  await (await fetch(url)).text();
  expect(watch.inventory()).toMatchObject({ claimed: [], unclaimed: [{ host, requests: 1 }] });
  dispatcher.register('carrier', { unlimited: true, hosts: [host] });
  await (await undiciRequest(url)).body.text();
  expect(details('ungated-request')).toHaveLength(1);
  expect(watch.inventory()).toMatchObject({ claimed: [{ host, requests: 2, ungated: 1 }], unclaimed: [] });
  dispatcher.unregister('carrier');
  await (await fetch(url)).text();
  expect(details('ungated-request')).toHaveLength(1);
  expect(watch.inventory()).toMatchObject({ claimed: [], unclaimed: [{ host, requests: 3 }] });
});

test.each<[unknown, unknown, string]>([
  [undefined, undefined, 'dispatcher: expected what createDispatcher returns, found undefined'],
  [{}, undefined, 'dispatcher: expected what createDispatcher returns, found an object'],
  [1, null, 'options: expected an object, found null'],
  [1, { hiddenRetry: false }, 'options.hiddenRetry: unknown option; did you mean hiddenRetries?'],
  [1, { hiddenRetries: 'no' }, 'hiddenRetries: expected true or false, found "no"'],
  [1, { mostHosts: 0 }, 'mostHosts: expected a whole number from 1 to 10000, found 0'],
])('what it is given wrong, before anything is watched: %#', (dispatcher, options, message) => {
  const real = createDispatcher({ downstreams: {} }, { env: {} });
  const given = dispatcher === 1 ? real : dispatcher;
  expect(() => watchUngated(given as never, options as never)).toThrow(`watchUngated: ${message}`);
  expect(real.snapshot()).not.toHaveProperty('inventory');
});
