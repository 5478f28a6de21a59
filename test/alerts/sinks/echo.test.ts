import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/alerts/sinks/host.ts';
import { alertmanagerSink, webhookSink } from '../../../src/alerts.ts';
import { alertOf, receiver, signal } from './support.ts';

const credential = (request: IncomingMessage): string => request.headers.authorization?.split(' ')[1] ?? '';

/** What is printed of a refusal that says something about our request. */
async function shown(authorization: string, say: (request: IncomingMessage) => string): Promise<string> {
  const answers: Answer[] = [];
  const { url } = await receiver((request, response) => response.writeHead(401).end(say(request)));
  const env = { AUTH: authorization };
  const sink = webhookSink({ url, authorizationFrom: 'AUTH' }, { env, onAnswer: (answer) => answers.push(answer) });
  await expect(sink.deliver(alertOf(), signal())).rejects.toThrow('401');
  return answers[0]?.line ?? '';
}

describe('an answer that repeats a credential is shown without it', () => {
  const token = `eyJhbGci${'aB3dE5fG7'.repeat(100)}`;
  const odd = 'hun"t<er>22/&\'x';
  const basic = `Basic ${btoa(`joe:${odd}`)}`;
  test.each<[string, string, (request: IncomingMessage) => string, RegExp]>([
    ['a token longer than a line', `Bearer ${token}`, (r) => `invalid: ${credential(r)}`, /B3dE/],
    ['beyond the part that is read', `Bearer ${token}`, (r) => `${' '.repeat(16_200)}${credential(r)}`, /B3dE/],
    ['cut by the receiver', `Bearer ${token}`, (r) => `invalid: ${credential(r).slice(0, 20)}...`, /B3dE/],
    ['without its scheme', 'Bearer s3cr3t-value-1', (r) => `invalid: ${credential(r)}`, /s3cr3t/],
    ['in capitals', 'Bearer s3cr3t-value-1', (r) => `invalid: ${credential(r).toUpperCase()}`, /s3cr3t/i],
    ['decoded', basic, (r) => `no user ${atob(credential(r))}`, /hun/],
    ['its password alone', basic, () => `wrong: ${odd}`, /hun/],
    ['as JSON', basic, () => JSON.stringify({ error: odd }), /hun/],
    ['in an address', basic, () => encodeURIComponent(odd), /hun/],
    ['in a page', basic, () => 'wrong: hun&quot;t&lt;er&gt;22/&amp;&#39;x', /hun/],
  ])('%s', async (_, authorization, say, secret) => {
    const line = await shown(authorization, say);
    expect(line).not.toMatch(secret);
    expect(line).toContain('***');
  });

  test('and what is no credential stays readable', async () => {
    expect(await shown('Bearer s3cr3t-value-1', () => 'a bearer token was expected')).toBe(
      'a bearer token was expected',
    );
  });
});

test('an address with a user and a password is one that can be posted to', async () => {
  const answers: Answer[] = [];
  const { url, got } = await receiver((request, response) =>
    response.end(`${request.headers.authorization} p@ss:word`),
  );
  const env = { HOOK: url.replace('//', '//joe:p%40ss%3Aword@') };
  const sink = webhookSink({ urlFrom: 'HOOK' }, { env, onAnswer: (answer) => answers.push(answer) });
  await sink.deliver(alertOf(), signal());
  expect(got[0]?.request.headers.authorization).toBe(`Basic ${btoa('joe:p@ss:word')}`);
  expect(answers[0]?.line).toBe('Basic *** ***');
});

test('a port that fetch never connects to is given up and named', async () => {
  const sink = webhookSink({ url: 'http://127.0.0.1:6000/hook' });
  await expect(sink.deliver(alertOf(), signal())).rejects.toMatchObject({
    isRetryable: false,
    message: expect.stringContaining('port'),
  });
});

test.each(['/api/v2', '/api/v2/', '/api/v2/alerts/', '/#/alerts', '/api/v2/alerts?x=1'])(
  'Alertmanager is found by the address %s',
  async (path) => {
    const { url, got } = await receiver();
    await alertmanagerSink({ url: `${url}${path}` }).deliver(alertOf(), signal());
    expect(got[0]?.request.url?.split('?')[0]).toBe('/api/v2/alerts');
  },
);
