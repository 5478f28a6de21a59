import Bottleneck from 'bottleneck';
import { describe, expect, test } from 'vitest';
import { policyFromBottleneck } from '../../../src/adapters/bottleneck.ts';
import { PolicyError } from '../../../src/base/errors.ts';
import type { DownstreamPolicyInput } from '../../../src/policy/input.ts';
import { resolveDownstream } from '../../../src/policy/resolve.ts';

const { strategy } = Bottleneck;

/** Settings, the policy that stands for them, and what stays behind. */
const ROWS: readonly [string, Bottleneck.ConstructorOptions, DownstreamPolicyInput, readonly string[]][] = [
  ['nothing', {}, {}, []],
  ['nulls', { maxConcurrent: null, minTime: null, highWater: null, reservoir: null, penalty: null }, {}, []],
  ['no limits', { maxConcurrent: Infinity, minTime: 0, highWater: Infinity }, {}, []],
  ['places', { maxConcurrent: 5 }, { maxConcurrent: 5 }, []],
  ['no places', { maxConcurrent: 0 }, {}, ['maxConcurrent']],
  ['a gap', { minTime: 333 }, { minInterval: 333 }, []],
  ['overflow', { highWater: 20, strategy: strategy.OVERFLOW }, { maxQueueDepth: 20 }, []],
  ['nothing may wait', { highWater: 0, strategy: strategy.OVERFLOW }, { maxQueueDepth: 0 }, []],
  ['by priority', { highWater: 20, strategy: strategy.OVERFLOW_PRIORITY }, { maxQueueDepth: 20 }, []],
  ['leak, by default', { highWater: 20 }, { maxQueueDepth: 20 }, ['strategy']],
  ['leak', { highWater: 20, strategy: strategy.LEAK }, { maxQueueDepth: 20 }, ['strategy']],
  ['block', { highWater: 9, strategy: strategy.BLOCK, penalty: 500 }, { maxQueueDepth: 9 }, ['penalty', 'strategy']],
  ['a strategy for nothing', { strategy: strategy.BLOCK, penalty: 5 }, {}, ['penalty', 'strategy']],
  [
    'refreshed',
    { reservoir: 100, reservoirRefreshAmount: 100, reservoirRefreshInterval: 60_000 },
    { quota: { limit: 100, per: 60_000 }, utilization: 1 },
    ['reservoirRefreshAmount'],
  ],
  [
    'refreshed, begun with less',
    { reservoir: 10, reservoirRefreshAmount: 100, reservoirRefreshInterval: 60_000, maxConcurrent: 2, minTime: 5 },
    { quota: { limit: 100, per: 60_000 }, utilization: 1, maxConcurrent: 2, minInterval: 5 },
    ['reservoirRefreshAmount', 'reservoir'],
  ],
  [
    'increased',
    { reservoir: 40, reservoirIncreaseAmount: 2, reservoirIncreaseInterval: 1_000, reservoirIncreaseMaximum: 40 },
    { quota: { limit: 2, per: 1_000, burst: 40, providerBurst: 40 }, utilization: 1 },
    [],
  ],
  [
    'increased without end',
    { reservoirIncreaseAmount: 2, reservoirIncreaseInterval: 1_000 },
    { quota: { limit: 2, per: 1_000, burst: 2, providerBurst: 2 }, utilization: 1 },
    ['reservoirIncreaseAmount'],
  ],
  [
    'increased by more than fits',
    { reservoirIncreaseAmount: 10, reservoirIncreaseInterval: 1_000, reservoirIncreaseMaximum: 4 },
    { quota: { limit: 4, per: 1_000, burst: 4, providerBurst: 4 }, utilization: 1 },
    [],
  ],
  ['half of a pair', { reservoirRefreshAmount: 5 }, {}, ['reservoirRefreshAmount']],
  ['a total', { reservoir: 500 }, {}, ['reservoir']],
  [
    'filled with nothing',
    { reservoir: 5, reservoirRefreshAmount: 0, reservoirRefreshInterval: 250 },
    {},
    ['reservoirRefreshAmount', 'reservoirRefreshInterval', 'reservoir'],
  ],
  [
    'shared',
    { id: 'carrier', datastore: 'redis', clearDatastore: true, clientOptions: { password: 'geheim' }, timeout: 60_000 },
    {},
    ['datastore', 'clientOptions', 'clearDatastore', 'timeout', 'id'],
  ],
  ['told', { trackDoneStatus: true, rejectOnDrop: false }, {}, ['trackDoneStatus', 'rejectOnDrop']],
  ['a job', { expiration: 5_000, priority: 1 }, { maxRun: 5_000, priority: 'interactive' }, []],
  ['a late job', { priority: 9, weight: 2, maxConcurrent: 5 }, { priority: 'batch', maxConcurrent: 2 }, []],
  ['a heavy job', { weight: 3 }, {}, ['weight']],
  ['one too heavy', { weight: 3, maxConcurrent: 2 }, { maxConcurrent: 2 }, ['weight']],
  [
    'heavy jobs, refreshed',
    { reservoir: 10, reservoirRefreshAmount: 10, reservoirRefreshInterval: 1_000, weight: 3 },
    { quota: { limit: 3, per: 1_000 }, utilization: 1 },
    ['reservoirRefreshAmount'],
  ],
  ['no end', { expiration: Infinity, maxConcurrent: 1e300, highWater: 1e300 }, {}, []],
  ['half a priority', { priority: 4.5 }, {}, ['priority']],
  ['what there is not', { whatever: 1 }, {}, ['whatever']],
];

