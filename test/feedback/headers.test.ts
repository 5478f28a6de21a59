import { Metadata } from '@grpc/grpc-js';
import { AxiosHeaders } from 'axios';
import { Headers as NodeFetchHeaders } from 'node-fetch';
import { describe, expect, test } from 'vitest';
import { headerReader } from '../../src/feedback/headers.ts';

/** As Azure's core keeps them: names as sent, found by any casing, listed in pairs. */
class HttpHeaders {
  readonly _headersMap = new Map([['retry-after', { name: 'Retry-After', value: '7' }]]);
  get(name: string): string | undefined {
    return this._headersMap.get(name.toLowerCase())?.value;
  }
  *[Symbol.iterator](): Iterator<[string, string]> {
    for (const { name, value } of this._headersMap.values()) yield [name, value];
  }
}

class Opaque {
  readonly #values = new Map([['retry-after', '7']]);
  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }
}

function metadata(): Metadata {
  const made = new Metadata();
  made.set('retry-after', '7');
  made.set('grpc-status-details-bin', Buffer.from('x'));
  return made;
}

const boom = (): never => {
  throw new Error('no');
};

const bare: Record<string, string> = Object.assign(Object.create(null), { 'RETRY-AFTER': '7' });

const SEVEN: readonly (readonly [string, object])[] = [
  ['Headers', new Headers({ 'Retry-After': '7' })],
  ['the Headers of node-fetch', new NodeFetchHeaders({ 'Retry-After': '7' })],
  ['the Headers of axios', new AxiosHeaders({ 'Retry-After': '7' })],
  ['the headers of Azure', new HttpHeaders()],
  ['gRPC metadata', metadata()],
  ['a class with nothing but get()', new Opaque()],
  ['lower case', { 'retry-after': '7' }],
  ['another case', { 'Retry-after': '7' }],
  ['no prototype', bare],
  ['a list of one value', { 'Retry-After': ['7'] }],
  ['a number', { 'retry-after': 7 }],
  ['a bigint', { 'retry-after': 7n }],
  ['a Map', new Map([['retry-after', '7']])],
  ['a Map in another case', new Map([['Retry-After', '7']])],
  ['pairs', [['Retry-After', '7']]],
  ['a flat list', ['Date', 'x', 'Retry-After', '7']],
  ['a list of names and values', [{ name: 'Retry-After', value: '7' }]],
  ['a list of keys and values', [{ key: 'Retry-After', value: '7' }]],
  ['a header called get', { get: '1', 'retry-after': '7' }],
  ['a get() that is none of headers', { get: () => ({ some: 'thing' }), 'retry-after': '7' }],
  ['a get() that wants something else', { get: boom, 'Retry-After': '7' }],
  ['a get() that answers later', { get: () => Promise.reject(new Error('late')), 'Retry-After': '7' }],
  [
    'a getter that throws beside it',
    Object.defineProperty({ 'retry-after': '7' }, 'a', { get: boom, enumerable: true }),
  ],
  ['a Proxy', new Proxy({ 'Retry-After': '7' }, {})],
  [
    'an iterator that breaks later',
    {
      *[Symbol.iterator]() {
        yield ['Retry-After', '7'];
        boom();
      },
    },
  ],
  ['a header called size', { size: '3', 'retry-after': '7' }],
];

test.each(SEVEN)('B39: %s: found, listed once, and nothing else is', (_, container) => {
  const read = headerReader(container);
  expect(read?.('retry-after')).toBe('7');
  expect(read?.('retry-after-ms')).toBeUndefined();
  expect(read?.('constructor')).toBeUndefined();
  const listed = read?.matching?.(/retry-after/i);
  if (container instanceof Metadata || container instanceof Opaque) expect(listed).toBeUndefined();
  else expect(listed).toEqual(['retry-after']);
});

test.each([
  ['a list', { 'retry-after': ['2', '7'] }],
  ['two casings', { 'Retry-After': '2', 'retry-after': '7' }],
  [
    'Headers',
    new Headers([
      ['retry-after', '2'],
      ['Retry-After', '7'],
    ]),
  ],
  [
    'pairs',
    [
      ['retry-after', '2'],
      ['RETRY-AFTER', '7'],
    ],
  ],
  ['a flat list', ['retry-after', '2', 'Retry-After', '7']],
  [
    'a Map of two casings',
    new Map([
      ['retry-after', '2'],
      ['Retry-After', '7'],
    ]),
  ],
  ['pairs with a list', [['retry-after', ['2', '7']]]],
])('several values are joined: %s', (_, container) => {
  const read = headerReader(container);
  expect(read?.('retry-after')).toBe('2, 7');
  expect(read?.matching?.(/retry/i)).toEqual(['retry-after']);
});

describe('what is no container, or holds nothing', () => {
  test.each([
    ['text', 'retry-after: 7'],
    ['a number', 7],
    ['null', null],
    ['undefined', undefined],
    ['a function', boom],
  ])('%s is none', (_, value) => {
    expect(headerReader(value)).toBeUndefined();
  });

  test('bytes are none: they may be many', () => {
    expect(headerReader(new Uint8Array(1e6))).toBeUndefined();
  });

  const all = { get: boom, has: boom, ownKeys: boom, getOwnPropertyDescriptor: boom, getPrototypeOf: boom };
  const circular: unknown[] = [];
  circular.push(circular, ['retry-after', [circular]]);
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  test.each<readonly [string, object]>([
    ['a Proxy that always throws', new Proxy({}, all)],
    ['a revoked Proxy', revoked.proxy],
    ['a list that contains itself', circular],
    ['a symbol as value', { 'retry-after': Symbol('7') }],
    ['bytes as value', { 'retry-after': new Uint8Array([55]) }],
    ['an object as value', { 'retry-after': { toString: () => '7' } }],
    ['a Set', new Set(['Retry-After: 7'])],
    ['keys() that throws', { get: () => undefined, keys: boom }],
    ['a list of odd things', [undefined, null, 7, [Symbol('x'), '7'], {}]],
    ['inherited', Object.create({ 'retry-after': '7' }) as object],
  ])('%s', (_, container) => {
    const read = headerReader(container);
    expect(read?.('retry-after')).toBeUndefined();
    expect(read?.matching?.(/nothing/) ?? []).toEqual([]);
  });

  test('an iterator that never ends is left', () => {
    function* forEver() {
      for (let at = 0; ; at++) yield [`x-${at}`, '1'];
    }
    const read = headerReader({ [Symbol.iterator]: forEver });
    expect(read?.('x-5')).toBe('1');
    expect(read?.('retry-after')).toBeUndefined();
  });

  test('an iterator that can be walked once stays unwalked', () => {
    const entries = new Headers({ 'retry-after': '7' }).entries();
    expect(headerReader(entries)?.('retry-after')).toBeUndefined();
    expect([...entries]).toEqual([['retry-after', '7']]);
  });
});

test('a number has no exponent in a header', () => {
  expect(headerReader({ a: 1e21 })?.('a')).toBe('1000000000000000000000');
  expect(headerReader({ a: 1e-7 })?.('a')).toBe('0.00000010000000000000');
});
