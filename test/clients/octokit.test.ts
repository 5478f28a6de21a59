import { request } from '@octokit/request';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROWS, SUCCESSES } from './support/answers.ts';
import { FAILED, hand, type Reading, SUCCESS, throttled } from './support/lane.ts';
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

const DOCS = 'https://docs.github.com/rest';

/** The rate headers that ride on every answer. */
function counters(remaining: number): Record<string, string> {
  return {
    'x-ratelimit-limit': '5000',
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-used': String(5_000 - remaining),
    'x-ratelimit-reset': String(NOW / 1_000 + 42),
    'x-ratelimit-resource': 'core',
  };
}

async function expectRead(answer: Answer, reading: Reading): Promise<void> {
  server.answers(answer);
  const get = () => request('GET /repos/{owner}/{repo}', { owner: 'a', repo: 'b', baseUrl: server.url });
  await hand(reading, get, { how: answer.status < 300 ? 'returned' : 'thrown' });
  expect(server.requests).toBe(1);
}

describe('@octokit/request', () => {
  test.each(ROWS.map((row) => [row.name, row] as const))('%s', async (_, { answer, reading }) => {
    await expectRead({ ...answer, body: { message: 'slow down', documentation_url: DOCS } }, reading);
  });

  test.each(SUCCESSES)('$name', ({ answer }) => expectRead(answer, SUCCESS));

  test.each([403, 429])('%i, the primary limit: none left', async (status) => {
    const body = { message: 'API rate limit exceeded for user ID 1.', documentation_url: DOCS };
    await expectRead({ status, headers: counters(0), body }, throttled(42_000));
  });

  test.each([403, 429])('%i, a secondary limit: the wait is named, the primary one is not spent', async (status) => {
    const body = { message: 'You have exceeded a secondary rate limit.', documentation_url: DOCS };
    await expectRead({ status, headers: { 'retry-after': '60', ...counters(4_987) }, body }, throttled(60_000));
  });

  test('403, a secondary limit while the primary one is spent too: the wait that is named', async () => {
    const body = { message: 'You have exceeded a secondary rate limit.', documentation_url: DOCS };
    await expectRead({ status: 403, headers: { 'retry-after': '60', ...counters(0) }, body }, throttled(60_000));
  });

  test.each([
    ['403 with quota left', 403, 4_987, 'Resource not accessible by integration'],
    ['404 with none left', 404, 0, 'Not Found'],
    ['422 with none left', 422, 0, 'Validation Failed'],
    ['304', 304, 4_987, ''],
  ])('%s is no limit', async (_, status, remaining, text) => {
    const body = status === 304 ? '' : { message: text, documentation_url: DOCS };
    await expectRead({ status, headers: counters(remaining), body }, FAILED);
  });
});
