import type { ErrorCode } from '../base/errors.ts';
import type { CallEvent } from '../base/events.ts';
import type { LimitedBy, Outcome } from '../base/words.ts';
import type { LanePorts } from './ports.ts';
import type { Request } from './request.ts';

/** What differs from one event of a call to the next; absent or undefined where it is not known. */
export interface Told {
  readonly expectedMs?: number | undefined;
  readonly limitedBy?: LimitedBy | undefined;
  readonly limit?: string | undefined;
  readonly position?: number | undefined;
  readonly code?: ErrorCode | undefined;
  readonly outcome?: Outcome | undefined;
  readonly callMs?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly started?: boolean | undefined;
}

type Mutable = { -readonly [K in keyof CallEvent]: CallEvent[K] };

/** Field by field: a loop over the keys takes six times as long, on the path of every call that is measured. */
function add(event: Mutable, told: Told): void {
  if (told.expectedMs !== undefined) event.expectedMs = told.expectedMs;
  if (told.limitedBy !== undefined) event.limitedBy = told.limitedBy;
  if (told.limit !== undefined) event.limit = told.limit;
  if (told.position !== undefined) event.position = told.position;
  if (told.code !== undefined) event.code = told.code;
  if (told.outcome !== undefined) event.outcome = told.outcome;
  if (told.callMs !== undefined) event.callMs = told.callMs;
  if (told.retryAfterMs !== undefined) event.retryAfterMs = told.retryAfterMs;
  if (told.started !== undefined) event.started = told.started;
}

/** Emits one event of a call. Whoever calls this has asked the bus whether anybody listens. */
export function tell(
  ports: LanePorts,
  downstream: string,
  type: CallEvent['type'],
  callId: number,
  request: Request,
  waitedMs: number,
  told?: Told,
): void {
  const event: Mutable = {
    at: ports.clock.wallNow(),
    downstream,
    type,
    callId,
    priority: request.priority,
    waitedMs,
  };
  if (request.tool !== undefined) event.tool = request.tool;
  if (request.runId !== undefined) event.runId = request.runId;
  if (told !== undefined) add(event, told);
  ports.bus.emit(event);
}
