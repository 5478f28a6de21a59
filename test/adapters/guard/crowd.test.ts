import { Agent, get } from 'node:http';
import { Pool, Agent as UndiciAgent } from 'undici';
import { describe, expect, test } from 'vitest';
import { CLIENTS, later, serving, watching } from './support.ts';

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
