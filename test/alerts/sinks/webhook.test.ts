import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { signature } from '../../../src/alerts/sinks/webhook.ts';
import { webhookSink } from '../../../src/alerts.ts';
import { ManualClock } from '../../../src/testing.ts';
import { NOW } from '../facts.ts';
import { alertOf, receiver, signal } from './support.ts';

test('posts a CloudEvent in structured mode, with the headers that were named', async () => {
  const { url, got } = await receiver();
  const env = { AUTH: 'Bearer abc', KEY: 'k-1' };
  const sink = webhookSink({ url, authorizationFrom: 'AUTH', headersFrom: { 'X-Api-Key': 'KEY' } }, { env });
  expect(sink.name).toBe('webhook');
  await sink.deliver(alertOf(), signal());
  const { headers, method } = got[0]!.request;
  expect([method, headers['content-type'], headers.authorization, headers['x-api-key']]).toEqual([
    'POST',
    'application/cloudevents+json; charset=utf-8',
    'Bearer abc',
    'k-1',
  ]);
  expect(headers['webhook-signature']).toBeUndefined();
  expect(JSON.parse(got[0]!.body)).toMatchObject({
    specversion: '1.0',
    id: 'worker-7-1',
    data: { downstream: 'carrier' },
  });
});

test.each([
  ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')],
  ['a plain secret', Buffer.from('a plain secret')],
])('is signed as Standard Webhooks are: %s', async (secret, key) => {
  const { url, got } = await receiver();
  const clock = new ManualClock();
  const sink = webhookSink({ url, signingSecretFrom: 'SECRET' }, { env: { SECRET: secret }, clock });
  await sink.deliver(alertOf({ downstream: 'päckchen' }), signal());
  const [{ request, body } = got[0]!] = got;
  const timestamp = String(NOW / 1_000);
  const expected = createHmac('sha256', key).update(`worker-7-1.${timestamp}.${body}`).digest('base64');
  expect(request.headers).toMatchObject({
    'webhook-id': 'worker-7-1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${expected}`,
  });
});

test('the example that the libraries of Standard Webhooks are tested with', async () => {
  const { 'webhook-signature': found } = await signature(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    1_614_265_330,
    '{"test": 2432232314}',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  );
  expect(found).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('every problem of its options at once', () => {
  const options = { headersFrom: { Host: 'A', 'a b': 'B', 'content-length': 'B' }, signingSecretFrom: 'S' };
  const make = () => webhookSink(options, { env: { A: 'a', B: 'b', S: 'whsec_@@@' } });
  expect(make).toThrow(
    `webhookSink: 5 problems
  webhookSink.url: expected either url or urlFrom
  webhookSink.signingSecretFrom: S begins with whsec_ and is no base64
  webhookSink.headersFrom.Host: this header is set by Penstock itself
  webhookSink.headersFrom.a b: expected the name of a header, such as x-api-key
  webhookSink.headersFrom.content-length: this header is set by Penstock itself`,
  );
});
