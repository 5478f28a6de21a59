import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

/** `«` stands before what has to be found; there is nothing else to find. */
const check = (text: string) => {
  const { found, expected, report } = places(text);
  expect(report.problem).toBeUndefined();
  expect(found).toEqual(expected);
};

describe('the global fetch, wherever it is called or handed on', () => {
  test.each([
    ['a call', '«fetch(url);'],
    ['a call that may not be', '«fetch?.(url);'],
    ['by the global object', '«globalThis.fetch(u); «window.fetch(u); «self.fetch(u); «global.fetch(u);'],
    ['by a name in brackets', "«globalThis['fetch'](u); «self[`fetch`](u);"],
    ['by a name in a constant', "const name = 'fetch'; «globalThis[name](u);"],
    [
      'through optional chains and casts',
      '«globalThis?.fetch?.(u); «(globalThis as any).fetch(u); «globalThis!.fetch!(u);',
    ],
    ['by a global object of a global object', '«globalThis.window.fetch(u);'],
    ['by another name for the global object', 'const g = globalThis; «g.fetch(u);'],
    ['by call, apply and bind', '«fetch.call(null, u); «fetch.apply(null, [u]); const f = «fetch.bind(null);'],
    ['another name, found once', 'const f = «fetch; f(1); f(2); f(3);'],
    ['another name given later', 'let f; f = «fetch; f(1);'],
    ['another name where there is none', 'let f; f ??= «fetch; f(1);'],
    [
      'taken out of the global object',
      'const { «fetch: f, other } = globalThis; f(1);'.replace('«fetch: f', 'fetch: «f'),
    ],
    ['in an object', 'const o = { «fetch };'],
    ['in an object by another name', 'const o = { send: «fetch };'],
    ['in a list', 'const o = [«fetch];'],
    ['as an argument', 'retrying(«fetch);'],
    ['as a default', 'function f(send = «fetch) { return send(1); }'],
    ['as a default in a pattern', 'const f = ({ send = «fetch } = {}) => send(1);'],
    ['as a default of a constructor', 'class A { constructor(private readonly send = «fetch) {} }'],
    ['as a field', 'class A { fetch = «fetch; static #send = «fetch; }'],
    ['as what is returned', 'const f = () => «fetch; function g() { return «fetch; }'],
    ['as one of two', 'const f = options.fetch ?? «fetch; const g = a ? «fetch : b; const h = a && «fetch;'],
    ['as one of two that is called', '(«options.fetch ?? fetch)(u);'],
    ['as an export', 'export default «fetch;'],
    ['as an export of CommonJS', 'module.exports = «fetch; exports.send = «fetch;'],
    ['in JSX', 'const a = <A send={«fetch} onClick={() => «fetch(u)}>fetch</A>;'],
    ['at the end of a comma', '(«0, fetch)(u);'],
    ['in a template, a spread, a yield', 'function* f() { yield tag`a`, «fetch(u); yield* g(...[«fetch(u)]); }'],
    ['by what only has a method of that name', 'this.caller.call(«fetch, u); queue.apply(«fetch); f.bind(«fetch);'],
    ['by Reflect', 'Reflect.apply(«fetch, null, [u]);'],
    [
      'XMLHttpRequest, EventSource, sendBeacon',
      '«new XMLHttpRequest(); «new EventSource(u); «navigator.sendBeacon(u);',
    ],
    ['in a decorator', '@send(«fetch) class A { @send(«fetch) m(@send(«fetch) a) {} }'],
  ])('%s', (_, text) => check(text));
});

