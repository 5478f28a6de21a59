import { AsyncResource } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, interceptors, request } from 'undici';
import { describe, expect, test } from 'vitest';
import { whose } from '../../../src/adapters/guard/late.ts';
import { current } from '../../../src/adapters/guard/scope.ts';
import { later, serving, watching } from './support.ts';

describe('whose a request is', () => {
  test('its handler knows, whichever copy of undici it comes from', () => {
    for (const copy of [Symbol('handler'), Symbol('handler')]) {
      const seen: string[] = [];
      const resource = new AsyncResource('A');
      const handler = {
        runInAsyncScope: (fn: () => unknown) => {
          seen.push(copy.toString());
          return resource.runInAsyncScope(fn);
        },
      };
      expect(whose({ [copy]: handler })).toEqual({ kind: 'known', held: undefined });
      expect(seen).toHaveLength(1);
    }
  });

  test.each<[string, string]>([
    ['onDrain', 'queued'],
    ['RetryHandler', 'retry'],
    ['RedirectHandler', 'redirect'],
    ['fetching', 'known'],
    ['somebody', 'known'],
  ])('without one the stack says it: %s', (name, kind) => {
    const at = { [name]: () => whose({}) };
    expect(at[name]?.().kind).toBe(kind);
  });

  test('a fetch that somebody begins when an answer comes is not one that was queued', () => {
    const outer = { onDrain: () => inner.fetching() };
    const inner = { fetching: () => whose({}) };
    expect(outer.onDrain().kind).toBe('known');
  });

  test('what others do with stacks stays as it is', () => {
    const { stackTraceLimit } = Error;
    const prepare = Error.prepareStackTrace;
    Error.prepareStackTrace = (_error, sites) => sites;
    try {
      expect(whose({}).kind).toBe('known');
    } finally {
      Error.prepareStackTrace = prepare;
    }
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  });
});

test('messages that nobody can read end nothing', () => {
  const { watch } = watching({ any: { unlimited: true, hosts: ['*'] } });
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error('no');
      },
    },
  );
  for (const name of [
    'undici:request:create',
    'undici:request:headers',
    'http.client.request.start',
    'http.client.response.finish',
  ]) {
    for (const message of [undefined, null, {}, { request: null }, { request: hostile, response: hostile }]) {
      expect(() => channel(name).publish(message)).not.toThrow();
    }
  }
  expect(watch.inventory()).toMatchObject({ claimed: [], unclaimed: [] });
});

test('names that an interceptor of undici resolves are still those of the policy', async () => {
  const { host, url } = await serving();
  const name = host.replace('127.0.0.1', 'localhost');
  const agent = new Agent().compose(interceptors.dns({ affinity: 4 }));
  later(() => agent.close());
  const { dispatcher, watch } = watching({ carrier: { unlimited: true, hosts: [name] } });
  const ask = async (): Promise<string> =>
    (await request(url.replace('127.0.0.1', 'localhost'), { dispatcher: agent })).body.text();
  await dispatcher.callDownstream('carrier', ask);
  await ask();
  expect(watch.inventory().claimed).toMatchObject([{ host: name, gated: 1, ungated: 1 }]);
});

test('a loop in which every call begins the next keeps none of those before', async () => {
  const { dispatcher } = watching({ carrier: { unlimited: true } });
  let left = 500;
  let longest = 0;
  await new Promise<void>((resolve) => {
    const next = (): void => {
      void dispatcher.callDownstream('carrier', async () => {
        let length = 0;
        for (let held = current(); held !== undefined; held = held.outer) length++;
        longest = Math.max(longest, length);
        await sleep(0);
        if (left-- === 0) resolve();
        else next();
      });
    };
    next();
  });
  expect(longest).toBeLessThan(10);
});
