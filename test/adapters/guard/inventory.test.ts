import { once } from 'node:events';
import { createServer, get, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, ProxyAgent, request as undiciRequest } from 'undici';
import { describe, expect, test } from 'vitest';
import { nodeOrigin, readOrigin, undiciOrigin } from '../../../src/adapters/guard/address.ts';
import { Inventory } from '../../../src/adapters/guard/inventory.ts';
import type { DownstreamPlan } from '../../../src/base/plan.ts';
import { later, serving, watching } from './support.ts';

function plansOf(hosts: Record<string, readonly string[]>): ReadonlyMap<string, DownstreamPlan> {
  return new Map(Object.entries(hosts).map(([name, claimed]) => [name, { name, hosts: claimed } as never]));
}

function inventoryOf(hosts: Record<string, readonly string[]>, most = 200) {
  const plans = plansOf(hosts);
  const inventory = new Inventory(() => plans, most, 0);
  const see = (origin: string, at = 1, name?: string): void => {
    const row = inventory.row(origin, name);
    if (row !== undefined) inventory.count(row, at);
  };
  return { inventory, see };
}

describe('addresses', () => {
  test.each<[string, string, string, string]>([
    ['https://API.Example.com', 'api.example.com', 'api.example.com', ''],
    ['https://api.example.com.:443', 'api.example.com', 'api.example.com', ''],
    ['http://api.example.com:8080', 'api.example.com:8080', 'api.example.com', '8080'],
    ['http://[::1]:3000', '[::1]:3000', '[::1]', '3000'],
    ['http://localhost', 'localhost', 'localhost', ''],
    ['https://user:secret@h.test/path?q=1', 'h.test', 'h.test', ''],
  ])('%s', (origin, text, hostname, port) => {
    expect(readOrigin(origin)).toMatchObject({ text, hostname, port });
  });

  test.each(['', 'nonsense', 'http://', 'undefined//undefined'])('%j is none', (origin) => {
    expect(readOrigin(origin)).toBeUndefined();
  });

  test('what goes to a proxy in whole is for the host of its path', () => {
    expect(undiciOrigin({ origin: 'http://proxy:3128', path: 'http://api.test/x?y' })).toBe('http://api.test');
    expect(nodeOrigin({ protocol: 'http:', host: 'proxy', path: 'http://api.test:81/x' })).toBe('http://api.test:81');
    expect(undiciOrigin({ origin: new URL('https://api.test/'), path: '/httpx' })).toBe('https://api.test/');
  });

  test('a host header of its own says nothing about another host', () => {
    const own = { protocol: 'http:', host: '10.0.0.1', getHeader: () => 'virtual.test' };
    expect(nodeOrigin(own)).toBe('http://10.0.0.1');
    const longer = { protocol: 'http:', host: '10.0.0.1', getHeader: () => '10.0.0.1.virtual.test:80' };
    expect(nodeOrigin(longer)).toBe('http://10.0.0.1');
    const ported = { protocol: 'http:', host: '::1', getHeader: () => '[::1]:81' };
    expect(nodeOrigin(ported)).toBe('http://[::1]:81');
  });
});

describe('the list', () => {
  test('claimed apart from unclaimed, with how often and when; the most first', () => {
    const { inventory, see } = inventoryOf({ carrier: ['api.test'] });
    see('https://a.test', 5);
    for (const at of [6, 7]) see('https://b.test', at);
    see('https://api.test', 8);
    see('http://127.0.0.1:8080', 9);
    see('not an origin');
    expect(inventory.read()).toEqual({
      since: 0,
      claimed: [
        {
          host: 'api.test',
          downstream: 'carrier',
          requests: 1,
          gated: 0,
          ungated: 0,
          allowed: 0,
          retries: 0,
          unattributed: 0,
          firstAt: 8,
          lastAt: 8,
        },
      ],
      unclaimed: [
        { host: 'b.test', requests: 2, firstAt: 6, lastAt: 7 },
        { host: '127.0.0.1:8080', requests: 1, firstAt: 9, lastAt: 9 },
        { host: 'a.test', requests: 1, firstAt: 5, lastAt: 5 },
      ],
      others: 0,
    });
  });

  test('ever new hosts fill it and no more; what is claimed has its own room', () => {
    const { inventory, see } = inventoryOf({ carrier: ['*.carrier.test'] }, 3);
    for (let i = 0; i < 5_000; i++) see(`https://h${i}.test`);
    for (let i = 0; i < 5_000; i++) see(`https://h${i}.carrier.test`);
    see('https://h4999.test');
    const { unclaimed, claimed, others } = inventory.read();
    expect(unclaimed.map(({ host }) => host)).toEqual(['h0.test', 'h1.test', 'h2.test']);
    expect(others).toBe(4_998);
    expect(claimed.map(({ host, requests }) => [host, requests])).toEqual([
      ['other hosts', 4_997],
      ['h0.carrier.test', 1],
      ['h1.carrier.test', 1],
      ['h2.carrier.test', 1],
    ]);
  });

  test('a client that resolves names itself sends to an address and names the host', () => {
    const { inventory, see } = inventoryOf({ carrier: ['api.test'] });
    see('https://10.0.0.7', 1, 'api.test');
    see('https://10.0.0.7', 1, 'other.test');
    expect(inventory.read().claimed).toMatchObject([{ host: 'api.test', requests: 1 }]);
    expect(inventory.read().unclaimed).toMatchObject([{ host: '10.0.0.7', requests: 1 }]);
  });
});

