import { describe, expect, test } from 'vitest';
import { PolicyError } from '../../src/base/errors.ts';
import type { Environment } from '../../src/policy/environment.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';

const POLICY = {
  downstreams: {
    carrier: { quota: '60/minute', owner: 'logistics' },
    'my-api': { quota: { limit: 60, per: 'minute' } },
    model: { quota: '200000 tokens/minute', defaultCost: { tokens: 2000 } },
    a__b: {},
  },
};

function plan(name: string, env: Environment) {
  return resolvePolicy(POLICY, { env }).downstreams.get(name);
}

function problems(env: Environment): string[] {
  try {
    resolvePolicy(POLICY, { env });
  } catch (error) {
    if (error instanceof PolicyError) return error.problems.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}

describe('overrides', () => {
  test.each<[string, string, Environment, object]>([
    ['a duration', 'carrier', { PENSTOCK__CARRIER__MAX_WAIT: '20s' }, { maxWaitMs: 20_000 }],
    ['milliseconds', 'carrier', { PENSTOCK__CARRIER__MAX_WAIT: '500' }, { maxWaitMs: 500 }],
    ['a nested option', 'carrier', { PENSTOCK__CARRIER__COOLDOWN__MAX: '30s' }, { cooldown: { maxMs: 30_000 } }],
    ['a truth value', 'carrier', { PENSTOCK__CARRIER__IDEMPOTENT: 'true' }, { idempotent: true }],
    ['a text that looks like a number', 'carrier', { PENSTOCK__CARRIER__OWNER: '42' }, { owner: '42' }],
    ['a quota', 'carrier', { PENSTOCK__CARRIER__QUOTA: '120/minute' }, { quotas: [{ limit: 120 }] }],
    ['a part of a quota', 'my-api', { PENSTOCK__MY_API__QUOTA__LIMIT: '30' }, { quotas: [{ limit: 30 }] }],
    ['a cost', 'model', { PENSTOCK__MODEL__DEFAULT_COST__TOKENS: '9' }, { defaultCost: { tokens: 9 } }],
    ['a name that holds __', 'a__b', { PENSTOCK__A__B__MAX_CONCURRENT: '3' }, { maxConcurrent: 3 }],
    ['the defaults', 'carrier', { PENSTOCK__DEFAULTS__WORKERS: '4' }, { workers: 4 }],
    ['other variables are not ours', 'carrier', { PENSTOCKISH: 'x', PATH: '/bin' }, { workers: 1 }],
    ['an unset variable', 'carrier', { PENSTOCK__CARRIER__WORKERS: undefined }, { workers: 1 }],
    ['the mode of all', 'carrier', { PENSTOCK_MODE: 'observe' }, { mode: 'observe' }],
    ['a mode of its own', 'carrier', { PENSTOCK_MODE: 'observe', PENSTOCK__CARRIER__MODE: 'off' }, { mode: 'off' }],
    ['a mode that is set to nothing', 'carrier', { PENSTOCK_MODE: ' ' }, { workers: 1 }],
  ])('%s', (_what, name, env, expected) => {
    expect(plan(name, env)).toMatchObject(expected);
  });

  test.each<[Environment, string]>([
    [
      { PENSTOCK__CARIER__MAX_WAIT: '20s' },
      'PENSTOCK__CARIER__MAX_WAIT: no downstream is called CARIER in the environment; did you mean PENSTOCK__CARRIER__MAX_WAIT?',
    ],
    [
      { PENSTOCK__ZZZZZZZZZ__MAX_WAIT: '20s' },
      'PENSTOCK__ZZZZZZZZZ__MAX_WAIT: no downstream is called ZZZZZZZZZ in the environment; known are DEFAULTS, CARRIER, MY_API, MODEL, A__B',
    ],
    [
      { PENSTOCK__CARRIER__MAX_WIAT: '20s' },
      'PENSTOCK__CARRIER__MAX_WIAT: unknown option MAX_WIAT; did you mean MAX_WAIT?',
    ],
    [
      { PENSTOCK__CARRIER__COOLDOWN__MAXX: '20s' },
      'PENSTOCK__CARRIER__COOLDOWN__MAXX: unknown option MAXX; did you mean MAX?',
    ],
    [
      { PENSTOCK__CARRIER__BURST__SIZE: '20' },
      'PENSTOCK__CARRIER__BURST__SIZE: unknown option SIZE; burst has no parts',
    ],
    [
      { PENSTOCK__CARRIER__MAX_CONCURRENT: '0' },
      'PENSTOCK__CARRIER__MAX_CONCURRENT: expected a whole number, 1 or more (omit it for no limit); found the text "0"',
    ],
    [
      { PENSTOCK__CARRIER__WORKERS: '' },
      'PENSTOCK__CARRIER__WORKERS: expected a whole number, 1 or more; found an empty text',
    ],
    [
      { PENSTOCK__CARRIER__HOSTS: 'a.example' },
      'PENSTOCK__CARRIER__HOSTS: expected a list of hosts, such as [api.example.com]; found the text "a.example" (a list can only be set in the policy)',
    ],
    [
      { PENSTOCK__CARRIER__QUOTA__LIMIT: '70' },
      'PENSTOCK__CARRIER__QUOTA__LIMIT: the quota is no object in the policy: override it as a whole, QUOTA=60/minute',
    ],
    [
      { PENSTOCK_MODE: 'observ' },
      'PENSTOCK_MODE: expected enforce, observe or off; found the text "observ"; did you mean observe?',
    ],
    [{ PENSTOCK_MODE: 'true' }, 'PENSTOCK_MODE: expected enforce, observe or off; found the text "true"'],
  ])('%j is refused', (env, message) => {
    expect(problems(env)).toEqual([message]);
  });

  test('a rule that an override breaks names the variable', () => {
    expect(problems({ PENSTOCK__CARRIER__BURST: '20' })[0]).toMatch(
      /^downstreams\.carrier\.burst: burst 20 is too large: .* \(set by PENSTOCK__CARRIER__BURST\)$/,
    );
  });

  test('the policy itself is not changed', () => {
    const before = structuredClone(POLICY);
    plan('carrier', { PENSTOCK__CARRIER__COOLDOWN__MAX: '30s', PENSTOCK__MY_API__QUOTA__LIMIT: '30' });
    expect(POLICY).toEqual(before);
  });

  test('__proto__ can be overridden like any other name', () => {
    const policy = { downstreams: JSON.parse('{"__proto__":{"quota":"60/minute"}}') };
    const resolved = resolvePolicy(policy, { env: { PENSTOCK____PROTO____MAX_WAIT: '1s' } });
    expect(resolved.downstreams.get('__proto__')).toMatchObject({ maxWaitMs: 1_000 });
    expect(({} as { maxWait?: unknown }).maxWait).toBeUndefined();
  });
});
