import fc from 'fast-check';
import type { Priority } from '../../../src/base/words.ts';
import { grid } from './seed.ts';

/** Time in the terms of the policy: permits of the first quota, its windows, or plain milliseconds. */
export interface Span {
  readonly of: 'permit' | 'window' | 'ms';
  readonly n: number;
}

/** How a call of `fn` ends. */
export interface End {
  readonly how: 'value' | 'throw' | 'throw-429' | 'return-429' | 'throw-529';
  /** `Retry-After`, where the answer carries one. */
  readonly hintMs?: number | undefined;
}

/** What `fn` does to the world before anything else. */
export type Deed =
  | { readonly do: 'abort'; readonly signal: number }
  | { readonly do: 'settle'; readonly permits: number }
  | { readonly do: 'pause'; readonly ms: number }
  | { readonly do: 'nested'; readonly deep: boolean }
  | { readonly do: 'call' };

export interface Behaviour {
  /** Milliseconds; 0: synchronously; undefined: until somebody finishes it. */
  readonly runs: Span | undefined;
  readonly isSync: boolean;
  readonly end: End;
  readonly deed: Deed | undefined;
}

export interface CallSpec {
  readonly isLease: boolean;
  readonly count: number;
  readonly requests: number | undefined;
  readonly tokens: number | undefined;
  readonly priority: Priority | undefined;
  readonly run: string | undefined;
  readonly account: string | undefined;
  readonly deadline: Span | undefined;
  readonly signal: number | undefined;
  readonly behaviour: Behaviour;
}

/** What happens at once. */
export type Deal =
  | { readonly kind: 'call'; readonly spec: CallSpec }
  | { readonly kind: 'abort'; readonly signal: number }
  | { readonly kind: 'finish'; readonly which: number; readonly end: End }
  | { readonly kind: 'settle'; readonly which: number; readonly permits: number; readonly unit: 'requests' | 'tokens' }
  | { readonly kind: 'pause'; readonly ms: number }
  | { readonly kind: 'resume'; readonly all: boolean }
  | { readonly kind: 'register'; readonly which: number }
  | { readonly kind: 'unregister' }
  | { readonly kind: 'report'; readonly hintMs: number | undefined }
  | { readonly kind: 'forecast'; readonly calls: number };

export type Step =
  | Deal
  | { readonly kind: 'advance'; readonly by: Span }
  | { readonly kind: 'wall'; readonly ms: number }
  | { readonly kind: 'suspend'; readonly ms: number; readonly monotonic: 'frozen' | 'advancing' }
  /** The second follows the first after so many microtasks: between a grant and the step that acts on it. */
  | { readonly kind: 'race'; readonly first: Deal; readonly microtasks: number; readonly second: Deal };

export const SIGNALS = 4;

export const spans: fc.Arbitrary<Span> = fc.oneof(
  { weight: 5, arbitrary: grid(0, 4, 0.25).map((n) => ({ of: 'permit' as const, n })) },
  { weight: 2, arbitrary: grid(0, 1.25, 0.125).map((n) => ({ of: 'window' as const, n })) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 3_000 }).map((n) => ({ of: 'ms' as const, n })) },
);

const hints = fc.oneof(fc.constant(undefined), grid(0, 8_000, 250), fc.constantFrom(0, 100_000, 400_000));

const ends: fc.Arbitrary<End> = fc.oneof(
  { weight: 12, arbitrary: fc.constant<End>({ how: 'value' }) },
  { weight: 2, arbitrary: fc.constant<End>({ how: 'throw' }) },
  { weight: 1, arbitrary: hints.map((hintMs): End => ({ how: 'throw-429', hintMs })) },
  { weight: 1, arbitrary: hints.map((hintMs): End => ({ how: 'return-429', hintMs })) },
  { weight: 1, arbitrary: hints.map((hintMs): End => ({ how: 'throw-529', hintMs })) },
);

const signals = fc.integer({ min: 0, max: SIGNALS - 1 });
const pauses = fc.oneof(grid(0, 5_000, 250), fc.constantFrom(30_000, 400_000));

