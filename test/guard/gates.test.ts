import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

const check = (text: string, gates: readonly string[] = []) => {
  const { found, expected, report } = places(text, { gates });
  expect(report.problem).toBeUndefined();
  expect(found).toEqual(expected);
};

describe('what passes the gate', () => {
  test.each([
    [
      'inside callDownstream',
      "callDownstream('carrier', () => fetch(u)); dispatcher.callDownstream('a', async () => { await fetch(u); });",
    ],
    [
      'inside callDownstream of a field',
      "this.#gates.callDownstream('a', function () { return fetch(u); }); (await gate()).callDownstream?.('a', () => axios.get(u)); import axios from 'axios';",
    ],
    ['by another name', "const { callDownstream: call } = createDispatcher(p); call('a', () => fetch(u));"],
    ['imported by another name', "import { callDownstream as call } from './gate.ts'; call('a', () => fetch(u));"],
    ['kept by another name', "const call = dispatcher.callDownstream; call('a', () => fetch(u));"],
    [
      'deep inside',
      "callDownstream('a', async ({ signal }) => { for (const p of pages) { await Promise.all(p.map((q) => fetch(q))); } });",
    ],
    [
      'wrap',
      "export const get = dispatcher.wrap('a', async (id) => fetch(id)); const { wrap } = dispatcher; wrap('a', fetch);",
    ],
    [
      'the base of a gated fetch',
      "import { createFetch } from 'penstock/fetch'; createFetch(dispatcher, { base: fetch }); createFetch(d, { fetch });",
    ],
    [
      'tools',
      'gateTool(dispatcher, tool({ execute: async () => fetch(u) })); gateTools(dispatcher, { a: tool({ execute: () => fetch(u) }) });',
    ],
    [
      'tools with a name',
      'const tools = { a: tool({ execute: async () => fetch(u) }) }; export const gated = gateTools(dispatcher, tools);',
    ],
    [
      'a callback of a server',
      "server.registerTool('a', {}, gateTool(dispatcher, async () => ({ content: await fetch(u) })));",
    ],
    [
      'an adapter by any name',
      "import { gateTools as g } from 'penstock/ai-sdk'; g(dispatcher, { a: { execute: () => fetch(u) } });",
    ],
    [
      'a function that is used in the gate only',
      "async function load(id) { return fetch(id); } export const f = (id) => callDownstream('a', () => load(id));",
    ],
    ['one that stands below', "callDownstream('a', () => load()); function load() { return fetch(u); }"],
    ['one that is handed over', "const load = async () => fetch(u); callDownstream('a', load);"],
    ['one that calls another', "const a = () => fetch(u); const b = () => a(); callDownstream('x', () => b());"],
    [
      'one that calls itself',
      "async function again(n) { try { return await fetch(u); } catch { return again(n - 1); } } callDownstream('a', () => again(3));",
    ],
    ['two that call each other', "function a() { fetch(u); b(); } function b() { a(); } callDownstream('x', a);"],
    [
      'one in an object',
      "const api = { load: () => fetch(u), save() { return fetch(u); } }; callDownstream('a', () => api.load());",
    ],
    [
      'a helper that hands on to the gate',
      "const carrier = (fn) => dispatcher.callDownstream('carrier', fn); carrier(() => fetch(u));",
    ],
    [
      'a helper with more parameters',
      "function gated(name, fn, ctx) { return callDownstream(name, (call) => fn(call), ctx); } gated('a', () => fetch(u));",
    ],
    [
      'a client that is used in the gate only',
      "import OpenAI from 'openai'; const client = new OpenAI(); callDownstream('a', () => client.chat.completions.create({}));",
    ],
    [
      'a client of axios',
      "import axios from 'axios'; const api = axios.create(); export const f = () => callDownstream('a', () => api.get(u));",
    ],
    ['another name that is used in the gate only', "const f = fetch; callDownstream('a', () => f(u));"],
    [
      'by then of a permit',
      "acquire('a').then(async (lease) => { try { await fetch(u); } finally { lease.release(); } });",
    ],
    ['after a permit', "async function f() { using lease = await acquire('a'); return fetch(u); }"],
    [
      'after a permit, in a try',
      "async function f() { const lease = await dispatcher.acquire('a', ctx); try { await fetch(u); } finally { lease.release(); } }",
    ],
    [
      'after a permit, in a callback',
      "async function f() { await using lease = await acquire('a'); await Promise.all(us.map(async (u) => fetch(u))); }",
    ],
    [
      'a client that is made when it is needed',
      "let c; const get = () => { c ??= new OpenAI(); return c; }; import OpenAI from 'openai'; callDownstream('a', () => get().x());",
    ],
    [
      'a private method',
      "class A { async #load() { return fetch(u); } get() { return callDownstream('a', () => this.#load()); } }",
    ],
    [
      'a private method of TypeScript',
      "class A { private async load() { return fetch(u); } get() { return callDownstream('a', () => this.load()); } }",
    ],
    [
      'a private method that calls another',
      "class A { #a() { return fetch(u); } #b() { return this.#a(); } c() { callDownstream('a', () => this.#b()); } }",
    ],
    [
      'a private method that is handed over',
      "class A { #load = async () => fetch(u); c() { return this.gate.callDownstream('a', this.#load); } }",
    ],
    [
      'a private client',
      "import OpenAI from 'openai'; class A { #c = new OpenAI(); m() { return callDownstream('a', () => this.#c.x()); } }",
    ],
    [
      'a private client of TypeScript',
      "import OpenAI from 'openai'; class A { private readonly c: OpenAI; constructor() { this.c = new OpenAI(); } m() { return callDownstream('a', () => this.c.x()); } }",
    ],
  ])('%s', (_, text) => check(text));

  test('functions that the command is told of', () => {
    check("import { carrier } from './gate.ts'; carrier(() => «fetch(u));");
    check("import { carrier } from './gate.ts'; carrier(() => fetch(u)); this.limiter.carrier(fetch);", ['carrier']);
  });
});