describe('policyFromBottleneck', () => {
  test.each(ROWS)('%s', (_, settings, policy, left) => {
    const found = policyFromBottleneck(settings);
    expect(found.policy).toEqual(policy);
    expect(found.notCarried.map(({ option }) => option)).toEqual(left);
    expect(() => resolveDownstream('api', found.policy)).not.toThrow();
    const typed: DownstreamPolicyInput = found.policy;
    expect(typed).toBe(found.policy);
    for (const { why, instead } of found.notCarried) expect(`${why} ${instead}`).toMatch(/\w/);
  });

  test.each(ROWS)('%s, of a limiter that there is', (_, settings, policy, left) => {
    // What a job is given, and what Bottleneck does not read, no limiter remembers.
    const { expiration, priority, weight, whatever, ...own } = settings;
    if (own.datastore === 'redis') return;
    const limiter = new Bottleneck(own);
    const found = policyFromBottleneck(limiter);
    const { maxRun: _run, priority: _own, ...expected } = policy;
    if (weight === undefined) expect(found.policy).toEqual(expected);
    const known = left.filter((option) => option in own || option === 'strategy' || option.startsWith('reservoir'));
    expect(found.notCarried.map(({ option }) => option)).toEqual(known);
    void limiter.disconnect();
  });

  test('everything that is set is in one of the two lists', () => {
    const settings = {
      maxConcurrent: 3,
      minTime: 10,
      highWater: 5,
      strategy: strategy.BLOCK,
      penalty: 10,
      reservoir: 7,
      reservoirRefreshAmount: 10,
      reservoirRefreshInterval: 1_000,
      reservoirIncreaseAmount: 1,
      reservoirIncreaseInterval: 500,
      reservoirIncreaseMaximum: 20,
      id: 'x',
      rejectOnDrop: true,
      trackDoneStatus: true,
      Promise: class extends Promise<unknown> {},
      datastore: 'ioredis',
      connection: {},
      clientOptions: { host: 'h' },
      clusterNodes: [{}],
      Redis: { own: true },
      clearDatastore: true,
      timeout: 5,
      heartbeatInterval: 100,
      clientTimeout: 9,
      expiration: 4,
      priority: 2,
      weight: 2,
    };
    const { carried, notCarried } = policyFromBottleneck({ ...settings, connection: { own: true } });
    const named = new Set([...carried, ...notCarried].map(({ option }) => option));
    expect([...named].sort()).toEqual(Object.keys(settings).sort());
  });

  test('no secret is shown', () => {
    const url = 'redis://:geheim@127.0.0.1';
    const settings = { datastore: 'redis', clientOptions: { url }, Redis: { password: 'geheim' }, connection: { url } };
    expect(JSON.stringify(policyFromBottleneck(settings))).not.toContain('geheim');
  });

  test.each([
    [{ maxConcurrent: '5' }, 'maxConcurrent'],
    [{ minTime: -1 }, 'minTime'],
    [{ minTime: Number.NaN }, 'minTime'],
    [{ minTime: Infinity }, 'minTime'],
    [{ highWater: 'many' }, 'highWater'],
    [{ strategy: 7 }, 'strategy'],
    [{ strategy: 'LEAK' }, 'strategy'],
    [{ reservoirRefreshAmount: 5, reservoirRefreshInterval: 0 }, 'reservoirRefreshInterval'],
    [{ rejectOnDrop: 'yes' }, 'rejectOnDrop'],
    [{ expiration: 0 }, 'expiration'],
    [{ maxConcurent: 5 }, 'maxConcurent'],
    [{ mintime: 5 }, 'mintime'],
  ])('what cannot have been meant is an error that names it: %o', (settings, path) => {
    expect(() => policyFromBottleneck(settings)).toThrow(PolicyError);
    expect(() => policyFromBottleneck(settings)).toThrow(path);
  });

  test('all of them at once, and nothing that is no settings', () => {
    expect(() => policyFromBottleneck({ maxConcurrent: '5', minTime: 'x' })).toThrow(/maxConcurrent[\s\S]*minTime/);
    for (const wrong of [undefined, null, 5, 'x', [], () => 1]) {
      expect(() => policyFromBottleneck(wrong as never)).toThrow(PolicyError);
    }
    expect(() => policyFromBottleneck({ schedule: () => 1, on: () => 1 })).toThrow(/pass the options/);
  });
});
