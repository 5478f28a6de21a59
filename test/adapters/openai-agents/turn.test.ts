import { Agent, run, setTracingDisabled, tool } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';
import { expect, test } from 'vitest';
import { gateToolFunction, gateTools } from '../../../src/adapters/openai-agents.ts';
import { HURRIED, SIX, type Six, THROTTLED, turns } from '../support/turn.ts';
import { toolOutputs } from './model.ts';

setTracingDisabled(true);
const turn = turns();

const PLEASE_TRY_AGAIN = 'An error occurred while running the tool. Please try again.';

function model() {
  const calls = SIX.map((name) => functionCall(name, {}, { callId: `call-${name}` }));
  return new ScriptedModel([calls, [assistantMessage('done')]]);
}

const optionsOf = (server: ReturnType<typeof turn>['server'], name: Six) => ({
  name,
  description: name,
  parameters: { type: 'object' as const, properties: {}, required: [], additionalProperties: false as const },
  execute: (_input: unknown, _context?: unknown, details?: { signal?: AbortSignal }) =>
    server.ask(`/${name}`, details?.signal),
});

const text = (value: unknown) => ({ type: 'text', text: JSON.stringify(value) });

test('six calls in one turn over a quota that admits two: what the model gets back', async () => {
  const { server, dispatcher, contextOf, play } = turn();
  const gatedTool = gateToolFunction(dispatcher, tool, {
    downstreams: { '*': 'carrier' },
    context: (call) => contextOf(call.tool),
  });
  const tools = SIX.map((name) => gatedTool(optionsOf(server, name)));
  const scripted = model();
  const running = run(new Agent({ name: 'clerk', model: scripted, tools }), 'go');
  await play();
  expect((await running).finalOutput).toBe('done');
  expect(toolOutputs(scripted)).toEqual({
    first: text({ delivered: '/first' }),
    throttled: text(THROTTLED),
    hurried: text(HURRIED),
    dropped: { type: 'text', text: PLEASE_TRY_AGAIN },
    fifth: text({ delivered: '/fifth' }),
    sixth: text({ delivered: '/sixth' }),
  });
});

test('finished tools that throw (errorFunction: null) get the same back', async () => {
  const { server, dispatcher, contextOf, play } = turn();
  const six = SIX.map((name) => tool({ ...optionsOf(server, name), errorFunction: null }));
  const tools = gateTools(dispatcher, six, {
    downstreams: { '*': 'carrier' },
    context: (call) => (call.tool === 'dropped' ? {} : contextOf(call.tool)),
  });
  const scripted = model();
  const running = run(new Agent({ name: 'clerk', model: scripted, tools }), 'go');
  await play(5);
  expect((await running).finalOutput).toBe('done');
  expect(toolOutputs(scripted)).toEqual({
    first: text({ delivered: '/first' }),
    throttled: text(THROTTLED),
    hurried: text(HURRIED),
    dropped: text({ delivered: '/dropped' }),
    fifth: text({ delivered: '/fifth' }),
    sixth: text({ delivered: '/sixth' }),
  });
});
