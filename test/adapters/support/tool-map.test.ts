import { describe, expect, test } from 'vitest';
import { checkRule, checkToolMap, mappedOf, type ToolMap } from '../../../src/adapters/support/tool-map.ts';

const KNOWN = ['carrier', 'web'];
const check = (map: unknown, tools: readonly string[] = ['search']) =>
  checkToolMap(map as ToolMap, tools, KNOWN, 'gateTools');

describe('a map from tool to downstream', () => {
  test('is read: a name, a rule with a context, false, and the rest', () => {
    const map: ToolMap = {
      search: 'web',
      status: { downstream: 'carrier', priority: 'batch' },
      now: false,
      '*': 'web',
    };
    expect(() => check(map, ['search', 'status', 'now', 'other'])).not.toThrow();
    expect(mappedOf(map, 'search')).toEqual({ downstream: 'web', context: {} });
    expect(mappedOf(map, 'status')).toEqual({ downstream: 'carrier', context: { priority: 'batch' } });
    expect(mappedOf(map, 'now')).toBeUndefined();
    expect(mappedOf(map, 'other')).toEqual({ downstream: 'web', context: {} });
  });

  test('every problem is told at once', () => {
    const map = { serch: 'web', status: 'carier', price: null, stock: 7, news: { priority: 'batch' } };
    expect(() => check(map, ['search', 'status', 'price', 'stock', 'news'])).toThrow(
      [
        'gateTools: 6 problems in the map from tool to downstream',
        '  "search": no downstream; write one, or false for a tool that needs no gate; is "serch" meant for it?',
        '  "serch": no such tool; did you mean "search"?',
        '  "status": unknown downstream "carier"; did you mean "carrier"?',
        '  "price": expected a downstream, { downstream, ... } or false, found null',
        '  "stock": expected a downstream, { downstream, ... } or false, found 7',
        '  "news".downstream: expected a text, found undefined',
      ].join('\n'),
    );
  });

  test.each([
    ['true', true, '"search": expected a downstream, { downstream, ... } or false, found true'],
    ['a list', ['web'], '"search": expected a downstream, { downstream, ... } or false, found a list'],
    ['an empty text', '', '"search": unknown downstream ""; declared are: carrier, web'],
    [
      'a class',
      { downstream: 'web', priority: 'high' },
      '"search".priority: expected one of interactive, normal, batch, found "high"',
    ],
    [
      'a cost',
      { downstream: 'web', cost: { tokens: -1 } },
      '"search".cost: expected a number, or numbers per unit, found an object',
    ],
    [
      'a cost that is no number',
      { downstream: 'web', cost: Number.NaN },
      '"search".cost: expected a number, or numbers per unit, found NaN',
    ],
    [
      'a misspelt field',
      { downstream: 'web', priorty: 'batch' },
      '"search".priorty: no such field; did you mean priority?',
    ],
  ])('a rule that is wrong: %s', (_what, rule, problem) => {
    expect(() => check({ search: rule })).toThrow(
      `gateTools: 1 problem in the map from tool to downstream\n  ${problem}`,
    );
  });

  test.each([
    ['nothing', undefined, 'found undefined'],
    ['a list', ['web'], 'found a list'],
    ['a name', 'web', `found "web"; for all tools write { '*': "web" }`],
  ])('that is none: %s', (_what, map, found) => {
    expect(() => check(map)).toThrow(`gateTools: downstreams: expected a map from tool to downstream, ${found}`);
  });

  test('names that every object has are tools like others', () => {
    const names = ['constructor', '__proto__', 'toString'];
    expect(() => check({}, names)).toThrow('3 problems');
    const map = JSON.parse('{ "constructor": "web", "__proto__": "carrier", "toString": false }') as ToolMap;
    expect(() => check(map, names)).not.toThrow();
    expect(names.map((name) => mappedOf(map, name)?.downstream)).toEqual(['web', 'carrier', undefined]);
  });

  test('a rule that is undefined is none', () => {
    expect(() => check({ search: undefined })).toThrow('"search": no downstream');
    expect(mappedOf({ search: undefined, '*': 'web' }, 'search')).toEqual({ downstream: 'web', context: {} });
  });
});

test('a rule that stands alone names a downstream', () => {
  expect(() => checkRule('web', KNOWN, 'gateTool')).not.toThrow();
  expect(() => checkRule('wep', KNOWN, 'gateTool')).toThrow(
    'downstream: unknown downstream "wep"; did you mean "web"?',
  );
  expect(() => checkRule(false, KNOWN, 'gateTool')).toThrow('downstream: expected a text, found false');
});
