import { describe, expect, test } from 'vitest';
import { PolicyError } from '../../src/base/errors.ts';
import type { DownstreamPlan } from '../../src/base/plan.ts';
import { policyHash } from '../../src/policy/hash.ts';
import type { DownstreamPolicyInput, PolicyInput } from '../../src/policy/input.ts';
import { defaultsOf, resolveDownstream, resolvePolicy } from '../../src/policy/resolve.ts';

function plan(options: DownstreamPolicyInput): DownstreamPlan {
  return resolveDownstream('carrier', options);
}

function problems(run: () => unknown): string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof PolicyError) return error.problems.map(({ path, message }) => `${path}: ${message}`);
    throw error;
  }
  return [];
}

describe('the plan', () => {
  const input = (): PolicyInput => ({
    defaults: { workers: 2, cooldown: { base: '1s' } },
    downstreams: { carrier: { quota: '60/minute', hosts: ['a.example'], cooldown: { max: '30s' } } },
  });

  test('is frozen all the way down, and the input is left as it was', () => {
    const given = input();
    const resolved = resolvePolicy(given, { env: { PENSTOCK__CARRIER__MAX_WAIT: '5s' } });
    expect(given).toEqual(input());
    expect(Object.isFrozen(given)).toBe(false);
    const carrier = resolved.downstreams.get('carrier');
    const parts = [resolved, carrier, carrier?.quotas, carrier?.quotas[0], carrier?.defaultCost, carrier?.hosts];
    for (const part of parts) expect(Object.isFrozen(part)).toBe(true);
    expect(() => (resolved.downstreams as Map<string, unknown>).set('x', 1)).toThrow(TypeError);
    expect(carrier?.cooldown).toEqual({ baseMs: 1_000, maxMs: 30_000 });
  });

  test('takes undefined for every option that is left out', () => {
    const options = { quota: undefined, burst: undefined, cooldown: undefined, warm: { for: undefined } };
    expect(policyHash([plan(options)])).toBe(policyHash([plan({})]));
    const merged = resolveDownstream('a', { owner: undefined, cooldown: { base: undefined } }, { owner: 'x' });
    expect(merged.owner).toBe('x');
  });

  test('takes __proto__ and constructor for ordinary names', () => {
    const downstreams = JSON.parse('{"__proto__":{"quota":"60/minute"},"constructor":{},"toString":{}}');
    const resolved = resolvePolicy({ downstreams });
    expect([...resolved.downstreams.keys()]).toEqual(['__proto__', 'constructor', 'toString']);
    expect(resolved.downstreams.get('__proto__')?.quotas[0]?.limit).toBe(60);
    const cost = plan({ quota: '9 constructor/s', defaultCost: { constructor: 2 } }).defaultCost;
    expect({ ...cost }).toEqual({ requests: 1, constructor: 2 });
    expect(plan({}).defaultCost.constructor).toBeUndefined();
  });

  test('the hash is the same for the same meaning, and another for another', () => {
    const one = resolvePolicy({ downstreams: { a: { quota: '60/minute' }, b: {} } }).hash;
    const same = resolvePolicy({
      defaults: { utilization: 0.8 },
      downstreams: { b: {}, a: { quota: { limit: 60, per: 60_000 } } },
    }).hash;
    expect(same).toBe(one);
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    const others = [
      { a: { quota: '61/minute' }, b: {} },
      { a: { quota: '60/minute' }, b: { leaseGrace: 'never' } },
      { a: { quota: '60/minute' }, c: {} },
    ].map((downstreams) => resolvePolicy({ downstreams }).hash);
    expect(new Set([one, ...others]).size).toBe(4);
  });

  test('the hash of one policy is the same in every release of this major version', () => {
    expect(resolvePolicy({ downstreams: { carrier: { quota: '60/minute' } } }).hash).toBe('a82855b9ce386fad');
  });
});

describe('problems', () => {
  test('are all told at once, those of rules beside those of shape', () => {
    const found = problems(() =>
      resolvePolicy({ downstreams: { a: { quota: '60/minute', burst: 20, maxWiat: 3 }, b: null, '': {} } }),
    );
    expect(found.map((line) => line.split(': ')[0])).toEqual([
      'downstreams[""]',
      'downstreams.a.maxWiat',
      'downstreams.a.burst',
      'downstreams.b',
    ]);
  });

  test('a rule that rests on a broken option stays silent', () => {
    const found = problems(() => plan({ quota: 'sixty', burst: 20, defaultCost: { tokens: 5 } }));
    expect(found).toHaveLength(1);
  });

  test('of an inherited option are told where it stands', () => {
    const input = { defaults: { burst: 20 }, downstreams: { carrier: { quota: '60/minute' } } };
    expect(problems(() => resolvePolicy(input))[0]).toMatch(/^defaults\.burst: for carrier: burst 20 is too large/);
  });

  test.each([
    [undefined, 'policy: expected an object with downstreams; found nothing'],
    ['60/minute', 'policy: expected an object with downstreams; found the text "60/minute"'],
    [[], 'policy: expected an object with downstreams; found an empty list'],
    [{}, 'downstreams: expected an object: the name of each downstream, and its options; found nothing'],
  ])('%j is no policy', (input, message) => {
    expect(problems(() => resolvePolicy(input))).toEqual([message]);
  });

  test('a cyclic object is refused, not followed', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.carrier = { quota: '60/minute', self: cyclic };
    expect(problems(() => resolvePolicy({ downstreams: cyclic }))).toHaveLength(1);
  });

  test('B87: a default cost above the quota names the quota and what fits', () => {
    expect(problems(() => plan({ quota: '100 tokens/minute', defaultCost: { tokens: 1_024 } }))).toEqual([
      'downstreams.carrier.defaultCost.tokens: 1024 is more than the whole quota of 100 tokens/minute: no such call could ever start; use 80 or less',
    ]);
    expect(problems(() => plan({ quota: '100/minute', defaultCost: 60, workers: 2 }))[0]).toContain(
      'of which this worker has 50',
    );
  });

  test('carry what was found, what was expected and the nearest', () => {
    try {
      plan({ priority: 'batsh' } as never);
      expect.unreachable();
    } catch (error) {
      expect((error as PolicyError).problems[0]).toMatchObject({
        path: 'downstreams.carrier.priority',
        found: 'batsh',
        expected: 'interactive, normal or batch',
        nearest: 'batch',
      });
    }
  });
});

describe('at run time', () => {
  test.each(['', '  ', 'defaults', 'Defaults'])('the name %j is refused', (name) => {
    expect(problems(() => resolveDownstream(name, {}))).toHaveLength(1);
  });

  test('the defaults of the policy apply, those of the environment included', () => {
    const policy = { defaults: { maxWait: '5s' }, downstreams: {} };
    const defaults = defaultsOf(policy, { PENSTOCK__DEFAULTS__WORKERS: '2' });
    expect(resolveDownstream('late', { quota: '60/minute' }, defaults)).toMatchObject({
      maxWaitMs: 5_000,
      workers: 2,
    });
  });
});
