import Anthropic from '@anthropic-ai/sdk';
import axios from 'axios';
import got from 'got';
import OpenAI from 'openai';
import { Agent, interceptors, RetryAgent, request } from 'undici';
import { describe, expect, test } from 'vitest';
import { type Answering, later, serving, watching } from './support.ts';

/** Refuses as many requests as it is told, then answers. */
function refusing(times: number, status = 503): Answering {
  let left = times;
  return (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.setHeader('retry-after-ms', '1');
    response.statusCode = left-- > 0 ? status : 200;
    response.end('{"id":"x","choices":[],"content":[]}');
  };
}

const redirecting: Answering = (request, response) => {
  if (request.url === '/end') return response.end('{}');
  response.writeHead(302, { location: request.url === '/twice' ? '/once' : '/end' });
  return response.end();
};

const ASK = { model: 'm', messages: [{ role: 'user', content: 'hi' }] } as const;

describe('a client that tries again by itself', () => {
  test('openai with its default retries: told once, with the option that switches them off', async () => {
    const { host, url } = await serving(refusing(2, 429));
    const off = 'new OpenAI({ maxRetries: 0 })';
    const { dispatcher, watch, details } = watching({
      openai: { unlimited: true, hosts: [host], retriesOff: off },
    });
    const client = new OpenAI({ apiKey: 'k', baseURL: url });
    await dispatcher.callDownstream('openai', () => client.chat.completions.create({ ...ASK, messages: [] }));
    expect(details('hidden-retries')).toEqual([
      `A call of openai that took permits for 1 request has sent 2 to ${host}: its client tries again by itself, and no permit is taken for that. Switch its retries off: ${off}. Or it asks for several things in one call, such as pages: then make a call of each, or say how many with \`cost\`.`,
    ]);
    expect(details('ungated-request')).toEqual([]);
    expect(watch.inventory().claimed).toMatchObject([{ requests: 3, gated: 3, retries: 2, retriesOff: off }]);
  });

  test('without its retries nothing is told', async () => {
    const { host, url } = await serving(refusing(1, 429));
    const { dispatcher, details } = watching({ openai: { unlimited: true, hosts: [host] } });
    const client = new OpenAI({ apiKey: 'k', baseURL: url, maxRetries: 0 });
    const call = dispatcher.callDownstream('openai', () => client.chat.completions.create({ ...ASK, messages: [] }));
    await expect(call).rejects.toThrow('429');
    expect(details('hidden-retries')).toEqual([]);
  });

  test.each<[string, (url: string) => PromiseLike<unknown>]>([
    [
      '@anthropic-ai/sdk',
      (url) =>
        new Anthropic({ apiKey: 'k', baseURL: url }).messages.create({
          ...ASK,
          max_tokens: 1,
          messages: [{ role: 'user', content: 'hi' }],
        }),
    ],
    ['got', (url) => got(url, { retry: { limit: 2, backoffLimit: 1 } }).text()],
    [
      'axios with an interceptor',
      (url) => {
        const client = axios.create();
        client.interceptors.response.use(undefined, (error) => client.request(error.config));
        return client.get(url);
      },
    ],
    [
      'the retry interceptor of undici',
      async (url) => {
        const agent = new Agent().compose(interceptors.retry({ minTimeout: 1, maxRetries: 3 }));
        later(() => agent.close());
        return (await request(url, { dispatcher: agent })).body.text();
      },
    ],
    [
      'the RetryAgent of undici',
      async (url) => {
        const agent = new RetryAgent(new Agent(), { minTimeout: 1, maxRetries: 3 });
        later(() => agent.close());
        return (await request(url, { dispatcher: agent })).body.text();
      },
    ],
    [
      'fetch in a loop',
      async (url) => {
        for (;;) {
          const response = await fetch(url);
          await response.text();
          if (response.ok) return;
        }
      },
    ],
  ])('%s', async (_, run) => {
    const { host, url } = await serving(refusing(2));
    const { dispatcher, watch, details } = watching({ carrier: { unlimited: true, hosts: [host] } });
    await dispatcher.callDownstream('carrier', () => run(url));
    expect(details('hidden-retries')).toHaveLength(1);
    expect(details('hidden-retries')[0]).toContain("Switch its retries off: the client's own option for that");
    expect(details('ungated-request')).toEqual([]);
    expect(watch.inventory().claimed).toMatchObject([{ requests: 3, gated: 3, retries: 2 }]);
  });
});