describe('what is called fetch and is something else', () => {
  test.each([
    ['a parameter', 'function f(fetch) { return fetch(1); }'],
    ['a parameter of an arrow', 'const f = (fetch) => fetch(1), g = async (fetch) => fetch(1);'],
    ['a parameter in a pattern', 'function f({ fetch }) { fetch(1); } function g([fetch]) { fetch(1); }'],
    ['a parameter with another name outside', 'function f({ send: fetch }) { fetch(1); }'],
    ['a parameter with a default', 'function f(fetch = gated) { fetch(1); }'],
    ['the rest', 'function f(...fetch) { fetch(1); } const { a, ...fetch2 } = b; fetch2(1);'],
    ['a parameter of a constructor', 'class A { constructor(private fetch: F) { fetch(1); } }'],
    ['a function below', 'fetch(1); function fetch(a) {}'],
    ['a function in a block', '{ fetch(1); function fetch() {} } «fetch(2);'],
    ['a function with overloads', 'function fetch(a: string): void; function fetch(a: any) {} fetch(1);'],
    ['a var below, out of a block', 'function f() { fetch(1); if (a) { var fetch = b; } }'],
    ['a let of a block', '{ let fetch = a; fetch(1); } «fetch(2);'],
    ['a const, an array pattern, an object pattern', 'const [fetch] = a; fetch(1);'],
    ['a class', 'class fetch {} new fetch(); fetch.x();'],
    ['the name of a function expression', 'const f = function fetch() { fetch(1); }; «fetch(2);'],
    ['the name of a class expression', 'const f = class fetch { m() { fetch(1); } }; «fetch(2);'],
    ['what was caught', 'try {} catch (fetch) { fetch(1); } try {} catch ({ fetch }) { fetch(1); } «fetch(2);'],
    ['the variable of a loop', 'for (const fetch of fetchers) fetch(1); for (let fetch = a; b; ) fetch(1); «fetch(2);'],
    ['a case', 'switch (a) { case 1: let fetch = b; default: fetch(1); } «fetch(2);'],
    ['an import', "import { fetch } from './gated.ts'; fetch(1);"],
    ['an import by another name', "import { gated as fetch } from '../gated'; fetch(1);"],
    ['an enum, a namespace', 'enum fetch { a } namespace N { export const fetch = a; fetch(1); }'],
    ['a property', 'obj.fetch(1); queryClient.fetch(1); this.fetch(1); super_.fetch?.(1); a.b.fetch.call(1);'],
    ['a key', 'const o = { fetch: gated, fetch2() {}, async fetch() {}, get fetch() { return 1; } };'],
    ['a method, a private one', 'class A { fetch() {} #fetch() {} m() { this.#fetch(); } static fetch = 1; }'],
    ['a label', 'fetch: for (;;) { continue fetch; }'],
    [
      'a type',
      'type F = typeof fetch; let f: typeof globalThis.fetch; interface I { fetch: typeof fetch; fetch(): void }',
    ],
    ['a type argument', 'make<typeof fetch>(gated); const a = b as typeof fetch; const c = d satisfies typeof fetch;'],
    ['an abstract method', 'abstract class A { abstract fetch(): void; declare fetch: F; }'],
    ['an attribute', 'const a = <fetch fetch="1" />;'],
    ['a name that only says what there is', "typeof fetch === 'function'; typeof globalThis.fetch !== 'undefined';"],
    [
      'a question whether it is there',
      'if (fetch) {} if (!globalThis.fetch) {} fetch ? 1 : 2; fetch === a; void fetch;',
    ],
    [
      'what is put in its place',
      'globalThis.fetch = gated; delete globalThis.fetch; fetch = gated; ({ fetch } = gates);',
    ],
    ['a text and a comment', "'fetch(1)'; /fetch(1)/; // fetch(1)\n/* fetch(1) */"],
    ['an event', "addEventListener('fetch', (event) => event.respondWith(gated(event)));"],
    ['a handler of a worker', 'export default { async fetch(request) { return handle(request); } };'],
  ])('%s', (_, text) => check(text));

  test('what is only declared is the global', () => {
    check('declare const fetch: any; «fetch(1);');
    check('declare function fetch(a: string): void; «fetch(1);');
    check('declare global { function fetch(): void } «fetch(1); export {};');
  });

  test('a type of that name hides nothing', () => {
    check("import type { fetch } from './a'; «fetch(1);");
    check("import { type fetch } from './a'; «fetch(1);");
    check('interface fetch {} «fetch(1);');
    check('type fetch = 1; «fetch(1);');
  });

  test('a default of a parameter does not see what the body declares', () => {
    check('function f(a = «fetch) { var fetch = 1; fetch(a); }');
    check('function f(fetch, a = fetch) {}');
    check('const f = (a = () => «fetch(1)) => { function fetch() {} };');
  });
});

test('a byte order mark is no column', () => {
  const { report } = places('\uFEFFfetch(1);\r\n  fetch(2);\r\n');
  expect(report.findings.map(({ line, column }) => [line, column])).toEqual([
    [1, 1],
    [2, 3],
  ]);
});
