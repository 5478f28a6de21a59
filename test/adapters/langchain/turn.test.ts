import { tool } from '@langchain/core/tools';
import { ToolNode } from '@langchain/langgraph/prebuilt';
import { createAgent, createMiddleware } from 'langchain';
import { expect, test } from 'vitest';
import { gateToolCalls, gateTools } from '../../../src/adapters/langchain.ts';
import { HURRIED, SIX, THROTTLED, turns } from '../support/turn.ts';
import { calling, ScriptedChatModel, toolMessages } from './model.ts';

const turn = turns();

const schema = { type: 'object', properties: {} } as const;

function six(server: ReturnType<typeof turn>['server']) {
  return SIX.map((name) => tool((_input, config) => server.ask(`/${name}`, config.signal), { name, schema }));
}

const told = (name: string, value: unknown) => ({
  content: JSON.stringify(value),
  tool_call_id: `call-${name}`,
  status: 'success',
});

const ANSWERED = Object.fromEntries(
  ['first', 'fifth', 'sixth'].map((name) => [name, told(name, { delivered: `/${name}` })]),
);

test('createAgent with gated tools: what the model gets back of six calls over a quota that admits two', async () => {
  const { server, dispatcher, contextOf, play } = turn();
  const tools = gateTools(dispatcher, six(server), {
    downstreams: { '*': 'carrier' },
    context: (call) => (call.tool === 'dropped' ? {} : contextOf(call.tool)),
  });
  const model = new ScriptedChatModel(calling(...SIX));
  const running = createAgent({ model, tools }).invoke({ messages: [{ role: 'user', content: 'go' }] });
  await play(5);
  expect((await running).messages.at(-1)?.content).toBe('done');
  expect(toolMessages(model.asked[1]!)).toEqual({
    ...ANSWERED,
    throttled: told('throttled', THROTTLED),
    hurried: told('hurried', HURRIED),
    dropped: told('dropped', { delivered: '/dropped' }),
  });
});

test('ToolNode: an abort of one call is an error of that call', async () => {
  const { server, dispatcher, contextOf, play } = turn();
  const tools = gateTools(dispatcher, six(server), {
    downstreams: { '*': 'carrier' },
    context: (call) => contextOf(call.tool),
  });
  const running = new ToolNode(tools).invoke({ messages: [calling(...SIX)] });
  await play();
  expect(toolMessages((await running).messages)).toEqual({
    ...ANSWERED,
    throttled: told('throttled', THROTTLED),
    hurried: told('hurried', HURRIED),
    dropped: {
      content: 'Error: the user has closed the window\n Please fix your mistakes.',
      tool_call_id: 'call-dropped',
      status: 'error',
    },
  });
});

test('createAgent with a middleware that gates all of its tools', async () => {
  const { server, dispatcher, contextOf, play } = turn();
  const tools = six(server);
  const wrapToolCall = gateToolCalls(dispatcher, tools, {
    downstreams: { '*': 'carrier' },
    context: (call) => (call.tool === 'dropped' ? {} : contextOf(call.tool)),
  });
  const model = new ScriptedChatModel(calling(...SIX));
  const agent = createAgent({ model, tools, middleware: [createMiddleware({ name: 'penstock', wrapToolCall })] });
  const running = agent.invoke({ messages: [{ role: 'user', content: 'go' }] });
  await play(5);
  expect((await running).messages.at(-1)?.content).toBe('done');
  expect(toolMessages(model.asked[1]!)).toEqual({
    ...ANSWERED,
    // The agent makes these messages of what a tool returns, and gives them no status.
    throttled: { ...told('throttled', THROTTLED), status: undefined },
    hurried: { ...told('hurried', HURRIED), status: undefined },
    dropped: told('dropped', { delivered: '/dropped' }),
  });
});
