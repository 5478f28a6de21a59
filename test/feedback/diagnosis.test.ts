import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildAlert } from '../../src/alerts/alert.ts';
import type { AlertFacts } from '../../src/base/alert.ts';
import type { CounterEvidence, Evidence, Wish } from '../../src/base/evidence.ts';
import { diagnose } from '../../src/feedback/diagnosis.ts';
import type { DownstreamPolicyInput } from '../../src/policy/input.ts';
import { resolveDownstream } from '../../src/policy/resolve.ts';
import { suggestChange } from '../../src/policy/suggest.ts';
import { factsOf, origin } from '../alerts/facts.ts';
import { runs, SEEDED } from '../property/support/seed.ts';
import { counter, found, hypotheses, SIXTY } from './found.ts';

const young: Partial<AlertFacts> = { observed: { ...factsOf().observed, processUpMs: 30_000 } };

describe('what is found, and in what order', () => {
  test.each<[string, Partial<Evidence>, Partial<AlertFacts>, string[]]>([
    ['a lower limit', counter({ limit: 40, used: 40, ours: 40, oursAtMost: 40 }), {}, ['limit-changed']],
    [
      'a lower limit and others',
      counter({ limit: 40, used: 40, ours: 20, oursAtMost: 20 }),
      {},
      ['limit-changed', 'other-consumer'],
    ],
    [
      'a higher limit alone',
      counter({ limit: 100, used: 100, ours: 100, oursAtMost: 100, isWindowSeen: true }),
      {},
      ['limit-changed'],
    ],
    [
      'a higher limit and others: the limit does not explain it',
      counter({ limit: 100, used: 100, isWindowSeen: true }),
      {},
      ['other-consumer', 'limit-changed'],
    ],
    ['others', counter({ ours: 30, oursAtMost: 30 }), {}, ['other-consumer']],
    ['others who may be our own calls in flight', counter({ ours: 50, oursAtMost: 60 }), {}, ['unknown']],
    ['others of less than 5 %', counter({ ours: 58, oursAtMost: 58 }), {}, ['unknown']],
    ['others before this process began', counter({ ours: 10, oursAtMost: 10, before: 50 }), young, ['restart']],
    ['the same long after it began', counter({ ours: 10, oursAtMost: 10, before: 50 }), {}, ['other-consumer']],
    [
      'others before and since',
      counter({ ours: 10, oursAtMost: 10, before: 20 }),
      young,
      ['other-consumer', 'restart'],
    ],
    [
      'other workers of ours',
      { ...counter({ ours: 30, oursAtMost: 30 }), quotas: [{ ...SIXTY, share: 30 }] },
      {},
      ['unknown'],
    ],
    ['a quota that is not used up', counter({ remaining: 35, used: 25, ours: 25 }), {}, ['hidden-window']],
    ['an old word of a full quota', counter({ ageMs: 20_000, ours: 10, oursAtMost: 10 }), {}, ['unknown']],
    ['a recent word of a full quota', counter({ ageMs: 1_000, ours: 10, oursAtMost: 10 }), {}, ['other-consumer']],
    ['too many starts of our own', { quotas: [{ ...SIXTY, taken: 61 }] }, {}, ['policy-too-wide']],
    [
      'nearly all, under a policy that is nearly too wide',
      { quotas: [{ ...SIXTY, sized: 60, burst: 1, taken: 57 }] },
      {},
      ['policy-too-wide'],
    ],
    ['nearly all, under the usual policy', { quotas: [{ ...SIXTY, taken: 53 }] }, {}, ['unknown']],
    ['a young process without headers', {}, young, ['restart']],
    ['nothing at all', {}, {}, ['unknown']],
    [
      'an undeclared limit that is used up',
      { counters: [{ unit: 'requests', limit: 1_000, remaining: 0, windowMs: 86_400_000, ageMs: 0 }] },
      {},
      ['hidden-window'],
    ],
    [
      'tokens that are used up say nothing of requests',
      { counters: [{ unit: 'tokens', limit: 1_000, remaining: 0, windowMs: 60_000, ageMs: 0 }] },
      {},
      ['hidden-window'],
    ],
    [
      'starts that bunched',
      { bunches: [{ windowMs: 1_000, starts: 6, throttled: 1, unanswered: 0, most: 3 }] },
      { server: { status: 429 } },
      ['hidden-window'],
    ],
    [
      'starts that bunched no more than before',
      { bunches: [{ windowMs: 1_000, starts: 6, throttled: 1, unanswered: 0, most: 6 }] },
      { server: { status: 429 } },
      ['unknown'],
    ],
    [
      'starts that bunched, refused for much longer than that',
      { bunches: [{ windowMs: 1_000, starts: 6, throttled: 1, unanswered: 0, most: 3 }] },
      { server: { status: 429, retryAfterMs: 30_000 } },
      ['unknown'],
    ],
  ])('%s', (_, evidence, change, expected) => {
    expect(hypotheses(evidence, change)).toEqual(expected);
  });

  test('nothing without evidence, or where nothing is declared', () => {
    expect(diagnose(factsOf())).toEqual({ findings: [] });
    expect(found({ quotas: [] }, { declared: [] }).findings).toEqual([]);
  });
});

