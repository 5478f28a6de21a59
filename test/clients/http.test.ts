import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { judge } from '../feedback/judges.ts';
import { ROWS, SUCCESSES } from './support/answers.ts';
import { closeAgents, HTTP_CLIENTS, type HttpClient, howOf } from './support/http-clients.ts';
import { FAILED, hand, type Reading, SUCCESS, throttled } from './support/lane.ts';
import { type Answer, LocalServer } from './support/local-server.ts';
import { expectNoSockets } from './support/open-sockets.ts';

let server: LocalServer;
beforeAll(async () => {
  server = await LocalServer.start();
});
afterAll(async () => {
  await closeAgents();
  await server.close();
  await expectNoSockets();
});

/** One request, read as it must be, its body left to the caller. */
async function expectRead(client: HttpClient, answer: Answer, reading: Reading): Promise<void> {
  server.answers(answer);
  const outcome = await hand(reading, () => client.call(server.url), { how: howOf(client, answer.status) });
  expect(server.requests).toBe(1);
  if (client.read !== undefined) expect(await client.read(outcome as never)).toBe('{"message":"slow down"}');
}

/** A response that a client returns below 500 is an answer: only the caller knows whether it is a failure. */
function readingOf(client: HttpClient, { status }: Answer, reading: Reading): Reading {
  return reading === FAILED && status < 500 && howOf(client, status) === 'returned' ? SUCCESS : reading;
}

describe.each(HTTP_CLIENTS.map((client) => [client.name, client] as const))('%s', (_, client) => {
  test.each(ROWS.map((row) => [row.name, row] as const))('%s', async (_name, { answer, reading }) => {
    await expectRead(client, answer, readingOf(client, answer, reading));
  });

  test.each(SUCCESSES)('$name', async ({ answer }) => {
    await expectRead(client, answer, SUCCESS);
  });

  test('what a success says of its quota is read, from a response of any kind', async () => {
    server.answers(SUCCESSES[0]!.answer);
    const outcome = await client.call(server.url);
    const { quotas } = judge(outcome, false);
    await client.read?.(outcome as never);
    expect(quotas).toMatchObject([{ limit: 60, remaining: 0, resetMs: 42_000 }]);
  });
});

// Node's own parser keeps the first of two lines of this header; these clients have parsers of their own.
test.each(['fetch', 'undici.fetch', 'undici.request', 'undici with responseError'])(
  '%s: of two waits the longer',
  async (name) => {
    const client = HTTP_CLIENTS.find((one) => one.name === name)!;
    await expectRead(client, { status: 429, headers: { 'Retry-After': ['7', '9'] } }, throttled(9_000));
  },
);
