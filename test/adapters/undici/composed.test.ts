import { interceptors, request, setGlobalDispatcher } from 'undici';
import { describe, expect, test } from 'vitest';
import { createFetch } from '../../../src/adapters/fetch.ts';
import { gate } from '../../../src/adapters/undici.ts';
import { Bench, limited, running, until } from './rig.ts';

const bench = new Bench();
const rig: Bench['rig'] = (...options) => bench.rig(...options);

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
    bench.server.answers((request_, response, n) =>
      n === 1 ? limited(request_, response, n) : void response.end('ok'),
    );
    const answer = request(bench.server.url, { dispatcher: composed });
    await until(() => count('queued') === 1);
    expect(bench.server.arrived.length).toBe(1);
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
    bench.server.answers((_, response, n) => {
      response.statusCode = n === 1 ? 500 : 200;
      response.end('ok');
    });
    expect(await (await request(bench.server.url, { dispatcher: composed })).body.text()).toBe('ok');
    expect([bench.server.arrived.length, count('started'), outcomes()]).toEqual([2, 1, ['success']]);
  });

  test('each hop of a redirect that fetch follows takes a permit of the host it goes to', async () => {
    const { gated, count } = rig({}, { maxConcurrent: 1 });
    bench.server.answers((_, response, n) => {
      if (n === 1) response.writeHead(302, { location: `${bench.server.url}/there` });
      response.end('ok');
    });
    setGlobalDispatcher(gated);
    expect(await (await fetch(bench.server.url)).text()).toBe('ok');
    expect(count('started')).toBe(2);
  });

  test('createFetch on top: one permit for one request; a hop under it takes its own, in its place', async () => {
    const { gated, dispatcher, count, outcomes } = rig({}, { maxConcurrent: 1 });
    setGlobalDispatcher(gated);
    const outer = createFetch(dispatcher);
    await outer(bench.server.url);
    expect(count('started')).toBe(1);
    bench.server.answers((_, response, n) => {
      if (n === 1) response.writeHead(302, { location: `${bench.server.url}/there` });
      response.end('ok');
    });
    expect(await (await outer(bench.server.url)).text()).toBe('ok');
    await until(() => count('settled') === 3);
    expect([count('started'), outcomes(), running(dispatcher)]).toEqual([3, ['success', 'success', 'success'], 0]);
    await fetch(bench.server.url);
    expect(count('started')).toBe(4);
  });
});
