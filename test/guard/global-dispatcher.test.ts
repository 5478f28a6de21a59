import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

const check = (text: string, isFetchGated = false) => {
  const { found, expected, report } = places(text, { isFetchGated });
  expect(report.problem).toBeUndefined();
  expect(found).toEqual(expected);
};

const IMPORTS =
  "import * as undici from 'undici'; import { Agent, Client, Pool, fetch as send, getGlobalDispatcher, pipeline, request, setGlobalDispatcher, stream } from 'undici'; import { gate } from 'penstock/undici';";
const SET = 'setGlobalDispatcher(new Agent().compose(gate(dispatcher)));';
const ALL =
  'request(u); stream(u, o, f); pipeline(u, o, f); send(u); undici.request(u); getGlobalDispatcher().request(o); fetch(u);';

describe('the gate in the global dispatcher', () => {
  test.each([
    ['what follows it', `${SET} ${ALL}`],
    ['functions', `export const get = (u) => request(u); ${SET}`],
    [
      'a dispatcher with a name',
      `const agent = new Agent().compose(gate(dispatcher)); setGlobalDispatcher(agent); ${ALL}`,
    ],
    [
      'more interceptors',
      `setGlobalDispatcher(new Agent().compose([gate(dispatcher), retry()]).compose(log())); ${ALL}`,
    ],
    ['by the module', `undici.setGlobalDispatcher(undici.getGlobalDispatcher().compose(gate(dispatcher))); ${ALL}`],
    ['in a function', `async function main() { ${SET} await request(u); }`],
    ['SDKs on fetch', `${SET} export const openai = new OpenAI(); import OpenAI from 'openai';`],
  ])('%s', (_, text) => check(`${IMPORTS}\n${text}`));

  test.each([
    ['clients of its own', `${SET} «new Pool(u); «new Client(u); «request(u, { dispatcher: new Pool(u) });`],
    ['an agent of its own', `${SET} «request(u, { dispatcher: new Agent() }); «fetch(u, { dispatcher: new Agent() });`],
    ['clients that do not use it', `${SET} «axios.get(u); import axios from 'axios';`],
    ['what runs before it', `await «request(u); ${SET}`],
    ['another function', `function main() { ${SET} } export const get = () => «request(u);`],
    ['a dispatcher without the gate', 'setGlobalDispatcher(new Agent().compose(retry())); «request(u);'],
    ['all of undici', `${SET} export const all = «undici;`],
  ])('not: %s', (_, text) => check(`${IMPORTS}\n${text}`));
});

test('--fetch-is-gated says the same of undici everywhere', () => {
  check(`${IMPORTS}\n${ALL}`, true);
  check("export { request, fetch } from 'undici'; export { «Pool } from 'undici';", true);
  check(`${IMPORTS}\n«new Pool(u); «new Client(u); «new Agent().request(o);`, true);
  check(`${IMPORTS}\n«request(u, { dispatcher: new Agent() }); «fetch(u, { dispatcher: new Agent() });`, true);
});
