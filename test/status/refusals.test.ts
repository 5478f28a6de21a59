import { afterEach, expect, test } from 'vitest';
import { type StatusOptions, serveStatus } from '../../src/status.ts';
import { ask, closeAll, dispatcher, serve } from './support/client.ts';

afterEach(closeAll);

test('one dispatcher whose snapshot fails hides none of the others', async () => {
  const broken = {
    snapshot: (): never => {
      throw new Error('MARKED');
    },
  };
  const server = await serve({ good: dispatcher(), broken }, {});
  const { status, body } = await ask(`${server.url}/snapshot`);
  expect(status).toBe(200);
  expect(body).not.toContain('MARKED');
  const { dispatchers, failed } = JSON.parse(body) as { dispatchers: { name: string }[]; failed: string[] };
  expect([dispatchers.map(({ name }) => name), failed]).toEqual([['good'], ['broken']]);
});

test.each<[object, string]>([
  [{ tokenFrom: 'abcdMARKED1234efgh' }, 'not the token itself'],
  [{ tokenFrom: 'ABCDEFGHIJMARKED1234567890' }, 'not the token itself'],
  [{ tokenFrom: '__proto__' }, 'not the token itself'],
  [{ tokenFrom: 5 }, 'tokenFrom'],
  [{ allowedHosts: 'status.example' }, 'allowedHosts: expected a list'],
  [{ allowedHosts: [5] }, 'allowedHosts: expected a list'],
])('%j is refused, and no message repeats a token', async (options, expected) => {
  const error = await serveStatus(dispatcher(), { port: 0, env: {}, ...options } as StatusOptions).catch(String);
  expect(error).toContain(expected);
  expect(error).not.toContain('MARKED');
});
