import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Line } from '../../src/dispatch/line.ts';
import { plainRequest } from '../../src/dispatch/request.ts';
import { Top } from '../../src/dispatch/top.ts';
import { Waiter } from '../../src/dispatch/waiter.ts';
import { Bucket } from '../../src/model/bucket.ts';
import { Gate } from '../../src/model/gate.ts';
import { resolvePolicy } from '../../src/policy/resolve.ts';
import { runs, SEEDED } from './support/seed.ts';
import { NaiveLine, type Turn } from './support/turns.ts';

type Move =
  | { readonly come: Omit<Turn, 'seq'> & { readonly cost: number } }
  | { readonly go: number }
  /** With a place that is free, or without one. */
  | { readonly serve: boolean };

const FLAT: readonly (readonly string[])[] = [[], ['a'], ['b'], ['c'], ['d']];
const DEEP = [...FLAT, ['a', '1'], ['a', '2'], ['b', '1', 'x'], ['b', '1', 'y'], ['b', '']];

/** Few runs, each with runs below it: who is older changes often, above and below. */
const NARROW = [['a', '1'], ['a', '2'], ['b', '1'], ['b', '2'], ['b']];

const ranks = fc.integer({ min: -1, max: 2 });

function schedulesOf(paths: readonly (readonly string[])[], rank = ranks): fc.Arbitrary<Move[]> {
  const coming = fc.record({ rank, path: fc.constantFrom(...paths), cost: fc.integer({ min: 0, max: 9 }) });
  const moves: fc.Arbitrary<Move> = fc.oneof(
    { weight: 10, arbitrary: coming.map((come): Move => ({ come })) },
    { weight: 5, arbitrary: fc.constant<Move>({ serve: true }) },
    { weight: 1, arbitrary: fc.constant<Move>({ serve: false }) },
    { weight: 3, arbitrary: fc.nat(20).map((go): Move => ({ go })) },
  );
  return fc.array(moves, { maxLength: 80, size: 'max' });
}

const schedules = fc.oneof(schedulesOf(FLAT), schedulesOf(DEEP), schedulesOf(NARROW, fc.constant(0)));
const shares = fc.oneof(fc.constantFrom(0, 0.2, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }));

/** A line on a gate of one quota, and the naive one beside it. */
class Pair {
  readonly gate: Gate;
  readonly line: Line;
  readonly naive: NaiveLine;
  readonly waiters = new Map<number, Waiter>();
  readonly turns = new Map<number, Turn>();
  #seq = 0;

  constructor(lowerShare: number) {
    const policy = { quota: '10/second', lowerShare } as const;
    const plan = resolvePolicy({ downstreams: { api: policy } }, { env: {} }).downstreams.get('api')!;
    this.gate = new Gate(plan, 0);
    this.line = new Line(this.gate, new Top(plan));
    this.naive = new NaiveLine(lowerShare);
  }

  come({ rank, path, cost }: Omit<Turn, 'seq'> & { cost: number }): Waiter {
    const seq = ++this.#seq;
    const request = { ...plainRequest(this.gate.plan, 0), rank, path, costs: [cost] };
    const waiter = new Waiter(request, seq, 0, this.line.leafFor(request), undefined);
    this.line.push(waiter);
    this.waiters.set(seq, waiter);
    const turn = { seq, rank, path };
    this.naive.push(turn);
    this.turns.set(seq, turn);
    return waiter;
  }

  go(which: number): void {
    const seqs = [...this.waiters.keys()];
    if (seqs.length === 0) return;
    const seq = seqs[which % seqs.length]!;
    this.line.remove(this.waiters.get(seq)!);
    this.naive.leave(this.turns.get(seq)!);
    this.#forget(seq);
  }

  /** Both serve; expects them to agree on whom. */
  serve(hasPlace = true): Waiter | undefined {
    const waiter = this.line.next(hasPlace);
    const turn = this.naive.next(hasPlace);
    expect(waiter?.seq).toBe(turn?.seq);
    if (waiter === undefined || turn === undefined) return undefined;
    this.line.serve(waiter);
    this.naive.serve(turn);
    this.#forget(waiter.seq);
    return waiter;
  }

  move(move: Move): void {
    if ('come' in move) this.come(move.come);
    else if ('go' in move) this.go(move.go);
    else this.serve(move.serve);
    expect(this.line.length).toBe(this.waiters.size);
    // Asked often: what is known of whose turn it is must not go stale in between.
    expect(this.line.next()?.seq).toBe(this.naive.next(true)?.seq);
  }

  #forget(seq: number): void {
    this.waiters.delete(seq);
    this.turns.delete(seq);
  }
}

describe(`whose turn it is (${SEEDED})`, () => {
  test('is what the rule says, without heaps and shortcuts', () => {
    const property = fc.property(shares, schedules, (share, schedule) => {
      const pair = new Pair(share);
      for (const move of schedule) pair.move(move);
      while (pair.serve() !== undefined);
      expect(pair.line.length).toBe(0);
    });
    fc.assert(property, runs(2_000));
  });

  test('is foretold: all waiters in order of service', () => {
    const property = fc.property(shares, schedules, (share, schedule) => {
      const pair = new Pair(share);
      for (const move of schedule) pair.move(move);
      const told = [...pair.line.inOrder()].map(({ seq }) => seq);
      const served: number[] = [];
      for (let waiter = pair.serve(); waiter !== undefined; waiter = pair.serve()) served.push(waiter.seq);
      expect(told).toEqual(served);
    });
    fc.assert(property, runs(2_000));
  });

  test('what is ahead of a call that comes now is never overstated', () => {
    const newcomers = fc.record({ rank: ranks, path: fc.constantFrom(...DEEP) });
    const property = fc.property(shares, schedules, newcomers, (share, schedule, { rank, path }) => {
      const pair = new Pair(share);
      for (const move of schedule) pair.move(move);
      const told = pair.line.aheadOf(rank, path);
      const newcomer = pair.come({ rank, path, cost: 1 });
      let count = 0;
      let permits = 0;
      for (let waiter = pair.serve(); waiter !== newcomer; waiter = pair.serve()) {
        count++;
        permits += Bucket.backlog(pair.gate.buckets[0]!, waiter!.costs[0]!);
      }
      expect(told.count).toBeLessThanOrEqual(count);
      expect(told.permits[0]).toBeLessThanOrEqual(permits);
    });
    fc.assert(property, runs(2_000));
  });
});
