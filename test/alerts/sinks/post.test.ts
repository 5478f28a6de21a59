import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { retryAfter } from '../../../src/alerts/sinks/post.ts';
import { type DeliveryFailed, pagerDutySink, slackSink, webhookSink } from '../../../src/alerts.ts';
import { NOW } from '../facts.ts';
import { alertOf, receiver, signal } from './support.ts';

const env = (url: string) => ({ HOOK: `${url}/services/marked-path`, ROUTING_KEY: 'markedkeymarkedkeymarkedkeymarke' });

async function failureOf(url: string, over: AbortSignal = signal()): Promise<DeliveryFailed> {
  const sink = webhookSink({ urlFrom: 'HOOK' }, { env: env(url) });
  try {
    await sink.deliver(alertOf(), over);
  } catch (error) {
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/marked|127\.0\.0\.1/);
    return error as DeliveryFailed;
  }
  throw new Error('it was delivered');
}

describe('answers', () => {
  test.each([
    [200, undefined],
    [202, undefined],
    [204, undefined],
    [301, false],
    [307, false],
    [400, false],
    [401, false],
    [403, false],
    [404, false],
    [408, true],
    [410, false],
    [413, false],
    [425, true],
    [429, true],
    [500, true],
    [503, true],
    [529, true],
  ])('%i', async (status, isRetryable) => {
    const { url, got } = await receiver((_, response) => {
      response.writeHead(status, { location: '/marked-elsewhere' }).end(status === 204 ? '' : 'marked body');
    });
    if (isRetryable === undefined)
      await webhookSink({ urlFrom: 'HOOK' }, { env: env(url) }).deliver(alertOf(), signal());
    else expect(await failureOf(url)).toMatchObject({ name: 'DeliveryFailed', status, isRetryable });
    expect(got).toHaveLength(1);
  });

  test.each([
    [429, '30', 30_000],
    [503, '2', 2_000],
    [429, 'soon', undefined],
    [500, '30', undefined],
  ])('%i with Retry-After %s', async (status, header, retryAfterMs) => {
    const { url } = await receiver((_, response) => response.writeHead(status, { 'retry-after': header }).end());
    expect((await failureOf(url)).retryAfterMs).toBe(retryAfterMs);
  });

  test.each([
    ['120', 120_000],
    ['0', 0],
    [' 1.5 ', 1_500],
    ['999999999', 3_600_000],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Thursday, 01-Jan-26 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 23:00:00 GMT', undefined],
    ['-5', undefined],
    ['', undefined],
    [null, undefined],
  ])('Retry-After %j is %j', (value, ms) => expect(retryAfter(value, NOW)).toBe(ms));

  test('PagerDuty says to wait minutes after a 429 that names no time', async () => {
    const { url } = await receiver((_, response) => response.writeHead(429).end());
    const sink = pagerDutySink({ routingKeyFrom: 'ROUTING_KEY', url }, { env: env(url) });
    await expect(sink.deliver(alertOf(), signal())).rejects.toMatchObject({ isRetryable: true, retryAfterMs: 120_000 });
  });

  test("Slack's own words are told, other text is not", async () => {
    let answer = 'no_service';
    const { url } = await receiver((_, response) => response.writeHead(404).end(answer));
    const sink = slackSink({ webhookFrom: 'HOOK' }, { env: env(url) });
    await expect(sink.deliver(alertOf(), signal())).rejects.toThrow(
      'the receiver answered 404: no_service: the webhook was removed or switched off',
    );
    answer = 'marked';
    await expect(sink.deliver(alertOf(), signal())).rejects.toThrow(/^the receiver answered 404$/);
  });
});

describe('a receiver that', () => {
  test('is not there', async () => {
    const { url, close } = await freePort();
    await close();
    expect(await failureOf(url)).toMatchObject({
      isRetryable: true,
      message: 'the receiver cannot be reached (ECONNREFUSED)',
    });
  });

  test('closes the connection', async () => {
    const { url } = await receiver((request) => request.socket.destroy());
    expect(await failureOf(url)).toMatchObject({ isRetryable: true });
  });

  test('speaks no HTTP', async () => {
    const { url, close } = await freePort((socket) =>
      socket.once('data', () => socket.end('marked: this is no HTTP\r\n\r\n').destroySoon()),
    );
    expect(await failureOf(url)).toMatchObject({ isRetryable: true });
    await close();
  });

  test('says nothing, until the attempt is ended', async () => {
    const { url, got } = await receiver(() => undefined);
    const controller = new AbortController();
    const failing = failureOf(url, controller.signal);
    await vi.waitFor(() => expect(got).toHaveLength(1));
    controller.abort(new Error('marked'));
    expect(await failing).toMatchObject({ isRetryable: true, message: 'the receiver did not answer in time' });
  });

  test('answers and never ends is believed at once', async () => {
    const { url } = await receiver((_, response) => void response.writeHead(200).write('o'));
    const startedAt = performance.now();
    await webhookSink({ urlFrom: 'HOOK' }, { env: env(url) }).deliver(alertOf(), signal());
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });

  test('answers without end is not read to its end, and leaves no connections behind', async () => {
    let ended = 0;
    const { url, sockets } = await receiver((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', more);
      };
      response.on('close', () => (ended += 1));
      more();
    });
    const sink = webhookSink({ urlFrom: 'HOOK' }, { env: env(url) });
    for (let count = 0; count < 10; count += 1) await sink.deliver(alertOf(), signal());
    await vi.waitFor(() => expect(ended).toBe(10));
    // `fetch` keeps one or two open for the next request.
    expect(await sockets()).toBeLessThanOrEqual(2);
  });

  test('answers shortly is sent everything over the same connections', async () => {
    const ports = new Set<number | undefined>();
    const { url, got } = await receiver((request, response) => {
      ports.add(request.socket.remotePort);
      response.end('x'.repeat(4_000));
    });
    const sink = webhookSink({ urlFrom: 'HOOK' }, { env: env(url) });
    for (let count = 0; count < 20; count += 1) await sink.deliver(alertOf(), signal());
    expect(got).toHaveLength(20);
    expect(ports.size).toBeLessThanOrEqual(2);
  });
});

test('a redirect is not followed: nothing of ours goes where nobody said', async () => {
  const other = await receiver();
  const { url } = await receiver((_, response) => response.writeHead(307, { location: other.url }).end());
  expect((await failureOf(url)).message).toBe('the receiver answered 307; redirects are not followed');
  expect(other.got).toEqual([]);
});

describe('what was answered, for whoever tries a sink by hand', () => {
  afterEach(() => vi.restoreAllMocks());

  test('is one line without control characters, addresses and secrets', async () => {
    const key = env('').ROUTING_KEY;
    const { url } = await receiver((_, response) =>
      response.end(`\n  \u001b[31m${key} from https://x.example/y?z\u0007\r\nmore`),
    );
    const onAnswer = vi.fn();
    await pagerDutySink({ routingKeyFrom: 'ROUTING_KEY', url }, { env: env(url), onAnswer }).deliver(
      alertOf(),
      signal(),
    );
    expect(onAnswer).toHaveBeenCalledExactlyOnceWith({ status: 200, line: '[31m*** from (an address)' });
  });
});

async function freePort(listener: Parameters<typeof createServer>[1] = () => undefined) {
  const server = createServer(listener as never);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
