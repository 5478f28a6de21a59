import type { AdmissionError } from '../base/errors.ts';
import type { LaneCore } from './core.ts';
import { type Expectation, shown } from './expectation.ts';
import type { Refusal } from './refusals.ts';
import { limitOf, type Request } from './request.ts';
import { tell } from './telling.ts';
import type { Waiter } from './waiter.ts';

/** Refuses a call in the turn in which it was made: counted, told, rejected. `waiter`: one that had been let go. */
export function refuse(
  core: LaneCore,
  request: Request,
  refusal: Refusal,
  now: number,
  expected?: Expectation,
  waiter?: Waiter,
): Promise<never> {
  const told = expected === undefined ? undefined : shown(core, expected, now);
  const error = refusal.make({
    downstream: core.name,
    request,
    wallNow: core.ports.clock.wallNow(),
    waitedMs: waiter === undefined ? 0 : now - waiter.since,
    expectedMs: told?.ms,
    affordMs: limitOf(request) - now,
    limitedBy: told?.limitedBy,
    limit: told?.limit,
  });
  core.incidents.touch(request.tool);
  return turnAway(core, request, error, told?.limit, waiter);
}

/** Rejects with an error that exists already. */
export function turnAway(
  core: LaneCore,
  request: Request,
  error: AdmissionError,
  limit?: string,
  waiter?: Waiter,
): Promise<never> {
  const { ports, tally, name } = core;
  tally.refuse(error.code);
  ports.recent.refused(core.lastNow);
  if (ports.bus.wantsWaits) {
    const { code, expectedWaitMs, limitedBy, retryAfterMs } = error;
    const told = { code, expectedMs: expectedWaitMs, limitedBy, limit, retryAfterMs };
    tell(ports, name, 'refused', waiter?.seq ?? ports.nextCallId(), request, error.waitedMs, told);
  }
  return Promise.reject(error);
}

/** The caller's signal had fired before the call could enter the line; or, `waiter`, when it had been let go. */
export function abortAtEntry(core: LaneCore, request: Request, reason: unknown, waiter?: Waiter): Promise<never> {
  const { ports, tally, name } = core;
  tally.aborted++;
  if (ports.bus.wantsWaits) {
    const waitedMs = waiter === undefined ? 0 : core.readNow() - waiter.since;
    tell(ports, name, 'aborted', waiter?.seq ?? ports.nextCallId(), request, waitedMs, { started: false });
  }
  return Promise.reject(reason);
}
