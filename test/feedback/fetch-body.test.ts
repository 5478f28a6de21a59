import { describe, expect, test } from 'vitest';
import { judge } from './judges.ts';

describe('of an answer of fetch', () => {
  class Lazy {
    readonly status: number;
    readonly bodyUsed = false;
    readonly headers = new Headers({ 'retry-after': '7' });
    constructor(status: number) {
      this.status = status;
    }
    get body(): never {
      throw new TypeError('a stream was made');
    }
    get json(): never {
      return this.body;
    }
    get text(): never {
      return this.body;
    }
  }

  /** The names of what is read of a value, its getters called on the value itself. */
  function readsOf(value: object, thrown: boolean): ReadonlySet<unknown> {
    const names = new Set<unknown>();
    const get = (target: object, name: string | symbol): unknown => {
      names.add(name);
      return Reflect.get(target, name, target);
    };
    judge(new Proxy(value, { get }), thrown);
    return names;
  }

  test.each([200, 429, 503])('%i: what would read or make its body is not touched', (status) => {
    for (const thrown of [true, false]) {
      const names = readsOf(new Lazy(status), thrown);
      for (const reader of ['body', 'json', 'text', 'blob', 'arrayBuffer', 'formData', 'clone', 'bytes'])
        expect(names).not.toContain(reader);
    }
  });

  test('of plain data a handful of names is read, and nothing is listed', () => {
    expect(readsOf({ rows: [] }, false).size).toBeLessThanOrEqual(9);
  });
});
