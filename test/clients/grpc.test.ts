import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type Client, Metadata, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  errorInfo,
  GrpcServer,
  grpcClient,
  lookUp,
  quotaFailure,
  retryInfo,
  statusDetails,
  watch,
} from './support/grpc.ts';
import { exhausted, FAILED, hand, type Reading, SUCCESS, throttled } from './support/lane.ts';
import { expectNoSockets } from './support/open-sockets.ts';

const server = new GrpcServer();
let port: number;
let client: Client;
beforeAll(async () => {
  port = await server.start();
  client = grpcClient(port);
});
afterAll(async () => {
  client.close();
  await server.close();
  await expectNoSockets();
});

function metadata(entries: Readonly<Record<string, string | Buffer>>): Metadata {
  const made = new Metadata();
  for (const [name, value] of Object.entries(entries)) made.set(name, value);
  return made;
}

async function expectRead(
  code: number,
  entries: Readonly<Record<string, string | Buffer>>,
  reading: Reading,
  call: (client: Client) => Promise<unknown> = lookUp,
): Promise<void> {
  server.end = { code, details: 'slow down', metadata: metadata(entries) };
  server.calls = 0;
  await hand(reading, () => call(client), { how: 'thrown' });
  expect(server.calls).toBe(1);
}

const CODE = status.RESOURCE_EXHAUSTED;
const BIN = 'grpc-status-details-bin';
const seven = retryInfo(7, 500_000_000);

const ROWS: readonly (readonly [name: string, entries: Record<string, string | Buffer>, reading: Reading])[] = [
  ['nothing said', {}, throttled()],
  ['pushback in milliseconds', { 'grpc-retry-pushback-ms': '1500' }, throttled(1_500)],
  ['pushback that says never', { 'grpc-retry-pushback-ms': '-1' }, throttled()],
  ['RetryInfo', { [BIN]: statusDetails(seven) }, throttled(7_500)],
  [
    'RetryInfo after other details',
    { [BIN]: statusDetails(errorInfo('RATE_LIMIT_EXCEEDED'), seven) },
    throttled(7_500),
  ],
  ['RetryInfo of whole seconds', { [BIN]: statusDetails(retryInfo(300)) }, throttled(300_000)],
  ['details without RetryInfo', { [BIN]: statusDetails(errorInfo('RATE_LIMIT_EXCEEDED')) }, throttled()],
  ['details that are no message', { [BIN]: Buffer.from('slow down, slow down') }, throttled()],
  [
    'a quota per minute',
    { [BIN]: statusDetails(quotaFailure('RequestsPerMinutePerProject'), seven) },
    throttled(7_500),
  ],
  ['Retry-After of a gateway', { 'retry-after': '7' }, throttled(7_000)],
  ['counters of a gateway', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '42' }, throttled(42_000)],
];

describe('@grpc/grpc-js', () => {
  test.each(ROWS)('RESOURCE_EXHAUSTED, %s', async (_, entries, reading) => {
    await expectRead(CODE, entries, reading);
  });

  test('a quota per day is nothing that seconds cure', async () => {
    server.end = {
      code: CODE,
      details: 'slow down',
      metadata: metadata({ [BIN]: statusDetails(quotaFailure('RequestsPerDayPerProject')) }),
    };
    await hand(exhausted(), () => lookUp(client), { how: 'thrown' });
  });

  test('a stream that is cut off by the limit', async () => {
    await expectRead(CODE, { 'grpc-retry-pushback-ms': '1500' }, throttled(1_500), watch);
  });

  test.each([
    'PERMISSION_DENIED',
    'UNAUTHENTICATED',
    'INVALID_ARGUMENT',
    'NOT_FOUND',
    'UNAVAILABLE',
    'INTERNAL',
    'ABORTED',
  ] as const)('%s is no limit', async (name) => {
    await expectRead(status[name], {}, FAILED);
  });

  test('a message larger than what the client takes is no limit of calls', async () => {
    server.end = { bytes: 4_096 };
    const small = grpcClient(port, { 'grpc.max_receive_message_length': 64 });
    await hand(FAILED, () => lookUp(small), { how: 'thrown' });
    small.close();
  });

  test('an answer', async () => {
    server.end = { bytes: 4 };
    await hand(SUCCESS, () => lookUp(client), { how: 'returned' });
  });

  // The client keeps of it a sentence, and no status or header.
  test('a proxy that answers 429 in the place of the service is not recognised', async () => {
    const proxy = createServer();
    proxy.on('stream', (stream) => {
      stream.respond({ ':status': 429, 'retry-after': '7', 'content-type': 'text/plain' });
      stream.end('slow down');
    });
    const at = await listen(proxy);
    const proxied = grpcClient(at);
    await hand(FAILED, () => lookUp(proxied), { how: 'thrown' });
    proxied.close();
    await new Promise<void>((resolve) => proxy.close(() => resolve()));
  });
});

async function listen(http2: Http2Server): Promise<number> {
  await new Promise<void>((resolve) => http2.listen(0, '127.0.0.1', resolve));
  return (http2.address() as AddressInfo).port;
}
