import {
  BatchGetItemCommand,
  BatchWriteItemCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
  GetItemCommand,
  TransactWriteItemsCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ROWS } from './support/answers.ts';
import { FAILED, type Handing, hand, overloaded, type Reading, SUCCESS, throttled } from './support/lane.ts';
import { type Answer, LocalServer } from './support/local-server.ts';
import { expectNoSockets } from './support/open-sockets.ts';

let server: LocalServer;
let client: DynamoDBClient;
beforeAll(async () => {
  server = await LocalServer.start();
  // The first client of a process warns of versions of Node to come.
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const config: DynamoDBClientConfig = {
    region: 'eu-west-1',
    endpoint: server.url,
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    maxAttempts: 1,
    retryMode: 'standard',
    defaultsMode: 'standard',
    accountIdEndpointMode: 'disabled',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    userAgentAppId: 'test',
    endpointDiscoveryEnabled: false,
  };
  client = new DynamoDBClient(config);
  await client.send(get).catch(() => undefined);
  warn.mockRestore();
});
afterAll(async () => {
  client.destroy();
  await server.close();
  await expectNoSockets();
});

const Key = { id: { S: '1' } };
const get = new GetItemCommand({ TableName: 'orders', Key });
const batchGet = new BatchGetItemCommand({ RequestItems: { orders: { Keys: [Key] } } });
const batchWrite = new BatchWriteItemCommand({ RequestItems: { orders: [{ PutRequest: { Item: Key } }] } });
const transact = new TransactWriteItemsCommand({ TransactItems: [{ Put: { TableName: 'orders', Item: Key } }] });

/** An error as the service puts it into a body. */
function fault(name: string, more: object = {}): object {
  return { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'slow down', ...more };
}

const FAULTS: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  401: 'UnrecognizedClientException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  429: 'ThrottlingException',
  500: 'InternalServerError',
};

async function expectRead(answer: Answer, reading: Reading, command: unknown = get, handing: Handing = {}) {
  server.answers({ ...answer, headers: { 'Content-Type': 'application/x-amz-json-1.0', ...answer.headers } });
  const how = answer.status === 200 ? 'returned' : 'thrown';
  await hand(reading, () => client.send(command as typeof get), { ...handing, how });
  expect(server.requests).toBe(1);
}

describe('@aws-sdk/client-dynamodb', () => {
  test.each(ROWS.map((row) => [row.name, row] as const))('%s', async (_, { answer, reading }) => {
    await expectRead({ ...answer, body: fault(FAULTS[answer.status] ?? 'ServiceUnavailable') }, reading);
  });

  test.each(['ThrottlingException', 'ProvisionedThroughputExceededException', 'RequestLimitExceeded'])(
    '400 %s',
    async (name) => {
      await expectRead({ status: 400, body: fault(name) }, throttled());
      await expectRead({ status: 400, headers: { 'Retry-After': '7' }, body: fault(name) }, throttled(7_000));
    },
  );

  test("400 with the service's own milliseconds", async () => {
    const headers = { 'x-amz-retry-after': '1500' };
    await expectRead({ status: 400, headers, body: fault('ThrottlingException') }, throttled(1_500));
  });

  test('503 ThrottlingException is the quota, not the service', async () => {
    await expectRead({ status: 503, body: fault('ThrottlingException') }, throttled());
  });

  test.each([
    'ValidationException',
    'ConditionalCheckFailedException',
    'ResourceNotFoundException',
    'AccessDeniedException',
    'ItemCollectionSizeLimitExceededException',
  ])('400 %s is no limit of calls', async (name) => {
    await expectRead({ status: 400, body: fault(name) }, FAILED);
  });

  test.each([
    ['ThrottlingError', throttled()],
    ['ProvisionedThroughputExceeded', throttled()],
    ['ConditionalCheckFailed', FAILED],
    ['TransactionConflict', FAILED],
  ])('a transaction that was cancelled for %s', async (Code, reading) => {
    const body = fault('TransactionCanceledException', {
      Message: 'Transaction cancelled, please refer cancellation reasons for specific reasons',
      CancellationReasons: [{ Code: 'None' }, { Code, Message: 'slow down' }],
    });
    await expectRead({ status: 400, body }, reading, transact);
  });

  test('503 with Retry-After', async () => {
    const answer = { status: 503, headers: { 'Retry-After': '20' }, body: fault('ServiceUnavailable') };
    await expectRead(answer, overloaded(20_000));
  });
});

describe('a batch that the service did in part', () => {
  const unwritten = { UnprocessedItems: { orders: [{ PutRequest: { Item: Key } }] } };
  const unread = { Responses: { orders: [] }, UnprocessedKeys: { orders: { Keys: [Key] } } };
  const byName = { policy: { classify: 'awsPartial' } };

  test.each([
    ['BatchWriteItem', batchWrite, unwritten],
    ['BatchGetItem', batchGet, unread],
  ])('%s: a success by itself, throttled for those who ask for it', async (_, command, body) => {
    await expectRead({ status: 200, body }, SUCCESS, command);
    await expectRead({ status: 200, body }, throttled(), command, byName);
  });

  test.each([
    ['BatchWriteItem', batchWrite, { UnprocessedItems: {} }],
    ['BatchGetItem', batchGet, { Responses: { orders: [Key] }, UnprocessedKeys: {} }],
    ['GetItem', get, { Item: Key }],
  ])('%s that is done is a success, for those who ask for it too', async (_, command, body) => {
    await expectRead({ status: 200, body }, SUCCESS, command, byName);
  });

  test('an error is read as ever by those who ask for it', async () => {
    await expectRead({ status: 400, body: fault('ThrottlingException') }, throttled(), get, byName);
    await expectRead({ status: 400, body: fault('ValidationException') }, FAILED, get, byName);
  });
});
