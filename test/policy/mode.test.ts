import { expect, test } from 'vitest';
import type { Mode } from '../../src/base/words.ts';
import { describePolicy } from '../../src/policy/describe.ts';
import { diffPlans } from '../../src/policy/diff.ts';
import { applyEnvironment, type Environment } from '../../src/policy/environment.ts';
import { modeOrigins } from '../../src/policy/mode-origins.ts';
import { defaultsOf, resolveDownstream, resolvePolicy } from '../../src/policy/resolve.ts';

interface Said {
  readonly own?: Mode;
  readonly defaults?: Mode;
  readonly top?: Mode;
  readonly env?: Environment;
}

function policyOf({ own, defaults, top }: Said): object {
  return {
    ...(top === undefined ? {} : { mode: top }),
    ...(defaults === undefined ? {} : { defaults: { mode: defaults } }),
    downstreams: { carrier: { quota: '60/minute', ...(own === undefined ? {} : { mode: own }) } },
  };
}

const ALL = 'PENSTOCK_MODE';
const OWN = 'PENSTOCK__CARRIER__MODE';
const DEFAULTS = 'PENSTOCK__DEFAULTS__MODE';

const ROWS: [string, Said, Mode, string | undefined][] = [
  ['nothing', {}, 'enforce', undefined],
  ['the top', { top: 'off' }, 'off', 'mode'],
  ['defaults over the top', { top: 'off', defaults: 'observe' }, 'observe', 'defaults.mode'],
  ['a variable for defaults', { defaults: 'off', env: { [DEFAULTS]: 'observe' } }, 'observe', DEFAULTS],
  ['its own over defaults', { own: 'off', defaults: 'observe', top: 'observe' }, 'off', 'downstreams.carrier.mode'],
  [
    'its own over a variable for defaults',
    { own: 'off', env: { [DEFAULTS]: 'observe' } },
    'off',
    'downstreams.carrier.mode',
  ],
  ['the operator over files', { own: 'off', defaults: 'off', top: 'off', env: { [ALL]: 'observe' } }, 'observe', ALL],
  ['the operator over a variable for defaults', { env: { [ALL]: 'off', [DEFAULTS]: 'observe' } }, 'off', ALL],
  ['its own variable over the operator', { own: 'off', env: { [ALL]: 'off', [OWN]: 'observe' } }, 'observe', OWN],
  ['the operator enforces', { own: 'off', env: { [ALL]: 'enforce' } }, 'enforce', ALL],
];

test.each(ROWS)('where a mode comes from: %s', (_what, said, mode, origin) => {
  const policy = policyOf(said);
  const { env = {} } = said;
  expect(resolvePolicy(policy, { env }).downstreams.get('carrier')!.mode ?? 'enforce').toBe(mode);
  expect(modeOrigins(policy, env).get('carrier')).toBe(origin);
  // As `loadPolicy` returns it, with the environment in place already.
  expect(modeOrigins(applyEnvironment(policy, env).policy, env).get('carrier')).toBe(origin);
});

test('check says what a mode means and where it comes from', () => {
  const env = { PENSTOCK_MODE: 'observe' };
  const policy = { downstreams: { carrier: { quota: '60/minute' }, free: { unlimited: true, mode: 'off' } } };
  const [carrier] = describePolicy(resolvePolicy(policy, { env }), { modeOrigins: modeOrigins(policy, env) });
  expect(carrier!.sentence).toMatch(
    /^carrier: only observed: every call starts at once, .* \(set by PENSTOCK_MODE\); they allow/,
  );
  const [, free] = describePolicy(resolvePolicy(policy), { modeOrigins: modeOrigins(policy) });
  expect(free!.sentence).toMatch(/^free: switched off: .* \(set by downstreams\.free\.mode\); unlimited/);
  expect(describePolicy(resolvePolicy(policy))[0]!.sentence).toMatch(/^carrier: they allow/);
});

test('a downstream that is registered takes the mode of defaults, or of the top', () => {
  const modeOf = (policy: object, own: object): Mode | undefined =>
    resolveDownstream('late', own, defaultsOf(policy)).mode;
  expect(modeOf(policyOf({ top: 'observe' }), {})).toBe('observe');
  expect(modeOf(policyOf({ top: 'observe', defaults: 'off' }), {})).toBe('off');
  expect(modeOf({ ...policyOf({ top: 'observe' }), defaults: { mode: undefined } }, {})).toBe('observe');
  expect(modeOf(policyOf({ top: 'observe' }), { mode: 'enforce' })).toBeUndefined();
});

test('a changed mode is told in its own words, and enforce changes no hash', () => {
  const plan = (own?: Mode): ReturnType<typeof resolvePolicy> =>
    resolvePolicy(policyOf(own === undefined ? {} : { own }));
  expect(diffPlans(plan(), plan('off'))).toEqual([{ downstream: 'carrier', path: 'mode', from: 'enforce', to: 'off' }]);
  expect(diffPlans(plan('observe'), plan())).toMatchObject([{ path: 'mode', from: 'observe', to: 'enforce' }]);
  expect(plan('enforce').hash).toBe(plan().hash);
  expect(plan('observe').hash).not.toBe(plan().hash);
});
