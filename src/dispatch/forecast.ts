import { DUE_MS } from '../base/clock.ts';
import type { Cost, LimitedBy, Priority } from '../base/words.ts';
import { Bucket } from '../model/bucket.ts';
import type { Outlook } from '../model/projection.ts';
import type { LaneCore } from './core.ts';
import { expect, projectFor, shown } from './expectation.ts';
import { limitOf, type Request } from './request.ts';

/** What a forecast is asked for. */
export interface ForecastAsk {
  /** How many calls; a whole number, 1 or more. Default 1. */
  readonly calls?: number | undefined;
  readonly cost?: Cost | undefined;
  readonly priority?: Priority | undefined;
  readonly runId?: string | undefined;
  readonly deadline?: number | Date | undefined;
}

/** What many calls that were made now could expect, if nobody else comes. */
export interface Forecast {
  readonly firstStartInMs: number;
  readonly lastStartInMs: number;
  /** How many of them start before the deadline and `maxWait`; all of them without either. */
  readonly fits: number;
  readonly limitedBy: LimitedBy;
}

/** Foretells a fan-out without making it: no permit is taken and nothing is changed. */
export function forecast(core: LaneCore, request: Request, calls: number, now: number): Forecast {
  const { gate } = core;
  const first = expect(core, request, now);
  const outlookOf = (index: number): Outlook => {
    if (index === 0 || gate.plan.engine === 'bottleneck') return first;
    const projection = projectFor(core, request, now);
    projection.start(request.costs);
    const permits = gate.buckets.map((bucket, i) => (index - 1) * Bucket.backlog(bucket, request.costs[i]!));
    projection.skip({ count: index - 1, permits });
    const at = projection.due(request.costs);
    return { at, limitedBy: projection.limitedBy, limit: projection.limit };
  };
  const limit = limitOf(request);
  let low = 0;
  let high = calls;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (outlookOf(middle).at <= limit + DUE_MS) low = middle + 1;
    else high = middle;
  }
  const last = shown(core, { ...first, ...outlookOf(calls - 1), position: first.position + calls - 1 }, now);
  const told = shown(core, first, now);
  return {
    firstStartInMs: told.ms,
    lastStartInMs: last.ms,
    fits: low,
    limitedBy: calls > 1 ? last.limitedBy : told.limitedBy,
  };
}
