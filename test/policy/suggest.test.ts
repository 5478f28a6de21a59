import { describe, expect, test } from 'vitest';
import { changeText } from '../../src/alerts/findings.ts';
import type { Wish } from '../../src/base/evidence.ts';
import { defaultsOf } from '../../src/policy/resolve.ts';
import { Suggestions } from '../../src/policy/suggestions.ts';

const LEAVE: Wish = { kind: 'leave', quota: '60/minute', left: 30 };
const LIMIT: Wish = { kind: 'limit', quota: '60/minute', limit: 40 };

function suggested(policy: object, wish: Wish, env: Record<string, string> = {}): ReturnType<Suggestions['for']> {
  return new Suggestions(policy, defaultsOf(policy, env), env).for('carrier', wish);
}
const textOf = (...ask: Parameters<typeof suggested>): string => changeText(suggested(...ask)!);

describe('`from` is what stands in the policy', () => {
  const own = { quota: '60/minute', burst: 1 };

  test('what stands there', () => {
    const policy = { downstreams: { carrier: { ...own, utilization: 0.7 } } };
    expect(suggested(policy, LEAVE)).toEqual({ path: 'downstreams.carrier.utilization', from: 0.7, to: 0.4 });
    expect(textOf(policy, LEAVE)).toBe('downstreams.carrier.utilization: 0.7 -> 0.4');
  });

  test('nothing, where a default is in force', () => {
    const policy = { downstreams: { carrier: own } };
    expect(suggested(policy, LEAVE)).toEqual({
      path: 'downstreams.carrier.utilization',
      from: null,
      to: 0.4,
      inForce: 0.8,
    });
    expect(textOf(policy, LEAVE)).toBe('add `utilization: 0.4` to downstreams.carrier (0.8 is in force)');
  });

  test('a default burst is told as what is in force', () => {
    const policy = { downstreams: { carrier: { quota: '60/minute', utilization: 0.4 } } };
    expect(textOf(policy, LEAVE)).toBe('add `burst: 3` to downstreams.carrier (18 is in force)');
  });

  test('nothing, where the defaults of the policy say it', () => {
    const policy = { defaults: { utilization: 0.9, quota: '60/minute' }, downstreams: { carrier: { burst: 1 } } };
    expect(suggested(policy, LEAVE)).toMatchObject({ from: null, to: 0.4, inForce: 0.9 });
    expect(suggested(policy, LIMIT)).toMatchObject({ from: null, to: '40/minute', inForce: '60/minute' });
  });

  test('nothing, where the environment sets the defaults: the policy wins over these', () => {
    const policy = { downstreams: { carrier: own } };
    expect(suggested(policy, LEAVE, { PENSTOCK__DEFAULTS__UTILIZATION: '0.9' })).toEqual({
      path: 'downstreams.carrier.utilization',
      from: null,
      to: 0.4,
      inForce: 0.9,
    });
  });

  test('where the environment wins over the policy, the variable is named', () => {
    const env = { PENSTOCK__CARRIER__UTILIZATION: '0.9' };
    const policy = { downstreams: { carrier: { ...own, utilization: 0.7 } } };
    expect(suggested(policy, LEAVE, env)).toEqual({
      path: 'downstreams.carrier.utilization',
      from: 0.7,
      to: 0.4,
      inForce: 0.9,
      variable: 'PENSTOCK__CARRIER__UTILIZATION',
    });
    expect(textOf(policy, LEAVE, env)).toBe(
      'downstreams.carrier.utilization: 0.7 -> 0.4 (0.9 is in force); PENSTOCK__CARRIER__UTILIZATION in the environment wins over the policy: change or remove it there',
    );
  });

  test('a part of an option, and a whole downstream, are no different', () => {
    const env = { PENSTOCK__CARRIER__QUOTA__LIMIT: '60' };
    const policy = { downstreams: { carrier: { quota: { limit: 50, per: 'minute' } } } };
    expect(suggested(policy, LIMIT, env)).toEqual({
      path: 'downstreams.carrier.quota',
      from: { limit: 50, per: 'minute' },
      to: { limit: 40, per: 'minute' },
      inForce: { limit: 60, per: 'minute' },
      variable: 'PENSTOCK__CARRIER__QUOTA__LIMIT',
    });
    const usual = { downstreams: { carrier: { quota: '60/minute' } } };
    expect(suggested(usual, LEAVE, { PENSTOCK__CARRIER__UTILIZATION: '0.9' })).toEqual({
      path: 'downstreams.carrier',
      from: { quota: '60/minute' },
      to: { quota: '60/minute', utilization: 0.4, burst: 3 },
      variable: 'PENSTOCK__CARRIER__UTILIZATION',
    });
  });

  test('what the environment sets besides is not written into the policy', () => {
    const policy = { downstreams: { carrier: { quota: '60/minute' } } };
    expect(suggested(policy, LEAVE, { PENSTOCK__CARRIER__MAX_WAIT: '20s' })).toEqual({
      path: 'downstreams.carrier',
      from: { quota: '60/minute' },
      to: { quota: '60/minute', utilization: 0.4, burst: 3 },
    });
  });
});

describe('what is left to others is written in the form of the policy', () => {
  test.each<[string, object, Wish, unknown]>([
    [
      'an inner burst',
      { quota: { limit: 60, per: '1m', burst: 9 } },
      LEAVE,
      { quota: { limit: 60, per: '1m', burst: 3 }, utilization: 0.4 },
    ],
    ['a list', { quota: ['60/minute'], burst: 9 }, LEAVE, { quota: ['60/minute'], burst: 3, utilization: 0.4 }],
    [
      'the longer of two',
      { quota: ['60/minute', '20000/day'] },
      { kind: 'leave', quota: '20000/day', left: 10_000 },
      { quota: ['60/minute', { limit: 20_000, per: 'day', burst: 1_000 }], utilization: 0.4, burst: 6 },
    ],
    [
      'tokens',
      { quota: ['60/minute', '9000 tokens/minute'], defaultCost: { tokens: 10 } },
      { kind: 'leave', quota: '9000 tokens/minute', left: 4_500 },
      {
        quota: ['60/minute', { limit: 9_000, per: 'minute', unit: 'tokens', burst: 450 }],
        defaultCost: { tokens: 10 },
        utilization: 0.4,
        burst: 6,
      },
    ],
    [
      'workers',
      { quota: '60/minute', workers: 2 },
      LEAVE,
      { quota: '60/minute', workers: 2, utilization: 0.4, burst: 1 },
    ],
    [
      'a bucket of the provider, whose burst follows utilization',
      { quota: { limit: 60, per: 'minute', providerBurst: 40 }, utilization: 0.8 },
      LEAVE,
      0.4,
    ],
    ['very little', { quota: '60/minute', burst: 1 }, { kind: 'leave', quota: '60/minute', left: 2.5 }, 0.033],
  ])('%s', (_, own, wish, to) => {
    expect(suggested({ downstreams: { carrier: own } }, wish)?.to).toEqual(to);
  });

  test('never above what is in force, and nothing where that is narrow enough', () => {
    const policy = { downstreams: { carrier: { quota: '60/minute', utilization: 0.3, burst: 2 } } };
    expect(suggested(policy, LEAVE)).toBeUndefined();
  });
});
