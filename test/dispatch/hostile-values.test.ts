import { describe, expect, it } from 'vitest';
import { isAdmissionError, PolicyError } from '../../src/base/errors.ts';
import { createDispatcher } from '../../src/dispatcher.ts';
import { explain } from '../../src/explain.ts';
import { bare } from '../support/configs.ts';
import { Rig } from '../support/rig.ts';
import { revoked, unreadable } from './support/odd.ts';

/** A promise whose properties throw, as only a debugger or an attacker makes one. */
function guardedPromise(key: 'constructor' | 'then'): Promise<number> {
  const promise = Promise.resolve(1);
  return Object.defineProperty(promise, key, {
    get: () => {
      throw new Error(`${key} is not for you`);
    },
  });
}

const HOSTILE: readonly (readonly [name: string, make: () => object])[] = [
  ['a revoked proxy', revoked],
  ['a proxy that throws at everything', unreadable],
];

const circle: { self?: unknown } = {};
circle.self = circle;

describe('A value that resists being read', () => {
  it.each([
    ['a BigInt', 10n],
    ['a circle', circle],
    ['a symbol', Symbol('x')],
    ['an object without a prototype', Object.create(null)],
    ['a list of BigInts', [1n, 2n]],
  ])('in a policy (%s): the error says what is wrong, and its JSON can be written', (_, quota) => {
    let thrown: unknown;
    try {
      createDispatcher({ downstreams: { api: { quota: quota as never } } }, { alertSinks: [], env: {} });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(PolicyError);
    const json = JSON.parse(JSON.stringify(thrown));
    expect(json).toMatchObject({ name: 'PolicyError', code: 'INVALID_POLICY' });
    expect(json.problems[0]).toMatchObject({ path: expect.stringContaining('api.quota'), message: expect.any(String) });
  });

  it.each(HOSTILE)('is no error of ours, and is explained all the same: %s', (_, make) => {
    expect(isAdmissionError(make())).toBe(false);
    expect(explain(make())).toMatchObject({ code: 'FAILED', started: true, message: expect.any(String) });
  });

  it.each(HOSTILE)('given to release() gives back the place: %s', async (_, make) => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    const lease = await rig.dispatcher.acquire('api');
    const next = rig.call();
    lease.release(make());
    await rig.settle();
    expect(next.startedMs).toBe(0);
    await rig.rest({ otherCalls: 1 });
  });

  it.each(HOSTILE)('given to report() holds nothing: %s', async (_, make) => {
    const rig = new Rig(bare());
    expect(() => rig.dispatcher.report('api', make())).not.toThrow();
    expect(rig.snap().holds).toEqual([]);
    await rig.rest();
  });

  it.each(HOSTILE)('thrown or rejected by fn reaches the caller as it is: %s', async (_, make) => {
    const rig = new Rig(bare({ maxConcurrent: 1 }));
    const thrown = make();
    const fail = (): never => {
      throw thrown;
    };
    const calls = [fail, () => Promise.reject(thrown)].flatMap((fn) => [
      rig.call({ fn }),
      rig.call({ fn, deadlineIn: 60_000 }),
    ]);
    await rig.settle();
    expect(calls.map((call) => [call.state, call.error === thrown])).toEqual(calls.map(() => ['rejected', true]));
    await rig.rest();
  });

  it.each(['constructor', 'then'] as const)(
    "as fn's promise, its %s throwing: the call ends as `await` would, with a deadline and without",
    async (key) => {
      const rig = new Rig(bare({ maxConcurrent: 1 }));
      const awaited = await (async () => guardedPromise(key))().then(
        () => 'fulfilled',
        () => 'rejected',
      );
      const calls = [undefined, 1_000].map((deadlineIn) =>
        rig.call({ fn: () => guardedPromise(key), ...(deadlineIn === undefined ? {} : { deadlineIn }) }),
      );
      const next = rig.call();
      await rig.settle();
      expect(calls.map((call) => call.state)).toEqual([awaited, awaited]);
      expect([next.startedMs, rig.snap().running]).toEqual([0, 0]);
      await rig.rest();
    },
  );
});
