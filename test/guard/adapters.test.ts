import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

const check = (text: string) => {
  const { found, expected, report } = places(text);
  expect(report.problem).toBeUndefined();
  expect(found).toEqual(expected);
};

const AGENTS =
  "import { tool as plainTool } from '@openai/agents'; import { gateToolFunction } from 'penstock/openai-agents'; const tool = gateToolFunction(dispatcher, plainTool, { downstreams });";

describe('the tool function of OpenAI Agents, gated', () => {
  test.each([
    ['inline', "export const a = tool({ name: 'a', execute: async () => fetch(u) });"],
    ['as a method', 'agent([tool({ async execute() { return fetch(u); } })]);'],
    ['by name', 'const readStatus = async (id) => fetch(id); tool({ execute: readStatus });'],
    ['a function below', 'tool({ execute: readStatus }); async function readStatus() { return fetch(u); }'],
    ['by what it calls', 'async function load(id) { return fetch(id); } tool({ execute: ({ id }) => load(id) });'],
    ['with a named description', 'const status = { execute: () => fetch(u) }; tool(status);'],
    ['at once', 'gateToolFunction(dispatcher, plainTool, {})({ execute: () => fetch(u) });'],
  ])('%s', (_, text) => check(`${AGENTS}\n${text}`));

  test('a file of yours may export it', () => {
    check(
      "import { gateToolFunction } from './gate.ts'; const t = gateToolFunction(d, plain); t({ execute: () => fetch(u) });",
    );
  });

  test.each([
    ['the plain one', 'plainTool({ execute: async () => «fetch(u) });'],
    ['a function that is exported', 'export const load = async () => «fetch(u); tool({ execute: load });'],
    [
      'a function that is called elsewhere',
      'const load = async () => «fetch(u); tool({ execute: load }); await load();',
    ],
    ['what runs while the tool is made', "tool({ parameters: await «fetch('schema.json'), execute });"],
    [
      'tools of another module',
      "import { gateToolFunction as g } from 'other'; g(d, p)({ execute: () => «fetch(u) });",
    ],
  ])('not: %s', (_, text) => check(`${AGENTS}\n${text}`));
});

const CHAIN =
  "import { tool, DynamicStructuredTool, StructuredTool } from '@langchain/core/tools'; import { createAgent, createMiddleware } from 'langchain'; import { gateTool, gateTools, gateToolCalls } from 'penstock/langchain';";
const GATED = "gateTools(dispatcher, [search], { downstreams: { search: 'web' } });";

describe('tools of LangChain, handed to the gate', () => {
  test.each([
    ['inline', `const search = tool(async () => fetch(u), { name: 'search' }); export const tools = ${GATED}`],
    ['by name', `const load = async () => fetch(u); const search = tool(load, { name: 'search' }); ${GATED}`],
    [
      'one of them',
      "const s = tool(async () => fetch(u), { name: 's' }); export const g = gateTool(dispatcher, 'web', s);",
    ],
    ['with a class of its own', `const search = new DynamicStructuredTool({ func: async () => fetch(u) }); ${GATED}`],
    ['that, by name', `const func = () => fetch(u); const search = new DynamicStructuredTool({ func }); ${GATED}`],
    [
      'a class',
      'class Search extends StructuredTool { async _call() { return fetch(u); } } gateTools(dispatcher, [new Search()]);',
    ],
    [
      'a class, by name, with a private method',
      `class Search extends StructuredTool { async #load() { return fetch(u); } async _call() { return this.#load(); } } const search = new Search(); ${GATED}`,
    ],
    [
      'a list',
      'const a = tool(async () => fetch(u), {}); const b = tool(async () => fetch(u), {}); const tools = [a, b]; gateTools(dispatcher, tools);',
    ],
    [
      'a middleware',
      'const a = tool(async () => fetch(u), {}); const tools = [a]; const gate = createMiddleware({ wrapToolCall: gateToolCalls(dispatcher, tools, {}) }); export const agent = createAgent({ model, tools, middleware: [gate] });',
    ],
    [
      'a middleware that is written in its place',
      'const a = tool(async () => fetch(u), {}); createAgent({ tools: [a], middleware: [log, createMiddleware({ wrapToolCall: gateToolCalls(dispatcher, [a]) })] });',
    ],
  ])('%s', (_, text) => check(`${CHAIN}\n${text}`));

  test('of langchain itself, of the AI SDK and of OpenAI Agents by name', () => {
    check(`import { tool } from 'langchain'; const search = tool(() => fetch(u), {}); ${GATED}`);
    check(
      "import { tool } from 'ai'; const execute = () => fetch(u); const a = tool({ execute }); gateTools(d, { a });",
    );
    check(`import { tool } from '@openai/agents'; const search = tool({ execute: () => fetch(u) }); ${GATED}`);
  });

  test.each([
    ['a tool that nobody gates', 'const search = tool(async () => «fetch(u), {}); createAgent({ tools: [search] });'],
    ['a tool that is exported', `export const search = tool(async () => «fetch(u), {}); ${GATED}`],
    ['a tool that is called elsewhere', `const search = tool(async () => «fetch(u), {}); ${GATED} search.invoke({});`],
    ['a function that is exported', `export const load = () => «fetch(u); const search = tool(load, {}); ${GATED}`],
    [
      'a function that is called elsewhere',
      `const load = () => «fetch(u); const search = tool(load, {}); ${GATED} load();`,
    ],
    ['what runs while it is made', `const search = tool(load, { schema: await «fetch(u) }); ${GATED}`],
    [
      'a class that is exported',
      'export class Search extends StructuredTool { async _call() { return «fetch(u); } } gateTools(dispatcher, [new Search()]);',
    ],
    [
      'a class that is used elsewhere',
      'class Search extends StructuredTool { _call() { return «fetch(u); } } gateTools(dispatcher, [new Search()]); new Search().invoke();',
    ],
    [
      'a constructor, and a method that others may call',
      'class Search extends StructuredTool { constructor() { super(); «fetch(u); } load() { return «fetch(u); } _call() {} } gateTools(dispatcher, [new Search()]);',
    ],
    [
      'a class of something else',
      'class Search { _call() { return «fetch(u); } } gateTools(dispatcher, [new Search()]);',
    ],
    [
      'an agent with another middleware',
      'const a = tool(async () => «fetch(u), {}); gateTools(d, [a]); createAgent({ tools: [a], middleware: [createMiddleware({ wrapToolCall: log })] });',
    ],
  ])('not: %s', (_, text) => check(`${CHAIN}\n${text}`));
});
