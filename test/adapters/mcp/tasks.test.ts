import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { gateClient, gateServer } from '../../../src/adapters/mcp.ts';
import { rig, said } from './support/rig.ts';
import { answer, WHO } from './support/tools.ts';

let client: Client | undefined;
afterEach(async () => client?.close());

/** A server whose one tool answers with a task, behind a gate if there is one. */
async function connected(gate: (server: McpServer) => McpServer = (server) => server): Promise<Client> {
  const taskStore = new InMemoryTaskStore();
  const capabilities = { tasks: { requests: { tools: { call: {} } } } };
  const server = gate(
    new McpServer(WHO, { capabilities, taskStore, taskMessageQueue: new InMemoryTaskMessageQueue() }),
  );
  server.experimental.tasks.registerToolTask(
    'dig',
    { inputSchema: { id: z.string() }, execution: { taskSupport: 'optional' } },
    {
      createTask: async ({ id }, { taskStore: store }) => {
        const task = await store.createTask({ ttl: 60_000, pollInterval: 1 });
        await store.storeTaskResult(task.taskId, 'completed', answer(id));
        return { task };
      },
      getTask: async (_args, { taskId, taskStore: store }) => store.getTask(taskId),
      getTaskResult: async (_args, { taskId, taskStore: store }) => (await store.getTaskResult(taskId)) as never,
    },
  );
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  client = new Client(WHO);
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  await client.listTools();
  return client;
}

const dig = (id: string) => ({ name: 'dig', arguments: { id } });

test('the stream of a task keeps its place to its end, and its refusal is the last message', async () => {
  const { dispatcher } = rig({ notes: { quota: '6000/minute', burst: 10, maxConcurrent: 1, maxQueueDepth: 0 } });
  const { tasks } = gateClient(dispatcher, await connected(), { downstream: 'notes' }).experimental;
  const running = () => dispatcher.snapshot().downstreams[0]?.running;
  const types: string[] = [];
  for await (const message of tasks.callToolStream(dig('T-1'), CallToolResultSchema)) {
    types.push(message.type);
    expect(running()).toBe(1);
    if (message.type === 'result') expect(message.result).toMatchObject(answer('T-1'));
    for await (const other of tasks.callToolStream(dig('T-2'))) {
      expect(other.type === 'result' && said(other.result)).toMatchObject({ error: { code: 'RATE_LIMIT_QUEUE_FULL' } });
    }
  }
  expect(types).toEqual(['taskCreated', 'taskStatus', 'result']);
  expect(running()).toBe(0);
  for await (const _ of tasks.callToolStream(dig('T-3'))) break;
  expect(running()).toBe(0);
});

test('a plain request for a task throws its refusal: there is no task in it', async () => {
  const { dispatcher } = rig();
  const gated = gateClient(dispatcher, await connected(), { downstream: 'notes' });
  const create = () =>
    gated.request({ method: 'tools/call', params: dig('T-1') }, CreateTaskResultSchema, { task: {}, timeout: 9_000 });
  await Promise.all([create(), create()]);
  await expect(create()).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
});

test('a tool of a server that answers with a task passes the gate when the task begins', async () => {
  const { dispatcher, events } = rig({ carrier: { quota: '1/minute', utilization: 1, maxQueueDepth: 0 } });
  const plain = await connected((server) => gateServer(dispatcher, server, { downstream: 'carrier' }));
  expect(await plain.callTool(dig('T-1'))).toMatchObject(answer('T-1'));
  expect(events[0]).toMatchObject({ downstream: 'carrier', tool: 'dig' });
  const refused = await plain.callTool(dig('T-2'));
  expect(refused.isError).toBe(true);
  expect(said(refused)).toMatchObject({ error: { code: 'RATE_LIMIT_QUEUE_FULL', downstream: 'carrier' } });
});
