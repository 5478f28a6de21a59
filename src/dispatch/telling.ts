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

/** Emits one event of a call. Whoever calls this has asked the bus whether anybody listens. */
export function tell(
  ports: LanePorts,
  downstream: string,
  type: CallEvent['type'],
  callId: number,
  request: Request,
  waitedMs: number,
  told: Told = {},
): void {
  const event: { -readonly [K in keyof CallEvent]: CallEvent[K] } = {
    at: ports.clock.wallNow(),
    downstream,
    type,
    callId,
    priority: request.priority,
    waitedMs,
  };
  if (request.tool !== undefined) event.tool = request.tool;
  if (request.runId !== undefined) event.runId = request.runId;
  for (const key in told) {
    const value = told[key as keyof Told];
    if (value !== undefined) Object.assign(event, { [key]: value });
  }
  ports.bus.emit(event);
}
