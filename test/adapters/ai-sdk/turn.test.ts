import { generateText, stepCountIs, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { gateTools } from '../../../src/adapters/ai-sdk.ts';
import { HURRIED, SIX, type Six, THROTTLED, turns } from '../support/turn.ts';
import { calling, saying, toolResults } from './model.ts';

const turn = turns();

test('six calls in one turn over a quota that admits two: what the model gets back', async () => {
  const { server, dispatcher, contextOf, play } = turn();
  const asking = (path: Six) =>
    tool({
      inputSchema: z.object({}),
      execute: (_input, { abortSignal }) => server.ask(`/${path}`, abortSignal),
    });
  const six = Object.fromEntries(SIX.map((name) => [name, asking(name)])) as Record<Six, ReturnType<typeof asking>>;
  const tools = gateTools(dispatcher, six, {
    downstreams: { '*': 'carrier' },
    context: ({ tool: name }) => contextOf(name),
  });
  const model = new MockLanguageModelV3({ doGenerate: [calling(...SIX), saying('done')] });
  const run = generateText({ model, tools, prompt: 'go', stopWhen: stepCountIs(2) });
  await play();
  expect((await run).text).toBe('done');
  expect(server.requests.toSorted()).toEqual(['/fifth', '/first', '/sixth', '/throttled']);
  expect(toolResults(model.doGenerateCalls[1])).toEqual({
    first: { type: 'json', value: { delivered: '/first' } },
    throttled: { type: 'json', value: THROTTLED },
    hurried: { type: 'json', value: HURRIED },
    dropped: { type: 'error-text', value: 'the user has closed the window' },
    fifth: { type: 'json', value: { delivered: '/fifth' } },
    sixth: { type: 'json', value: { delivered: '/sixth' } },
  });
});
