import { Agent, request as undiciRequest } from 'undici';
import { describe, expect, test } from 'vitest';
import { createFetch } from '../../../src/adapters/fetch.ts';
import { gate } from '../../../src/adapters/undici.ts';
import { later, serving, watching } from './support.ts';

const hosted = async () => {
  const { host, url } = await serving((request, response) => {
    if (request.url === '/moved') response.writeHead(302, { location: '/' });
    response.end('{}');
  });
  return { url, ...watching({ carrier: { unlimited: true, hosts: [host] }, special: { maxConcurrent: 50 } }) };
};

describe('a lane that `lookup` has chosen has taken the permit, whoever claims the host', () => {
  test('through the fetch of penstock/fetch, redirects too', async () => {
    const { url, dispatcher, watch, details } = await hosted();
    const gated = createFetch(dispatcher, { lookup: () => 'special' });
    await Promise.all([gated(url), gated(`${url}/moved`), gated(url)]);
    expect(details('ungated-request')).toEqual([]);
    expect(details('hidden-retries')).toEqual([]);
    expect(watch.inventory().claimed).toMatchObject([{ requests: 4, gated: 4, ungated: 0 }]);
    await fetch(url);
    expect(details('ungated-request')).toHaveLength(1);
  });

  test('what its base sends besides has none', async () => {
    const { url, dispatcher, details } = await hosted();
    const twice = createFetch(dispatcher, {
      lookup: () => 'special',
      base: () => fetch(url).then(() => fetch(url)),
    });
    await twice(url);
    expect(details('ungated-request')).toHaveLength(1);
    const own = createFetch(dispatcher, { lookup: () => 'carrier', base: () => fetch(url).then(() => fetch(url)) });
    await own(url);
    expect(details('hidden-retries')).toHaveLength(1);
  });

  test('through the gate of penstock/undici, in a limited pool too', async () => {
    const { url, dispatcher, watch, details } = await hosted();
    const agent = new Agent({ connections: 1 }).compose(gate(dispatcher, { lookup: () => 'special' }));
    later(() => agent.close());
    const send = async () => (await undiciRequest(url, { dispatcher: agent })).body.text();
    await Promise.all([1, 2, 3, 4, 5].map(send));
    expect(details('ungated-request')).toEqual([]);
    expect(watch.inventory().claimed).toMatchObject([{ requests: 5, ungated: 0, retries: 0 }]);
  });
});

test('what `lookup` lets pass without a gate is counted as allowed', async () => {
  const { url, dispatcher, watch, details } = await hosted();
  await createFetch(dispatcher, { lookup: () => false })(url);
  const agent = new Agent().compose(gate(dispatcher, { lookup: () => false }));
  later(() => agent.close());
  await (await undiciRequest(url, { dispatcher: agent })).body.text();
  expect(details('ungated-request')).toEqual([]);
  expect(watch.inventory().claimed).toMatchObject([{ requests: 2, allowed: 2, gated: 0, ungated: 0 }]);
});
