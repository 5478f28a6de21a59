import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scanText } from '../../src/guard/scan.ts';

/** Reads `fetch` when it runs; what it read is compared with the global. */
const PROBE = 'probe(#,()=>fetch)';

const block = (body: fc.Arbitrary<string>) => body.map((inner) => `{${inner}}`);
const declaration = fc.constantFrom(
  'let fetch = 0;',
  'const fetch = 0;',
  'var fetch = 0;',
  'function fetch() {}',
  'async function fetch() {}',
  'class fetch {}',
  'const { a: fetch } = {};',
  'const { fetch } = {};',
  'const { b: { fetch } = {} } = {};',
  'let [, fetch] = [];',
  'var { ...fetch } = {};',
  `const { a: fetch = ${PROBE} } = {};`,
  'if (true) { var fetch = 1; }',
  'let other = { fetch: 0 }; other.fetch = 1; other?.fetch;',
);
const parameters = fc.constantFrom(
  '',
  'fetch',
  'fetch = 0',
  '{ fetch } = {}',
  '{ a: fetch } = {}',
  '[fetch] = []',
  '...fetch',
  `a = ${PROBE}`,
  `a = ${PROBE}, fetch`,
  `fetch, a = ${PROBE}`,
  `{ a = ${PROBE} } = {}`,
  `{ [${PROBE}]: fetch } = {}`,
  `{ fetch = ${PROBE} } = {}`,
  `a = function fetch() { ${PROBE}; }(), b = ${PROBE}`,
);

const { statements } = fc.letrec<{ statements: string; statement: string }>((tie) => ({
  statements: fc.array(tie('statement'), { maxLength: 4 }).map((all) => all.join('')),
  statement: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'statement' },
    fc.constant(`${PROBE};`),
    declaration,
    block(tie('statements')),
    block(tie('statements')).map((body) => `for (let fetch = 0, n = 0; n < 1; n++) ${body}`),
    block(tie('statements')).map((body) => `for (const fetch of [${PROBE}]) ${body}`),
    block(tie('statements')).map((body) => `for (var fetch of [0]) ${body}`),
    block(tie('statements')).map((body) => `for (const n in { a: ${PROBE} }) ${body}`),
    block(tie('statements')).map((body) => `try { throw {}; } catch (fetch) ${body}`),
    block(tie('statements')).map((body) => `try { throw {}; } catch ({ fetch, a = ${PROBE} }) ${body}`),
    block(tie('statements')).map((body) => `try ${body} finally { ${PROBE}; }`),
    tie('statements').map((body) => `switch (${PROBE}) { default: ${body} }`),
    block(tie('statements')).map((body) => `fetch: if (true) ${body} else {}`),
    fc.tuple(parameters, block(tie('statements'))).map(([given, body]) => `(function (${given}) ${body})();`),
    fc.tuple(parameters, block(tie('statements'))).map(([given, body]) => `(function fetch(${given}) ${body})();`),
    fc.tuple(parameters, block(tie('statements'))).map(([given, body]) => `((${given}) => ${body})();`),
    fc.tuple(parameters, block(tie('statements'))).map(([given, body]) => `({ fetch(${given}) ${body} }).fetch();`),
    fc
      .tuple(parameters, block(tie('statements')))
      .map(([given, body]) => `new (class { constructor(${given}) ${body} })();`),
    block(tie('statements')).map((body) => `(class fetch { static fetch = ${PROBE}; static ${body} });`),
    block(tie('statements')).map((body) => `(class { static [${PROBE}] = ${PROBE}; static ${body} });`),
    block(tie('statements')).map((body) => `({ [${PROBE}]: 0, fetch: ${PROBE}, a: () => ${body} }).a();`),
  ),
}));

/** The probes that read the global, when the program runs: the engine itself is the judge. */
function readAtRun(code: string): Set<number> | undefined {
  const read = new Set<number>();
  const probe = (number: number, thunk: () => unknown): number => {
    try {
      if (thunk() === globalThis.fetch) read.add(number);
    } catch {
      // A name before its declaration is a name all the same.
    }
    return number;
  };
  let program: (probe: unknown) => void;
  try {
    program = new Function('probe', code) as typeof program;
  } catch {
    return undefined;
  }
  program(probe);
  return read;
}

test('names mean what they mean to the engine', () => {
  let judged = 0;
  fc.assert(
    fc.property(statements, (text) => {
      let count = 0;
      const code = `(function () {'use strict';${text.replaceAll('#', () => String(count++))}})();`;
      const expected = readAtRun(code);
      fc.pre(expected !== undefined);
      judged += count;
      const { findings, problem } = scanText('a.js', code);
      expect(problem).toBeUndefined();
      const found = findings.map(({ column }) => Number(/(\d+),\(\)=>$/.exec(code.slice(0, column - 1))?.[1]));
      expect(found.sort((a, b) => a - b)).toEqual([...(expected ?? [])].sort((a, b) => a - b));
    }),
    { numRuns: 1_000 },
  );
  expect(judged).toBeGreaterThan(1_000);
});
