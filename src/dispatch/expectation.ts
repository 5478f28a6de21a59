import type { LimitedBy } from '../base/words.ts';
import type { Costs } from '../model/bucket.ts';
import { type Ahead, type Outlook, type Projection, projectAfter, startAfter } from '../model/projection.ts';
import { freePlaces, type LaneCore } from './core.ts';
import type { Request } from './request.ts';

export interface Expectation extends Outlook {
  /** 1 for the call that is next. */
  readonly position: number;
  /** Nothing that waits now can start after it. */
  readonly isLast: boolean;
}

/**
 * When a call that arrives now could start: never later than the truth, if nobody ahead of it leaves.
 * Permits, intervals and holds are exact where one class and one run wait; places of calls in flight
 * are not foreseen.
 */
export function expect(core: LaneCore, request: Request, now: number): Expectation {
  const { line, gate, entering } = core;
  if (gate.plan.engine === 'bottleneck') {
    return { ...known(core, request.costs, now), position: line.length + 1, isLast: true };
  }
  if (line.length === 0 && entering.count === 0) {
    const at = gate.dueAt(request.costs, now);
    return { at, limitedBy: gate.limitedBy, limit: gate.limit, position: 1, isLast: true };
  }
  const total = aheadOf(core, request);
  const outlook = startAfter(gate, total, firstCosts(core, request.costs), request.costs, now);
  return { ...outlook, position: total.count + 1, isLast: total.count === line.length + entering.count };
}

/** The lane as it will be for many calls of this request, one after another: all that is ahead of the first has started. */
export function projectFor(core: LaneCore, request: Request, now: number): Projection {
  return projectAfter(core.gate, aheadOf(core, request), firstCosts(core, request.costs), now);
}

function aheadOf(core: LaneCore, request: Request): Ahead {
  const { line, entering } = core;
  return plus(line.aheadOf(request.rank, line.pathOf(request)), entering.ahead);
}

/** When a call would start if everybody who waits now started before it: never earlier than the truth, if nobody comes. */
export function expectLast(core: LaneCore, costs: Costs, now: number): Outlook {
  if (core.gate.plan.engine === 'bottleneck') return known(core, costs, now);
  const total = plus(core.line.everybody(), core.entering.ahead);
  return startAfter(core.gate, total, firstCosts(core, costs), costs, now);
}

/**
 * What is known where an engine hands out turns: it does not say when, so a hold and what the server has counted
 * are all. Never later than the truth.
 */
export function known(core: LaneCore, costs: Costs, now: number): Outlook {
  const { gate } = core;
  const isHeld = gate.isHeld(now);
  const at = isHeld ? gate.heldUntil : now;
  const counter = now < gate.caps.until ? gate.caps.binding(costs, at) : undefined;
  if (counter !== undefined) return { at: counter.until, limitedBy: 'hold', limit: 'hold:quota-reset' };
  if (!isHeld) return { at, limitedBy: undefined, limit: undefined };
  return { at, limitedBy: 'hold', limit: `hold:${gate.holds.cause}` };
}

/** The expectation as it is shown: where places are what limits, the mean time of a call counts too. */
export function shown(
  core: LaneCore,
  expected: Expectation,
  now: number,
): { ms: number; limitedBy: LimitedBy; limit: string } {
  const ms = Math.max(0, expected.at - now);
  const { maxConcurrent } = core.gate.plan;
  const free = freePlaces(core);
  if (maxConcurrent !== undefined && expected.position > free) {
    const rounds = Math.ceil((expected.position - Math.max(free, 0)) / maxConcurrent);
    const placesMs = rounds * core.running.meanCallMs;
    if (placesMs >= ms) return { ms: placesMs, limitedBy: 'concurrency', limit: 'concurrency' };
  }
  const limitedBy = expected.limitedBy ?? 'queue';
  return { ms, limitedBy, limit: expected.limit ?? limitedBy };
}

function firstCosts(core: LaneCore, own: Costs): Costs {
  return core.entering.count > 0 ? core.entering.first : (core.line.next(freePlaces(core) > 0)?.costs ?? own);
}

function plus(a: Ahead, b: Ahead): Ahead {
  return { count: a.count + b.count, permits: a.permits.map((permits, i) => permits + (b.permits[i] ?? 0)) };
}