test('once an hour for each downstream', async () => {
  const one = await serving();
  const two = await serving();
  const { clock, dispatcher, details, watch } = watching({
    one: { unlimited: true, hosts: [one.host] },
    two: { unlimited: true, hosts: [two.host] },
  });
  const twice = (name: 'one' | 'two', url: string): Promise<void> =>
    dispatcher.callDownstream(name, async () => {
      for (let i = 0; i < 2; i++) await (await fetch(url)).text();
    });
  for (let i = 0; i < 3; i++) await twice('one', one.url);
  await twice('two', two.url);
  expect(details('hidden-retries')).toHaveLength(2);
  await clock.advance(3_599_000);
  await twice('one', one.url);
  expect(details('hidden-retries')).toHaveLength(2);
  await clock.advance(1_000);
  await twice('one', one.url);
  expect(details('hidden-retries')).toHaveLength(3);
  expect(watch.inventory().claimed.map(({ retries }) => retries)).toEqual([5, 1]);
});

describe('no retries', () => {
  test.each<[string, (url: string) => PromiseLike<unknown>]>([
    ['redirects of fetch', async (url) => (await fetch(`${url}/twice`)).text()],
    ['redirects of axios', (url) => axios.get(`${url}/twice`)],
    ['redirects of got', (url) => got(`${url}/twice`).text()],
    [
      'redirects of an interceptor of undici',
      async (url) => {
        const agent = new Agent().compose(interceptors.redirect({ maxRedirections: 3 }));
        later(() => agent.close());
        return (await request(`${url}/twice`, { dispatcher: agent })).body.text();
      },
    ],
  ])('%s', async (_, run) => {
    const { host, url } = await serving(redirecting);
    const { dispatcher, details, watch } = watching({ carrier: { unlimited: true, hosts: [host] } });
    await Promise.all([1, 2, 3].map(() => dispatcher.callDownstream('carrier', () => run(url))));
    expect([...details('hidden-retries'), ...details('ungated-request')]).toEqual([]);
    expect(watch.inventory().claimed).toMatchObject([{ requests: 9, retries: 0, ungated: 0 }]);
  });

  test('a call that took permits for three', async () => {
    const { host, url } = await serving();
    const { dispatcher, details } = watching({ carrier: { quota: '60/minute', hosts: [host] } });
    const pages = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await (await fetch(url)).text();
    };
    await dispatcher.callDownstream('carrier', () => pages(3), { cost: 3 });
    expect(details('hidden-retries')).toEqual([]);
    await dispatcher.callDownstream('carrier', () => pages(4), { cost: 3 });
    expect(details('hidden-retries')).toHaveLength(1);
    expect(details('hidden-retries')[0]).toContain('took permits for 3 requests has sent 4 to');
  });

  test('nested calls have a permit each', async () => {
    const { host, url } = await serving();
    const { dispatcher, details } = watching({ carrier: { unlimited: true, hosts: [host] } });
    await dispatcher.callDownstream('carrier', async (call) => {
      await (await fetch(url)).text();
      await call.run(async () => (await fetch(url)).text());
      await call.run(async () => (await fetch(url)).text());
      await dispatcher.callDownstream('carrier', async () => (await fetch(url)).text());
    });
    expect(details('hidden-retries')).toEqual([]);
  });

  test('who asked not to hear of them', async () => {
    const { host, url } = await serving();
    const { dispatcher, details, watch } = watching(
      { carrier: { unlimited: true, hosts: [host] } },
      { hiddenRetries: false },
    );
    await dispatcher.callDownstream('carrier', async () => {
      for (let i = 0; i < 2; i++) await (await fetch(url)).text();
    });
    expect(details('hidden-retries')).toEqual([]);
    expect(watch.inventory().claimed).toMatchObject([{ retries: 1 }]);
  });
});
