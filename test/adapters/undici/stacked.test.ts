import { interceptors, setGlobalDispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import { createFetch } from '../../../src/adapters/fetch.ts';
import { gate } from '../../../src/adapters/undici.ts';
import { Bench, limited, refusal, running, until } from './rig.ts';

const bench = new Bench();

describe('a gated fetch above another', () => {
  test('one permit, one place: it does not wait for itself', async () => {
    const { dispatcher, count } = bench.rig({}, { maxConcurrent: 1 });
    const gated = createFetch(dispatcher, { base: createFetch(dispatcher), leaseUntil: 'body' });
    expect(await (await gated(bench.server.url)).text()).toBe('ok');
    await until(() => running(dispatcher) === 0);
    expect(count('started')).toBe(1);
  });

  test('with a third gate at the bottom too', async () => {
    const { dispatcher, gated: agent, count, outcomes } = bench.rig({}, { maxConcurrent: 1 });
    setGlobalDispatcher(agent);
    const gated = createFetch(dispatcher, { base: createFetch(dispatcher) });
    expect((await gated(bench.server.url)).status).toBe(200);
    bench.server.answers(limited);
    expect((await gated(bench.server.url)).status).toBe(429);
    expect([count('started'), outcomes(), count('alert')]).toEqual([2, ['success', 'throttled'], 1]);
  });

  test('what tries again between them waits for the time of the service, in its place, and no longer than it wants', async () => {
    const { dispatcher, clock, count } = bench.rig({}, { maxConcurrent: 1 });
    bench.server.answers((of, response, n) => (n === 2 ? void response.end('ok') : limited(of, response, n)));
    const inner = createFetch(dispatcher);
    const abort = new AbortController();
    const gated = createFetch(dispatcher, {
      base: async (url) => {
        const { status } = await inner(url);
        return status === 429 ? inner(url, { signal: abort.signal }) : inner(url);
      },
    });
    const answer = gated(bench.server.url);
    await until(() => count('queued') === 1);
    expect(bench.server.arrived.length).toBe(1);
    await clock.advance(7_100);
    expect((await answer).status).toBe(200);
    expect([count('started'), bench.server.arrived.length, running(dispatcher)]).toEqual([2, 2, 0]);
    await clock.advance(120_000);
    const left = refusal(gated(bench.server.url));
    await until(() => count('queued') === 2);
    const reason = new Error('enough');
    abort.abort(reason);
    expect([await left, bench.server.arrived.length]).toEqual([reason, 3]);
  });
});

describe('a gated fetch above a gate', () => {
  test('an answer at the end of a redirect is learned once', async () => {
    const { dispatcher, gated, count, outcomes } = bench.rig({}, { maxConcurrent: 1 });
    setGlobalDispatcher(gated);
    bench.server.answers((of, response, n) => {
      if (n > 1) return limited(of, response, n);
      response.writeHead(302, { location: '/there' });
      response.end();
    });
    expect((await createFetch(dispatcher)(bench.server.url)).status).toBe(429);
    expect([count('started'), outcomes(), count('alert')]).toEqual([2, ['throttled', 'throttled'], 1]);
    expect(dispatcher.snapshot().downstreams[0]?.totals.throttled).toBe(1);
  });

  test('the call ends with its own answer, not with one that was tried again', async () => {
    const { dispatcher, agent, outcomes } = bench.rig({}, { maxConcurrent: 1 });
    const when = { maxRetries: 3, minTimeout: 1, maxTimeout: 1, statusCodes: [500], methods: ['GET' as const] };
    setGlobalDispatcher(agent.compose(gate(dispatcher), interceptors.retry(when)));
    bench.server.answers((_, response, n) => {
      response.statusCode = n < 4 ? 500 : 200;
      response.end('ok');
    });
    const response = await createFetch(dispatcher)(bench.server.url);
    expect([response.status, outcomes()]).toEqual([200, ['failed', 'failed', 'success', 'success']]);
  });

  test('a hop to another host takes a permit of the lane of that host', async () => {
    const lanes = { unknownHosts: 'lane-per-host' } as const;
    const { dispatcher, gated } = bench.rig(lanes, { hosts: ['elsewhere.example'] });
    setGlobalDispatcher(gated);
    bench.server.answers((_, response, n) => {
      if (n === 1) response.writeHead(302, { location: bench.server.url.replace('127.0.0.1', 'localhost') });
      response.end('ok');
    });
    const { host } = bench.server;
    expect((await createFetch(dispatcher, lanes)(`http://${host}/`)).status).toBe(200);
    const hosts = dispatcher.snapshot().downstreams.find(({ downstream }) => downstream === 'hosts');
    expect([hosts?.accounts, hosts?.totals.started]).toEqual([2, 2]);
  });
});
