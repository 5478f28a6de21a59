import { expect, test } from 'vitest';
import { diffPlans } from '../../src/policy/diff.ts';
import type { PolicyInput } from '../../src/policy/input.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';

function diff(before: PolicyInput['downstreams'], after: PolicyInput['downstreams']) {
  return diffPlans(resolvePolicy({ downstreams: before }), resolvePolicy({ downstreams: after }));
}

test('the same policy has no changes, however it is written', () => {
  expect(diff({ a: { quota: '60/minute' } }, { a: { quota: '60/60s', maxHold: '24h' } })).toEqual([]);
});

test('options are named as a policy names them', () => {
  const changes = diff(
    { a: { cooldown: { max: '30s' }, leaseGrace: 'never' } },
    { a: { cooldown: { max: '20s' }, maxWait: '5s' } },
  );
  expect(changes).toEqual([
    { downstream: 'a', path: 'cooldown.max', from: 30_000, to: 20_000 },
    { downstream: 'a', path: 'leaseGrace', from: Number.POSITIVE_INFINITY, to: 30_000 },
    { downstream: 'a', path: 'maxWait', from: undefined, to: 5_000 },
  ]);
});

test('quotas are matched by unit and window', () => {
  const changes = diff({ a: { quota: ['60/minute', '9/second'] } }, { a: { quota: ['100/hour', '120/minute'] } });
  expect(changes).toContainEqual({ downstream: 'a', path: 'quota', from: '60/minute', to: '120/minute' });
  expect(changes).toContainEqual({ downstream: 'a', path: 'quota[120/minute].burst', from: 6, to: 12 });
  expect(changes).toContainEqual({ downstream: 'a', path: 'quota', from: '9/second', to: undefined });
  expect(changes).toContainEqual({ downstream: 'a', path: 'quota', from: undefined, to: '100/hour' });
});

test('a downstream that is new or gone is one change', () => {
  const changes = diff({ a: {} }, { b: {} });
  expect(changes.map(({ downstream, path }) => [downstream, path])).toEqual([
    ['a', ''],
    ['b', ''],
  ]);
  expect(changes[0]?.to).toBeUndefined();
  expect(changes[1]?.from).toBeUndefined();
});