describe('what does not', () => {
  test.each([
    ['beside it', "const r = «fetch(u); callDownstream('a', () => r);"],
    ['awaited before it', "const r = await «fetch(u); callDownstream('a', () => r.json());"],
    [
      'run at once',
      "const r = (async () => «fetch(u))(); callDownstream('a', () => r); const s = us.map(() => «fetch(u)); callDownstream('a', () => s);",
    ],
    ['its first argument', 'callDownstream(«fetch(u), fn);'],
    ['a function that is also called outside', "const load = () => «fetch(u); callDownstream('a', load); load();"],
    ['a function that is exported', "export const load = () => «fetch(u); callDownstream('a', load);"],
    ['a function that is exported below', "const load = () => «fetch(u); callDownstream('a', load); export { load };"],
    ['a function that nobody calls', 'const load = () => «fetch(u);'],
    [
      'a client that is also used outside',
      "import OpenAI from 'openai'; const c = «new OpenAI(); callDownstream('a', () => c.x()); c.y();",
    ],
    ['a wrap of one argument', 'wrap(«fetch); const f = wrap(() => «fetch(u));'],
    [
      'a wrap of somebody else',
      "import _ from 'lodash'; _.wrap(1, () => «fetch(u)); import { wrap } from 'comlink'; wrap(1, «fetch);",
    ],
    ['a wrap of the file', "function wrap(name, fn) { return fn(); } wrap('a', () => «fetch(u));"],
    ['createFetch of somebody else', "import { createFetch } from 'ofetch'; createFetch({}, { fetch: «fetch });"],
    [
      'a helper that also calls by itself',
      "const carrier = (fn) => a ? callDownstream('carrier', fn) : fn(); carrier(() => «fetch(u));",
    ],
    ['before the permit', "async function f() { await «fetch(u); using lease = await acquire('a'); }"],
    ['a permit in another branch', "async function f() { if (a) { await acquire('a'); } await «fetch(u); }"],
    ['a permit that is not waited for', "async function f() { acquire('a'); await «fetch(u); }"],
    [
      'a permit of another function',
      "async function f() { await acquire('a'); } async function g() { await «fetch(u); }",
    ],
    ['a permit of something else', 'async function f() { await mutex.acquire(); await «fetch(u); }'],
    [
      'a dispatcher’s own options',
      "import { createDispatcher } from 'penstock'; createDispatcher(p, { alertSinks: [{ deliver: () => «fetch(u) }] });",
    ],
    [
      'tools that are used without a gate, too',
      'const tools = { a: tool({ execute: () => «fetch(u) }) }; gateTools(d, tools); generateText({ tools });',
    ],
  ])('%s', (_, text) => check(text));
});
