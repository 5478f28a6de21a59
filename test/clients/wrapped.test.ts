import axios from 'axios';
import got from 'got';
import nodeFetch from 'node-fetch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jsonBody } from '../../src/index.ts';
import { FAILED, hand, overloaded, SUCCESS, throttled } from './support/lane.ts';
import { type Answer, LocalServer, NOW } from './support/local-server.ts';
import { expectNoSockets } from './support/open-sockets.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await LocalServer.start();
});
afterAll(async () => {
  await server.close();
  await expectNoSockets();
});

const SEVEN: Answer = { status: 429, headers: { 'Retry-After': '7' } };
const byAxios = () => axios.get(server.url, { proxy: false });
const byGot = async () => await got(server.url, { retry: { limit: 0 } });

/** What a tool throws in the place of what its client threw. */
async function instead(call: () => Promise<unknown>, made: (error: unknown) => unknown): Promise<never> {
  try {
    await call();
  } catch (error) {
    throw made(error);
  }
  throw new Error('the client was expected to throw');
}

describe('what a tool makes of it', () => {
  test.each([
    ['axios', byAxios],
    ['got', byGot],
  ])('%s: the cause of an error of its own', async (_, call) => {
    server.answers(SEVEN);
    const wrap = (cause: unknown) => new Error('look-up failed', { cause: new Error('no answer', { cause }) });
    await hand(throttled(7_000), () => instead(call, wrap), { how: 'thrown' });
  });

  test.each([
    ['fetch', () => fetch(server.url)],
    ['node-fetch', () => nodeFetch(server.url)],
  ])('%s: a response that is thrown', async (_, call) => {
    server.answers(SEVEN);
    const refused = async () => {
      throw await call();
    };
    const response = (await hand(throttled(7_000), refused, { how: 'thrown' })) as Response;
    expect(await response.text()).toBe('{"message":"slow down"}');
  });

  test('an error of its own that keeps status and headers', async () => {
    server.answers(SEVEN);
    const check = async () => {
      const response = await fetch(server.url);
      await response.text();
      throw Object.assign(new Error('no'), {
        statusCode: response.status,
        headers: Object.fromEntries(response.headers),
      });
    };
    await hand(throttled(7_000), check, { how: 'thrown' });
  });

  test('the last word of several attempts', async () => {
    server.answers(SEVEN);
    await hand(throttled(7_000), () => Promise.any([byAxios(), byGot()]), { how: 'thrown' });
    server.answers({ status: 500 });
    await hand(FAILED, () => Promise.any([byAxios(), byGot()]), { how: 'thrown' });
  });

  test('a copy as JSON, which has lost the headers', async () => {
    server.answers(SEVEN);
    await hand(throttled(), () => instead(byAxios, (error) => JSON.parse(JSON.stringify(error))), { how: 'thrown' });
  });

  test('words, or a copy that has lost everything, are not read', async () => {
    server.answers(SEVEN);
    await hand(FAILED, () => instead(byAxios, (error) => new Error((error as Error).message)), { how: 'thrown' });
    await hand(FAILED, () => instead(byAxios, String), { how: 'thrown' });
    await hand(SUCCESS, async () => (await fetch(server.url)).text(), { how: 'returned' });
  });

  test('a plain record that it returns is data', async () => {
    server.answers(SEVEN);
    const record = () => byAxios().catch(({ status }) => ({ status }));
    await hand(SUCCESS, record, { how: 'returned', reported: throttled() });
  });

  test('a status that this downstream uses for it', async () => {
    const policy = { throttleStatuses: [429, 403] };
    server.answers({ status: 403, headers: { 'Retry-After': '7' } });
    await hand(throttled(7_000), byAxios, { policy, how: 'thrown' });
    server.answers({ status: 503, headers: { 'Retry-After': '20' } });
    await hand(overloaded(20_000), byAxios, { policy, how: 'thrown' });
  });
});

describe('GraphQL, which answers 200', () => {
  const cost = {
    requestedQueryCost: 752,
    actualQueryCost: null,
    throttleStatus: { maximumAvailable: 1000, currentlyAvailable: 666, restoreRate: 50 },
  };
  const shop = { errors: [{ message: 'Throttled', extensions: { code: 'THROTTLED' } }], extensions: { cost } };
  const hub = { errors: [{ type: 'RATE_LIMITED', message: 'slow down' }] };
  const other = {
    data: null,
    errors: [{ type: 'NOT_FOUND', message: 'slow down', extensions: { code: 'NOT_FOUND' } }],
  };
  const spent = {
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(NOW / 1_000 + 42),
  };
  const post = () => axios.post(server.url, { query: '{ shop }' }, { proxy: false });
  const body = async () => (await fetch(server.url)).json();
  const byName = { policy: { classify: 'graphql' } };

  test('a response with the errors in it', async () => {
    server.answers({ status: 200, body: shop });
    await hand(throttled(1_720), post, { how: 'returned' });
    server.answers({ status: 200, headers: spent, body: hub });
    await hand(throttled(42_000), post, { how: 'returned' });
    server.answers({ status: 200, body: other });
    await hand(SUCCESS, post, { how: 'returned' });
  });

  test('a body by itself, for those who ask for it', async () => {
    server.answers({ status: 200, body: shop });
    // Whoever reports it knows that it is a refusal.
    await hand(SUCCESS, body, { how: 'returned', reported: throttled(1_720) });
    await hand(throttled(1_720), body, { ...byName, how: 'returned' });
    server.answers({ status: 200, body: hub });
    await hand(throttled(), body, { ...byName, how: 'returned' });
    server.answers({ status: 200, body: other });
    await hand(SUCCESS, body, { ...byName, how: 'returned' });
  });

  test('an HTTP error is read as ever by those who ask for it', async () => {
    server.answers(SEVEN);
    await hand(throttled(7_000), post, { ...byName, how: 'thrown' });
  });
});

describe('a body that only its user can read', () => {
  const spent = { status: 'OVER_QUERY_LIMIT', results: [] };
  const isSpent = (body: unknown) => (body as typeof spent).status === 'OVER_QUERY_LIMIT';
  const options = { classify: { api: jsonBody(isSpent) } };
  const body = async () => (await fetch(server.url)).json();

  test('by itself', async () => {
    server.answers({ status: 200, body: spent });
    await hand(SUCCESS, body, { how: 'returned' });
    await hand(throttled(), body, { options, how: 'returned' });
    server.answers({ status: 200, body: { status: 'OK' } });
    await hand(SUCCESS, body, { options, how: 'returned' });
  });

  test('in a response, with a wait in its headers', async () => {
    server.answers({ status: 200, headers: { 'Retry-After': '7' }, body: spent });
    await hand(throttled(7_000), byAxios, { options, how: 'returned' });
  });

  test('in an error', async () => {
    server.answers({ status: 400, headers: { 'Retry-After': '7' }, body: spent });
    await hand(throttled(7_000), byAxios, { options, how: 'thrown' });
    server.answers({ status: 400, body: { status: 'INVALID_REQUEST' } });
    await hand(FAILED, byAxios, { options, how: 'thrown' });
  });
});
