import fc from 'fast-check';
import type { Priority } from '../../../src/base/words.ts';
import type { DownstreamPolicyInput } from '../../../src/policy/input.ts';
import { assemble, policies, type TestPolicy } from './policies.ts';
import { grid } from './seed.ts';
import type { Asked } from './stage.ts';

/** A policy and the calls that are made under it. */
export interface Script {
  readonly policy: DownstreamPolicyInput;
  readonly calls: readonly Asked[];
}

export interface Variety {
  /** Classes, runs, nested calls, places. */
  readonly isMixed: boolean;
  readonly deadlines: 'none' | 'some' | 'one for all';
  readonly holds: boolean;
  /** The server tells what its counter leaves. */
  readonly counters?: boolean;
}

function rarely<T>(arbitrary: fc.Arbitrary<T>, oneIn: number): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

/** Milliseconds in which one permit of the first quota comes back. */
function permitMs({ quotas, utilization }: TestPolicy): number {
  const first = quotas[0];
  return first === undefined ? 250 : first.windowMs / (first.limit * utilization);
}

/** Light ones, above the burst, above the room, up to everything that can ever fit. */
function costsOf({ quotas }: TestPolicy): fc.Arbitrary<number> {
  const requests = quotas.filter(({ unit }) => unit === 'requests').map(({ limit }) => limit);
  const largest = Math.min(...requests, 200);
  const whole = fc.integer({ min: 1, max: largest });
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 1, max: Math.min(4, largest) }) },
    { weight: 1, arbitrary: whole },
  );
}

function callsOf(policy: TestPolicy, { isMixed, deadlines, holds, counters }: Variety): fc.Arbitrary<Asked[]> {
  const ms = permitMs(policy);
  const spans = fc.oneof(
    fc.integer({ min: 0, max: 40 }).map((n) => n * ms),
    grid(0, 20_000, 250),
    // Eighths: two instants that lie less than 1 µs apart, and are not the same, would be taken for the same.
    fc.integer({ min: 0, max: 320 }).map((n) => Math.round(n * ms) / 8),
  );
  const readings = fc.record({
    remaining: fc.integer({ min: 0, max: 12 }),
    resetMs: fc.oneof(spans, grid(0, 8_000, 250)),
  });
  const same = deadlines === 'one for all' ? spans : fc.constant(undefined);
  return same.chain((shared) => {
    const call: fc.Arbitrary<Asked> = fc.record({
      afterMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: spans.map((n) => n / 8) }),
      // Where a counter is told, what is foretold of a crowd is exact for calls that all cost the same.
      cost: counters === true && !isMixed ? fc.constant(1) : costsOf(policy),
      priority: isMixed
        ? rarely(fc.constantFrom<Priority>('interactive', 'normal', 'batch'), 2)
        : fc.constant(undefined),
      run: isMixed ? rarely(fc.constantFrom('a', 'b', 'c', 'a/1', 'a/2', 'b/1/x'), 2) : fc.constant(undefined),
      deadlineMs: deadlines === 'some' ? rarely(spans, 2) : fc.constant(shared),
      runMs: isMixed ? fc.oneof(fc.constant(0), grid(0, 2_000, 50)) : fc.constant(0),
      throttledMs: holds ? rarely(grid(0, 8_000, 250), 30) : fc.constant(undefined),
      counter: counters === true ? rarely(readings, 4) : fc.constant(undefined),
      pausedMs: holds ? rarely(grid(0, 8_000, 250), 30) : fc.constant(undefined),
      isNesting: isMixed ? fc.integer({ min: 0, max: 9 }).map((n) => n === 0) : fc.constant(false),
    });
    // A pause in the very turn in which a call is about to start sends that call to the end of the line.
    const spaced = call.map((one) => (one.pausedMs === undefined ? one : { ...one, afterMs: one.afterMs + 1 }));
    return fc.array(spaced, { minLength: 2, maxLength: 40, size: 'max' });
  });
}

/** Any policy, any calls; nothing that could make a start come sooner than was foreseen. */
export function mixedScripts(variety: Variety, places = true): fc.Arbitrary<Script> {
  return policies({ longestMs: 60_000, most: 2 }).chain((policy) => {
    const { maxQueueDepth: _, maxRun: __, maxConcurrent, ...rest } = policy.input;
    const input = places && maxConcurrent !== undefined ? { ...rest, maxConcurrent } : rest;
    return callsOf(policy, variety).map((calls) => ({ policy: input, calls }));
  });
}

/** One quota of requests, no places, no interval; one class and one run, unless mixed. */
export function plainScripts(variety: Variety): fc.Arbitrary<Script> {
  const single = policies({ longestMs: 60_000, most: 1 }).filter(
    ({ quotas }) => quotas.length === 1 && quotas[0]!.unit === 'requests',
  );
  return single.chain((drawn) => {
    const { warm, lowerShare, fairness, cooldown } = drawn.input;
    const rest = { lowerShare, fairness, cooldown, pauseAbove: '24h', ...(warm === undefined ? {} : { warm }) };
    const policy = assemble(drawn.quotas, drawn.utilization, 1, rest as DownstreamPolicyInput);
    return callsOf(policy, variety).map((calls) => ({ policy: policy.input, calls }));
  });
}