describe('what is proposed', () => {
  test.each([
    ['a limit with its window', [{ unit: 'requests', limit: 60, windowMs: 60_000, ageMs: 0 }], '60/minute'],
    ['what was answered', [], '37/minute'],
  ])('for a downstream without a quota: %s', (_, counters, quota) => {
    expect(found({ quotas: [], counters }, { declared: [] }).wish).toEqual({ kind: 'declare', quota });
  });

  test.each([
    [1_000, 8, '4/second'],
    [60_000, 8, '4/minute'],
    [3_600_000, 8, '4/hour'],
    [86_400_000, 8, '4/day'],
    [1_500, 1, '1/1500ms'],
  ])('a window of %d ms with %d starts: %s', (windowMs, starts, quota) => {
    const observed = { windows: [{ windowMs, starts }], processUpMs: 1 };
    const server = { status: 429 };
    expect(found({ quotas: [] }, { declared: [], observed, server }).wish).toEqual({ kind: 'declare', quota });
  });

  test.each([
    [54_000, '56/minute'],
    [5_000, '56/minute'],
    [1_000, '6/second'],
    [61_000, '56/minute'],
    [900_000, '56/hour'],
    [7_200_000, '56/day'],
    [900_000_000, '56/day'],
  ])('a wait of %d ms points to the window: %s', (retryAfterMs, quota) => {
    const windows = [
      { windowMs: 1_000, starts: 10 },
      { windowMs: 10_000, starts: 60 },
    ];
    const observed = { windows, processUpMs: 1 };
    const server = { status: 429, retryAfterMs };
    expect(found({ quotas: [] }, { declared: [], observed, server }).wish).toEqual({ kind: 'declare', quota });
  });

  test('a limit whose window nobody names is told, and no quota is guessed', () => {
    const counters = [{ unit: 'requests', limit: 60, remaining: 0, ageMs: 0 }];
    expect(found({ quotas: [], counters }, { declared: [] }).wish).toBeUndefined();
    const evidence = { workers: 1, quotas: [], counters, bunches: [] };
    const { explanation } = buildAlert(factsOf({ declared: [], evidence }), origin);
    expect(explanation).toContain('Its headers name a limit of 60 requests, and no window: ask for that.');
  });

  test('utilization leaves others their part, and counts our own workers as planned for', () => {
    expect(found(counter({ ours: 30, oursAtMost: 30 })).wish).toEqual({ kind: 'leave', quota: '60/minute', left: 30 });
    const halves = { ...counter({ ours: 10, oursAtMost: 10 }), quotas: [{ ...SIXTY, share: 30 }] };
    const { wish } = found(halves);
    expect(wish).toEqual({ kind: 'leave', quota: '60/minute', left: 40 });
  });

  test('no limit is named while answers are missing', () => {
    const bunches = [{ windowMs: 1_000, starts: 6, throttled: 1, unanswered: 2, most: 3 }];
    expect(found({ bunches }, { server: { status: 429 } }).wish).toBeUndefined();
  });
});

