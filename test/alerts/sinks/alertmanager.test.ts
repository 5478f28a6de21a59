import { describe, expect, test } from 'vitest';
import { alertmanagerSink, type PostableAlert } from '../../../src/alerts.ts';
import { ManualClock } from '../../../src/testing.ts';
import { alertOf, type Received, receiver, resolvedOf, signal } from './support.ts';

const posted = ({ body }: Received): PostableAlert[] => JSON.parse(body) as PostableAlert[];
const said = (received: Received): string[] =>
  posted(received).map(({ labels, endsAt }) => `${labels.severity} ${labels.downstream} ${endsAt.slice(11, 19)}`);

test('posts batches to the API v2, and says how it wants to be written to', async () => {
  const { url, got } = await receiver();
  const clock = new ManualClock();
  const sink = alertmanagerSink({ url: `${url}/`, labels: { team: 'delivery' } }, { clock });
  expect(sink).toMatchObject({ name: 'alertmanager', repeatMs: 120_000, mostAtOnce: 64 });
  await sink.deliverAll?.([alertOf(), alertOf({ downstream: 'mail' })], signal());
  expect(got[0]!.request.url).toBe('/api/v2/alerts');
  expect(got[0]!.request.headers['content-type']).toBe('application/json');
  expect(said(got[0]!)).toEqual(['warning carrier 00:05:00', 'warning mail 00:05:00']);
  expect(posted(got[0]!)[0]!.labels.team).toBe('delivery');
  await clock.advance(120_000);
  await sink.deliver(alertOf(), signal());
  expect(said(got[1]!)).toEqual(['warning carrier 00:07:00']);
});

test('a warning that becomes critical is told as both until the end, then both are over', async () => {
  const { url, got } = await receiver();
  const sink = alertmanagerSink({ url }, { clock: new ManualClock() });
  await sink.deliver(alertOf(), signal());
  await sink.deliver(alertOf({}, { severity: 'critical' }), signal());
  await sink.deliver(alertOf(), signal());
  await sink.deliver(resolvedOf(), signal());
  await sink.deliver(resolvedOf(), signal());
  expect(got.map(said)).toEqual([
    ['warning carrier 00:05:00'],
    ['critical carrier 00:05:00', 'warning carrier 00:05:00'],
    ['warning carrier 00:05:00', 'critical carrier 00:05:00'],
    ['warning carrier 00:10:00', 'critical carrier 00:10:00'],
    ['warning carrier 00:10:00'],
  ]);
});

test('what it did not take is not remembered', async () => {
  let status = 500;
  const { url, got } = await receiver((_, response) => response.writeHead(status).end());
  const sink = alertmanagerSink({ url }, { clock: new ManualClock() });
  await expect(sink.deliver(alertOf(), signal())).rejects.toMatchObject({ isRetryable: true });
  status = 200;
  await sink.deliver(alertOf({}, { severity: 'critical' }), signal());
  expect(said(got[1]!)).toEqual(['critical carrier 00:05:00']);
});

describe('a pair', () => {
  test('is told everything; one that takes it is enough', async () => {
    const [one, two] = [await receiver(), await receiver((_, response) => response.writeHead(503).end())];
    const sink = alertmanagerSink({ url: [one.url, `${two.url}/prefix/`] }, { clock: new ManualClock() });
    await sink.deliver(alertOf(), signal());
    expect([one.got.length, two.got[0]!.request.url]).toEqual([1, '/prefix/api/v2/alerts']);
  });

  test('that is down altogether is worth another try', async () => {
    const answers = [400, 503];
    const all = await Promise.all(answers.map((status) => receiver((_, response) => response.writeHead(status).end())));
    const sink = alertmanagerSink({ url: all.map(({ url }) => url) }, { clock: new ManualClock() });
    await expect(sink.deliver(alertOf(), signal())).rejects.toMatchObject({ isRetryable: true, status: 503 });
  });
});

test('a batch answered 400 is not sent again: the good ones were taken', async () => {
  const { url } = await receiver((_, response) => response.writeHead(400).end('"marked"'));
  const sink = alertmanagerSink({ url }, { clock: new ManualClock() });
  const delivery = sink.deliverAll?.([alertOf(), alertOf({ downstream: 'mail' })], signal());
  await expect(delivery).rejects.toMatchObject({
    isRetryable: false,
    message: 'the receiver answered 400: at least one of 2 alerts was refused, the others were taken',
  });
});

test.each([
  [{ username: 'me', passwordFrom: 'PASSWORD' }, `Basic ${Buffer.from('me:pässword').toString('base64')}`],
  [{ bearerFrom: 'TOKEN' }, 'Bearer token-1'],
])('authentication %j', async (options, expected) => {
  const { url, got } = await receiver();
  const env = { PASSWORD: 'pässword', TOKEN: 'token-1' };
  await alertmanagerSink({ url, ...options }, { env }).deliver(alertOf(), signal());
  expect(got[0]!.request.headers.authorization).toBe(expected);
});

test('a test is marked as one and over soon', async () => {
  const { url, got } = await receiver();
  await alertmanagerSink({ url }, { clock: new ManualClock(), isTest: true }).deliver(alertOf(), signal());
  expect([posted(got[0]!)[0]!.labels.test, said(got[0]!)]).toEqual(['true', ['warning carrier 00:01:00']]);
});

test('every problem of its options at once', () => {
  const options = {
    url: ['http://me:hunter2@am', 'http://am/api/v1/alerts'],
    username: 'x',
    bearerFrom: 'T',
    labels: { 'a.b': '1', severity: '2', __x: '3' },
  };
  const make = () => alertmanagerSink(options, { env: { T: 't' }, where: 'alerts[0].alertmanager' });
  expect(make).toThrow(
    `alerts: 7 problems
  alerts[0].alertmanager.url: a user or password in an address would be a secret in a policy; name passwords and tokens with passwordFrom or bearerFrom
  alerts[0].alertmanager.url: the API v1 is gone; expected the address without /api/v1/alerts
  alerts[0].alertmanager.username: username and passwordFrom belong together
  alerts[0].alertmanager.bearerFrom: expected either a password or a bearer token
  alerts[0].alertmanager.labels.a.b: expected a name of letters, digits and _, such as team
  alerts[0].alertmanager.labels.severity: this label is set by Penstock itself
  alerts[0].alertmanager.labels.__x: names that begin with __ are kept for Alertmanager itself`,
  );
  expect(make).not.toThrow(/hunter2/);
});
