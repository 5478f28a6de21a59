import { describe, expect, it } from 'vitest';
import { createDispatcher, type Dispatcher } from '../../src/dispatcher.ts';
import type { PolicyInput } from '../../src/policy/input.ts';
import { ManualClock, openDispatcher, refusingDispatcher } from '../../src/testing.ts';
import { bare } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { refusalOf, unreadable } from './support/odd.ts';

const boom = new Error('getter');
const withGetter = (key: string): object =>
  Object.defineProperty({}, key, {
    enumerable: true,
    get: () => {
      throw boom;
    },
  });

/** Contexts that are none, or throw when they are read. */
const CONTEXTS: readonly (readonly [name: string, ctx: unknown])[] = [
  ['a number', 5],
  ['a text', 'x'],
  ['true', true],
  ['a list', []],
  ['a Map', new Map()],
  ['a function', () => 1],
  ['a symbol', Symbol('s')],
  ...['signal', 'account', 'priority', 'cost', 'deadline', 'runId'].map(
    (key) => [`a getter of ${key} that throws`, withGetter(key)] as const,
  ),
  ['a proxy that throws', unreadable()],
  ['a Symbol as deadline', { deadline: Symbol('s') }],
  ['a BigInt as deadline', { deadline: 10n }],
  ['an object without a prototype as deadline', { deadline: Object.create(null) }],
];

const NAMES: readonly (readonly [name: string, downstream: unknown])[] = [
  ['a symbol', Symbol('s')],
  ['an object without a prototype', Object.create(null)],
  ['null', null],
  ['undefined', undefined],
  ['a number', 5],
  ['an empty text', ''],
  ['__proto__', '__proto__'],
  ['a proxy that throws', unreadable()],
];

function stage(): Dispatcher {
  const policy = { downstreams: { api: { maxConcurrent: 1 } } };
  return createDispatcher(policy, { clock: new ManualClock(), alertSinks: [], env: {} }) as Dispatcher;
}

/** The same dispatcher, plain and behind a `with` that has a deadline of its own. */
function faces(dispatcher: Dispatcher): Dispatcher[] {
  return [dispatcher, dispatcher.with({ tool: 't', deadline: 4e12 })];
}

/** Resolves to what the promise rejects with; throws where the call itself throws, or fulfils. */
async function rejection(call: () => Promise<unknown>): Promise<unknown> {
  const promise = call();
  return promise.then(
    (value) => {
      throw new Error(`fulfilled with ${String(value)}`);
    },
    (error: unknown) => error,
  );
}

describe('callDownstream and acquire never throw synchronously', () => {
  it.each(CONTEXTS)('whatever the context is: %s', async (_, ctx) => {
    const dispatcher = stage();
    for (const { callDownstream, acquire } of faces(dispatcher)) {
      const errors = [
        await rejection(() => callDownstream('api', () => 1, ctx as never)),
        await rejection(() => acquire('api', ctx as never)),
      ];
      for (const error of errors) expect(error).toSatisfy((one) => one instanceof Error);
    }
    expect(dispatcher.snapshot().downstreams[0]).toMatchObject({ running: 0, queued: 0 });
    expect(await dispatcher.callDownstream('api', () => 'next')).toBe('next');
  });

  it('null is no context, and a Symbol is no deadline, behind with() neither', async () => {
    for (const { callDownstream } of faces(stage())) {
      expect(await callDownstream('api', () => 1, null as never)).toBe(1);
      const refused = await refusalOf(callDownstream('api', () => 1, { deadline: Symbol('s') as never }));
      expect(refused).toMatchObject({ code: 'INVALID_CALL', message: expect.stringContaining('ctx.deadline') });
    }
    const { callDownstream } = stage().with({ deadline: Number.NaN });
    expect(await refusalOf(callDownstream('api', () => 1, { deadline: 4e12 }))).toMatchObject({ code: 'INVALID_CALL' });
  });

  it.each(NAMES)('whatever the name is: %s', async (_, name) => {
    const { callDownstream, acquire } = stage();
    const unknown = { code: 'UNKNOWN_DOWNSTREAM', message: expect.stringContaining('api') };
    expect(await rejection(() => callDownstream(name as never, () => 1))).toMatchObject(unknown);
    expect(await rejection(() => acquire(name as never))).toMatchObject(unknown);
  });
});