const quotas = fc.oneof(
  fc.constantFrom('60/minute', '10/second', '1000/hour', '5/3s', '60 requests/minute'),
  fc.record(
    {
      limit: fc.integer({ min: 1, max: 500 }),
      per: fc.constantFrom('minute', '10s', 1_000),
      burst: fc.integer({ min: 1, max: 40 }),
      providerBurst: fc.integer({ min: 1, max: 90 }),
    },
    { requiredKeys: ['limit', 'per'] },
  ),
);
const policies = fc.record(
  {
    quota: fc.oneof(
      quotas,
      fc.uniqueArray(quotas, { minLength: 1, maxLength: 3, selector: (quota) => JSON.stringify(quota) }),
    ),
    utilization: fc.double({ min: 0.05, max: 1, noNaN: true }),
    burst: fc.integer({ min: 1, max: 20 }),
    workers: fc.integer({ min: 1, max: 4 }),
    defaultCost: fc.integer({ min: 1, max: 4 }),
    owner: fc.constant('logistics'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<DownstreamPolicyInput>;

/** Every wish that a diagnosis can have about a policy. */
function wishesFor(own: DownstreamPolicyInput, defaults: DownstreamPolicyInput): Wish[] {
  const { quotas: planned } = resolveDownstream('carrier', own, defaults);
  return [
    ...planned.flatMap(({ text, limit }): Wish[] => [
      { kind: 'limit', quota: text, limit: Math.max(1, Math.floor(limit * 0.6)) },
      { kind: 'limit', quota: text, limit: limit * 2 },
      { kind: 'bucket', quota: text, size: 20 },
      { kind: 'narrow', quota: text },
      { kind: 'leave', quota: text, left: limit * 0.5 },
    ]),
    { kind: 'add', quota: '3/7s' },
    { kind: 'declare', quota: '40/minute' },
  ];
}

function isAccepted(own: DownstreamPolicyInput, defaults: DownstreamPolicyInput): boolean {
  try {
    resolveDownstream('carrier', own, defaults);
    return true;
  } catch {
    return false;
  }
}

test(`what is proposed is accepted in the place of what is there, whatever the policy (${SEEDED})`, () => {
  let proposed = 0;
  fc.assert(
    fc.property(policies, policies, (own, defaults) => {
      fc.pre(isAccepted(own, defaults));
      for (const wish of wishesFor(own, defaults)) {
        const suggestion = suggestChange('carrier', { own, defaults }, wish);
        if (suggestion === undefined) continue;
        proposed++;
        const [, , option] = suggestion.path.split('.');
        const changed = option === undefined ? suggestion.to : { ...own, [option]: suggestion.to };
        expect(isAccepted(changed as DownstreamPolicyInput, defaults)).toBe(true);
        expect(suggestion.to).not.toEqual(suggestion.from);
        expect(JSON.parse(JSON.stringify(suggestion))).toEqual(suggestion);
      }
    }),
    runs(200),
  );
  expect(proposed).toBeGreaterThan(200);
});

test(`whatever the evidence, the alert has three whole parts (${SEEDED})`, () => {
  const count = fc.oneof(fc.integer({ min: 0, max: 200 }), fc.double({ min: 0, max: 1e9, noNaN: true }));
  const counters = fc.array(
    fc.record(
      {
        quota: fc.constantFrom(0, 1),
        unit: fc.constantFrom('requests', 'tokens'),
        limit: count,
        remaining: count,
        resetMs: count,
        windowMs: count,
        ageMs: count,
        used: count,
        ours: count,
        oursAtMost: count,
        spanMs: count,
        before: count,
        filled: count,
      },
      { requiredKeys: ['unit', 'ageMs'] },
    ),
    { maxLength: 3 },
  );
  const bunches = fc.array(
    fc.record({
      windowMs: fc.constantFrom(1_000, 10_000),
      starts: count,
      throttled: count,
      unanswered: count,
      most: count,
    }),
    { maxLength: 3 },
  );
  const names = fc.constantFrom('QuotaModelWrong', 'QuotaDrift', 'OtherConsumer');
  fc.assert(
    fc.property(names, counters, bunches, count, (name, told, bunched, processUpMs) => {
      const facts = factsOf({ name: name as AlertFacts['name'], observed: { ...factsOf().observed, processUpMs } });
      const evidence = { workers: 1, quotas: [SIXTY], counters: told as CounterEvidence[], bunches: bunched };
      const { findings } = diagnose({ ...facts, evidence });
      const alert = buildAlert({ ...facts, evidence, findings }, origin);
      const parts = alert.explanation.split('\n');
      expect(parts).toHaveLength(3);
      for (const part of parts) expect(part).toMatch(/^[A-Z0-9].*\.$/);
      expect(alert.explanation).not.toMatch(/undefined|NaN|Infinity/);
    }),
    runs(500),
  );
});
