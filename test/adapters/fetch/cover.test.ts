import { Agent, type Dispatcher as UndiciDispatcher, fetch as undiciFetch } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { createFetch } from '../../../src/adapters/fetch.ts';
import { gate } from '../../../src/adapters/undici.ts';
import { createDispatcher, type DownstreamPolicyInput } from '../../../src/index.ts';
import { TestServer } from '../support/server.ts';

const open: { close: () => unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

type Send = (url: string) => Promise<{ readonly status: number; readonly text: () => Promise<string> }>;

/** A server that answers what `statuses` say, then 200; and each way to a gated request. */
async function rig(kind: string, policy: DownstreamPolicyInput = {}, statuses: number[] = []) {
  const server = await TestServer.start((_, response) => {
    response.writeHead(statuses.shift() ?? 200, { 'retry-after': '7' });
    response.end('answer');
  });
  const options = { alertSinks: [], env: {}, onAlert: () => undefined };
  const dispatcher = createDispatcher(
    { downstreams: { api: { hosts: [server.host], ...policy }, other: {} } },
    options,
  );
  let send: Send = createFetch(dispatcher);
  if (kind === 'undici') {
    const agent = new Agent().compose(gate(dispatcher)) as UndiciDispatcher;
    open.push({ close: () => agent.destroy() });
    send = (url) => undiciFetch(url, { dispatcher: agent }) as unknown as ReturnType<Send>;
  }
  open.push(server, dispatcher);
  const seen = () => dispatcher.snapshot().downstreams[0]!;
  return { server, dispatcher, send, seen };
}

describe.each(['fetch', 'undici'])('a request by %s within a call', (kind) => {
  test('goes under the permit of the call, and those after it take their own in its place', async () => {
    const { server, dispatcher, send, seen } = await rig(kind, { maxConcurrent: 1 });
    const texts = await dispatcher.callDownstream('api', async () => {
      const first = await (await send(server.url)).text();
      return [first, await (await send(server.url)).text()];
    });
    expect(texts).toEqual(['answer', 'answer']);
    expect(seen().totals).toMatchObject({ started: 2 });
    expect(server.arrived).toHaveLength(2);
  });

  test('six of them over two places all come through', async () => {
    const { server, dispatcher, send, seen } = await rig(kind, { maxConcurrent: 2 });
    const calls = Array.from({ length: 6 }, () =>
      dispatcher.callDownstream('api', async () => (await send(server.url)).status),
    );
    expect(await Promise.all(calls)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(seen().totals.started).toBe(6);
  });

  test('a call that has taken three permits may send three', async () => {
    const { server, dispatcher, send, seen } = await rig(kind, { quota: '100/minute', burst: 10 });
    const three = async () => {
      for (let n = 0; n < 3; n++) await (await send(server.url)).text();
    };
    await dispatcher.callDownstream('api', three, { cost: 3 });
    expect(seen().totals.started).toBe(1);
    await dispatcher.callDownstream('api', three);
    expect(seen().totals.started).toBe(4);
  });

  test.each([
    ['returned', async (response: { status: number }) => response, 1],
    ['thrown', async () => Promise.reject(Object.assign(new Error('429'), { status: 429 })), 1],
    ['hidden', async () => 'the tool says nothing of it', 1],
  ])('a 429 that is %s is one throttled call, and holds the lane for its time', async (_, then, times) => {
    const { server, dispatcher, send, seen } = await rig(kind, {}, [429]);
    await dispatcher.callDownstream('api', async () => then(await send(server.url))).catch(() => undefined);
    expect(seen()).toMatchObject({ inARow: 1, holds: [{ cause: 'retry-after' }], totals: { throttled: times } });
    expect(seen().holds[0]!.leftMs).toBeGreaterThan(6_000);
  });

  test("another downstream's call lends nothing, a call around that does", async () => {
    const { server, dispatcher, send, seen } = await rig(kind, { maxConcurrent: 1 });
    await dispatcher.callDownstream('other', async () => send(server.url));
    expect(seen().totals.started).toBe(1);
    const { callDownstream } = dispatcher;
    await callDownstream('api', () => callDownstream('other', async () => send(server.url)));
    expect(seen().totals.started).toBe(2);
  });

  test('what a call leaves behind takes permits of its own', async () => {
    const { server, dispatcher, send, seen } = await rig(kind);
    let late: Promise<unknown> | undefined;
    let go = (): void => undefined;
    await dispatcher.callDownstream('api', () => {
      late = new Promise<void>((resolve) => (go = resolve)).then(() => send(server.url));
    });
    go();
    await late;
    expect(seen().totals.started).toBe(2);
  });

  test('sync results, errors and a lane that only observes are what they are without', async () => {
    const { server, dispatcher, send, seen } = await rig(kind, { mode: 'observe' });
    expect(await dispatcher.callDownstream('api', () => 7)).toBe(7);
    const error = new Error('mine');
    await expect(
      dispatcher.callDownstream('api', () => {
        throw error;
      }),
    ).rejects.toBe(error);
    expect(await dispatcher.callDownstream('api', async () => (await send(server.url)).status)).toBe(200);
    expect(seen().totals.started).toBe(3);
  });
});

describe('a policy without hosts', () => {
  const rigged = () => createDispatcher({ downstreams: { api: {} } }, { alertSinks: [], env: {} });

  test.each([
    ['createFetch', (options: object) => createFetch(rigged(), options)],
    ['gate', (options: object) => gate(rigged(), options)],
  ])('%s would gate nothing, and says so, unless something else says what is meant', (name, make) => {
    expect(() => make({})).toThrow(`${name}: no downstream has hosts, so no request would pass a gate. Write hosts:`);
    expect(() => make({ unknownHosts: 'pass' })).not.toThrow();
    expect(() => make({ lookup: () => 'api' })).not.toThrow();
  });
});