describe('What is wrong with a call is looked for in this order', () => {
  const aborted = AbortSignal.abort('nobody wants it');

  it('closed, then unknown, then aborted, then invalid', async () => {
    const dispatcher = stage();
    const { callDownstream } = dispatcher;
    const notFn = 5 as never;
    for (const ctx of [{ priority: 'x' }, { account: '' }, { deadline: 5 }, { cost: -1 }]) {
      const ask = { ...ctx, signal: aborted } as never;
      expect(await rejection(() => callDownstream('nope', notFn, ask))).toMatchObject({ code: 'UNKNOWN_DOWNSTREAM' });
      expect(await rejection(() => callDownstream('api', notFn, ask))).toBe('nobody wants it');
      expect(await rejection(() => callDownstream('api', notFn, ctx as never))).toMatchObject({ code: 'INVALID_CALL' });
    }
    await dispatcher.close();
    expect(await rejection(() => callDownstream('nope', notFn, { signal: aborted }))).toMatchObject({
      code: 'DISPATCHER_CLOSED',
    });
  });

  it.each([
    ['null', null],
    ['a text', 'x'],
    ['an AbortController', new AbortController()],
    ['an object', {}],
    ['an object with `aborted` alone', { aborted: false }],
    ['a symbol', Symbol('s')],
  ])('a signal that is no AbortSignal is an InvalidCall, and takes no place: %s', async (_, signal) => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    const refused = await refusalOf(rig.dispatcher.callDownstream('api', () => 1, { signal: signal as never }));
    expect(refused).toMatchObject({ code: 'INVALID_CALL', message: expect.stringContaining('ctx.signal') });
    const next = rig.call();
    await rig.settle();
    expect(next.startedMs).toBe(0);
    await rig.rest({ otherCalls: 1 });
  });
});

describe('wrap', () => {
  it.each([
    ['of a dispatcher', stage()],
    ['of a double', openDispatcher()],
  ])('%s passes `this` to the function and to ctxOf, and what they throw', async (_, { wrap }) => {
    const seen: unknown[] = [];
    const carrier = {
      base: 40,
      add: wrap(
        'api',
        function (this: unknown, more: number) {
          return (this as { base: number }).base + more;
        },
        function (this: unknown) {
          seen.push(this);
          return {};
        },
      ),
    };
    expect(await carrier.add(2)).toBe(42);
    expect(seen).toEqual([carrier]);
    const fail = (): never => {
      throw boom;
    };
    expect(await rejection(() => wrap('api', fail)())).toBe(boom);
    expect(await rejection(() => wrap('api', () => 1, fail)())).toBe(boom);
  });
});

describe('A double never throws synchronously either', () => {
  const doubles = () => [openDispatcher(), refusingDispatcher('RATE_LIMITED')];

  it.each([...NAMES, ['a name that is kept', 'defaults'] as const])('whatever the name is: %s', async (_, name) => {
    for (const { callDownstream, acquire, wrap } of doubles()) {
      for (const call of [
        () => callDownstream(name as never, () => 1),
        () => acquire(name as never),
        () => wrap(name as never, () => 1)(),
      ]) {
        // `__proto__` is a name like any other.
        await call().then(undefined, (error: unknown) => expect(error).toBeInstanceOf(Error));
      }
    }
  });

  it.each(CONTEXTS)('whatever the context is: %s', async (_, ctx) => {
    for (const double of doubles()) {
      for (const { callDownstream, acquire } of faces(double)) {
        expect(await rejection(() => callDownstream('api', () => 1, ctx as never))).toBeInstanceOf(Error);
        expect(await rejection(() => acquire('api', ctx as never))).toBeInstanceOf(Error);
      }
    }
  });

  it('and, once it is closed, refuses even names that it has not heard before', async () => {
    const double = openDispatcher();
    await double.close();
    expect(await refusalOf(double.callDownstream('new', () => 1))).toMatchObject({ code: 'DISPATCHER_CLOSED' });
    expect(() => double.require(['defaults'])).toThrow(/unknown downstream/);
  });
});

describe('names of classifiers', () => {
  const never = () => undefined;

  it.each([
    ['asked for and not passed', { api: { classify: 'graphQL' } }, {}, 'did you mean "graphql"?'],
    ['passed and not asked for, but for its spelling', { 'my-api': {} }, { myApi: never }, 'did you mean "my-api"?'],
  ])('%s: an error that names the right one', (_, downstreams, classify, message) => {
    const make = () => createDispatcher({ downstreams } as PolicyInput, { env: {}, alertSinks: [], classify });
    expect(make).toThrow(message);
  });

  it('passed for a downstream that may be registered later: none', () => {
    const make = () =>
      createDispatcher({ downstreams: { api: {} } }, { env: {}, alertSinks: [], classify: { later: never } });
    expect(make).not.toThrow();
  });
});