const deeds: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 3, arbitrary: signals.map((signal): Deed => ({ do: 'abort', signal })) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 12 }).map((permits): Deed => ({ do: 'settle', permits })) },
  { weight: 1, arbitrary: pauses.map((ms): Deed => ({ do: 'pause', ms })) },
  { weight: 3, arbitrary: fc.boolean().map((deep): Deed => ({ do: 'nested', deep })) },
  { weight: 1, arbitrary: fc.constant<Deed>({ do: 'call' }) },
);

function rarely<T>(arbitrary: fc.Arbitrary<T>, oneIn: number): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const behaviours: fc.Arbitrary<Behaviour> = fc.record({
  runs: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Span>({ of: 'ms', n: 0 }) },
    { weight: 3, arbitrary: spans },
    { weight: 2, arbitrary: fc.constant(undefined) },
  ),
  isSync: fc.boolean(),
  end: ends,
  deed: rarely(deeds, 6),
});

const costs = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 4 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 220 }) },
);

export const callSpecs: fc.Arbitrary<CallSpec> = fc.record({
  isLease: fc.integer({ min: 0, max: 7 }).map((n) => n === 0),
  count: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, { weight: 2, arbitrary: fc.integer({ min: 2, max: 6 }) }),
  requests: costs,
  tokens: rarely(fc.integer({ min: 0, max: 60 }), 3),
  priority: rarely(fc.constantFrom<Priority>('interactive', 'normal', 'batch'), 2),
  run: rarely(fc.constantFrom('a', 'b', 'a/1', 'a/2', 'b/1/x', ''), 2),
  account: rarely(fc.constantFrom('ann', 'bob', 'cyd'), 8),
  deadline: rarely(spans, 3),
  signal: rarely(signals, 3),
  behaviour: behaviours,
});

const which = fc.integer({ min: 0, max: 7 });

const calls: fc.Arbitrary<Deal> = callSpecs.map((spec): Deal => ({ kind: 'call', spec }));

const others: fc.Arbitrary<Deal> = fc.oneof(
  { weight: 3, arbitrary: signals.map((signal): Deal => ({ kind: 'abort', signal })) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('finish' as const), which, end: ends }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which,
      permits: fc.integer({ min: 0, max: 14 }),
      unit: fc.constantFrom('requests' as const, 'requests' as const, 'tokens' as const),
    }),
  },
  { weight: 1, arbitrary: pauses.map((ms): Deal => ({ kind: 'pause', ms })) },
  { weight: 2, arbitrary: fc.boolean().map((all): Deal => ({ kind: 'resume', all })) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 2 }).map((n): Deal => ({ kind: 'register', which: n })) },
  { weight: 1, arbitrary: hints.map((hintMs): Deal => ({ kind: 'report', hintMs })) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }).map((n): Deal => ({ kind: 'forecast', calls: n })) },
);

const deals: fc.Arbitrary<Deal> = fc.oneof(
  { weight: 4, arbitrary: calls },
  { weight: 5, arbitrary: others },
  { weight: 1, arbitrary: fc.constantFrom<Deal>({ kind: 'unregister' }, { kind: 'resume', all: true }) },
);

const wall: fc.Arbitrary<Step> = fc
  .constantFrom(-3_600_000, -11_000, -500, 500, 2_000, 22_000, 3_600_000)
  .map((ms) => ({ kind: 'wall', ms }));

/** One step of a schedule. */
export const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: calls },
  { weight: 10, arbitrary: spans.map((by): Step => ({ kind: 'advance', by })) },
  { weight: 6, arbitrary: others },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('race' as const),
      first: deals,
      microtasks: fc.integer({ min: 0, max: 6 }),
      second: deals,
    }),
  },
  { weight: 1, arbitrary: wall },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('suspend' as const),
      ms: fc.constantFrom(100, 5_000, 40_000),
      monotonic: fc.constantFrom('frozen' as const, 'advancing' as const),
    }),
  },
);
