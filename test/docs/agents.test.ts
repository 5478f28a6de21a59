import { setTracingDisabled } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';
import { tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { type createAgent, tool as langchainTool } from 'langchain';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createDispatcher } from '../../src/index.ts';
import { ManualClock } from '../../src/testing.ts';
import { calling, saying } from '../adapters/ai-sdk/model.ts';
import * as chat from '../adapters/langchain/model.ts';
import { HURRIED } from '../adapters/support/turn.ts';
import { runBlock } from './support/example.ts';
import { blockAt } from './support/pages.ts';

setTracingDisabled(true);

const PAGE = 'docs/agents.md';
const PACKAGES = {
  ai: await import('ai'),
  '@openai/agents': await import('@openai/agents'),
  langchain: await import('langchain'),
  'penstock/ai-sdk': await import('../../src/adapters/ai-sdk.ts'),
  'penstock/openai-agents': await import('../../src/adapters/openai-agents.ts'),
  'penstock/langchain': await import('../../src/adapters/langchain.ts'),
};

function rig() {
  const clock = new ManualClock();
  const dispatcher = createDispatcher({ downstreams: { web: {}, carrier: {} } }, { clock, alertSinks: [], env: {} });
  /** Calls that have started, by downstream, and the runs that made them. */
  const seen = () =>
    dispatcher
      .snapshot()
      .downstreams.map(({ downstream, totals, top }) => [
        downstream,
        totals.started,
        top.runs.map(({ name }) => name).join(),
      ]);
  return { clock, dispatcher, seen };
}

async function block<Exports>(title: string, clock: ManualClock, given: Record<string, unknown>) {
  return (await runBlock<Exports>(blockAt(PAGE, 'ts', title), { clock, given, packages: PACKAGES })).exports;
}

test('Vercel AI SDK', async () => {
  const { clock, dispatcher, seen } = rig();
  const model = new MockLanguageModelV3({ doGenerate: [calling('search', 'status'), saying('done')] });
  const [search, status] = ['found', 'delivered'].map((answer) =>
    tool({ inputSchema: z.object({}), execute: () => answer }),
  );
  const given = { dispatcher, model, search, status };
  const { answer } = await block<{ answer: (prompt: string) => Promise<{ text: string }> }>(
    'Vercel AI SDK',
    clock,
    given,
  );
  expect((await answer('go')).text).toBe('done');
  expect(seen()).toEqual([
    ['web', 1, 'run-7'],
    ['carrier', 1, 'run-7'],
  ]);
});

test('OpenAI Agents', async () => {
  const { clock, dispatcher, seen } = rig();
  const model = new ScriptedModel([[functionCall('status', {}, { callId: 'c-1' })], [assistantMessage('done')]]);
  const given = { dispatcher, model, schema: z.object({}), readStatus: () => 'delivered' };
  type Example = { answer: (prompt: string) => Promise<{ finalOutput: string }> };
  const { answer } = await block<Example>('OpenAI Agents', clock, given);
  expect((await answer('go')).finalOutput).toBe('done');
  expect(seen()).toEqual([
    ['web', 0, ''],
    ['carrier', 1, 'run-7'],
  ]);
});

const langchainTools = () =>
  ['search', 'status'].map((name) => langchainTool(() => `${name} ran`, { name, schema: z.object({}) }));

test('LangChain and LangGraph', async () => {
  const { clock, dispatcher, seen } = rig();
  const model = new chat.ScriptedChatModel(chat.calling('search', 'status'));
  const [search, status] = langchainTools();
  type Example = { answer: (content: string) => Promise<{ messages: { content: unknown }[] }> };
  const { answer } = await block<Example>('LangChain and LangGraph', clock, { dispatcher, model, search, status });
  expect((await answer('go')).messages.at(-1)?.content).toBe('done');
  expect(seen()).toEqual([
    ['web', 1, 'thread-7'],
    ['carrier', 1, 'thread-7'],
  ]);
});

test('LangChain and LangGraph, with a middleware', async () => {
  const { clock, dispatcher, seen } = rig();
  const model = new chat.ScriptedChatModel(chat.calling('search', 'status'));
  const given = { dispatcher, model, tools: langchainTools(), downstreams: { search: 'web', status: 'carrier' } };
  type Example = { agent: ReturnType<typeof createAgent> };
  const { agent } = await block<Example>('LangChain and LangGraph #2', clock, given);
  await agent.invoke({ messages: [{ role: 'user', content: 'go' }] });
  expect(seen()).toEqual([
    ['web', 1, ''],
    ['carrier', 1, ''],
  ]);
});

test('What the model sees', () => {
  expect(JSON.parse(blockAt(PAGE, 'text', 'What the model sees').code)).toEqual(HURRIED);
});