test('requests that nobody claims, of every client, are no findings', async () => {
  const { host, url } = await serving();
  const { watch, alerts, details, dispatcher } = watching({ carrier: { unlimited: true, hosts: ['api.test'] } });
  await (await fetch(`${url}/a/secret?b=c`)).text();
  await dispatcher.callDownstream('carrier', async () => (await fetch(url)).text());
  await once(get(url.replace('127.0.0.1', 'localhost')).end(), 'response');
  const { unclaimed, claimed } = watch.inventory();
  expect(claimed).toEqual([]);
  expect(unclaimed.map(({ host: seen, requests }) => [seen, requests])).toEqual([
    [host, 2],
    [host.replace('127.0.0.1', 'localhost'), 1],
  ]);
  expect(unclaimed[0]?.firstAt).toBe(Date.UTC(2026, 0, 1));
  expect([...alerts, ...details('ungated-request')]).toEqual([]);
  expect(JSON.stringify(dispatcher.snapshot())).not.toContain('secret');
});

test('a request that fails to connect was one all the same', async () => {
  const { watch, details } = watching({ carrier: { unlimited: true, hosts: ['127.0.0.1:1'] } });
  await expect(undiciRequest('http://127.0.0.1:1/')).rejects.toThrow();
  expect(details('ungated-request')).toHaveLength(1);
  expect(watch.inventory().claimed).toMatchObject([{ ungated: 1 }]);
});

test('a unix socket has no host', async () => {
  const path = join(tmpdir(), `penstock-watch-${process.pid}.sock`);
  const server = createServer((_, response) => response.end());
  server.listen(path);
  await once(server, 'listening');
  later(() => server.close());
  const { watch } = watching({ any: { unlimited: true, hosts: ['localhost'] } });
  const sent = request({ socketPath: path, path: '/v1/containers', agent: false }).end();
  const [response] = (await once(sent, 'response')) as [{ resume: () => void }];
  response.resume();
  expect(watch.inventory()).toMatchObject({ claimed: [], unclaimed: [{ host: 'unix-socket', requests: 1 }] });
});

test('through a proxy it is still the host that counts', async () => {
  const { host, url } = await serving();
  const proxy = createServer().on('connect', (_request, socket, head) => {
    const { port, hostname } = new URL(url);
    void import('node:net').then(({ connect }) => {
      const through = connect(Number(port), hostname, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        through.write(head);
        through.pipe(socket).pipe(through);
      });
      later(() => through.destroy());
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  later(() => proxy.close());
  const agent = new ProxyAgent({
    uri: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    proxyTunnel: true,
  });
  later(() => agent.destroy());
  const { dispatcher, watch, details } = watching({ carrier: { unlimited: true, hosts: [host] } });
  const ask = async (): Promise<string> => (await undiciRequest(url, { dispatcher: agent })).body.text();
  await dispatcher.callDownstream('carrier', ask);
  expect(details('ungated-request')).toEqual([]);
  await ask();
  expect(details('ungated-request')).toHaveLength(1);
  expect(watch.inventory().claimed).toMatchObject([{ host, gated: 1, ungated: 1, retries: 0 }]);
});

test('an agent of undici with an origin of its own', async () => {
  const { host, url } = await serving();
  const agent = new Agent();
  later(() => agent.destroy());
  const { watch } = watching({ carrier: { unlimited: true, hosts: [host] } });
  await agent.request({ origin: new URL(url), path: '/', method: 'POST', body: '{}' }).then(({ body }) => body.dump());
  expect(watch.inventory().claimed).toMatchObject([{ host, ungated: 1 }]);
});
