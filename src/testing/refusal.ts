import {
  type AdmissionError,
  CallCancelled,
  CostExceedsQuota,
  DeadlineExceeded,
  type DeadlinePhase,
  DispatcherClosed,
  DownstreamPaused,
  type ErrorCode,
  type ErrorFacts,
  InvalidCall,
  QueueFull,
  QueueTimeout,
  UnknownDownstream,
} from '../base/errors.ts';
import type { LimitedBy } from '../base/words.ts';
import type { CallContext } from '../dispatch/context.ts';

/** What a call can be refused with. */
export type RefusalCode = Exclude<ErrorCode, 'INVALID_POLICY'>;

/** Facts that a test wants in the error. Durations in milliseconds. */
export interface RefusalFacts {
  readonly retryAfterMs?: number;
  readonly expectedWaitMs?: number;
  readonly waitedMs?: number;
  readonly limitedBy?: LimitedBy;
  /** Of `DEADLINE_EXCEEDED`; default `admission`. */
  readonly phase?: Exclude<DeadlinePhase, 'running'>;
}

type Make = (message: string, facts: ErrorFacts, phase: DeadlinePhase) => AdmissionError;

const MAKE: Readonly<Record<RefusalCode, Make>> = {
  DEADLINE_EXCEEDED: (message, facts, phase) => new DeadlineExceeded(message, { retryable: true, ...facts, phase }),
  RATE_LIMIT_QUEUE_FULL: (message, facts) => new QueueFull(message, facts),
  RATE_LIMIT_QUEUE_TIMEOUT: (message, facts) => new QueueTimeout(message, facts),
  RATE_LIMITED: (message, facts) => new DownstreamPaused(message, facts),
  COST_EXCEEDS_QUOTA: (message, facts) => new CostExceedsQuota(message, facts),
  UNKNOWN_DOWNSTREAM: (message, facts) => new UnknownDownstream(message, facts),
  INVALID_CALL: (message, facts) => new InvalidCall(message, facts),
  DISPATCHER_CLOSED: (message, facts) => new DispatcherClosed(message, facts),
  CANCELLED: (message, facts) => new CallCancelled(message, { ...facts, reason: 'as the test wants it' }),
};

/** The error that a real dispatcher would reject such a call with. */
export function refusalOf(
  code: RefusalCode,
  { downstream, ctx }: { readonly downstream: string; readonly ctx: CallContext },
  { phase = 'admission', ...facts }: RefusalFacts,
  wallNowMs: number,
): AdmissionError {
  const { retryAfterMs } = facts;
  const retryAt = retryAfterMs === undefined ? undefined : wallNowMs + retryAfterMs;
  const message = `${downstream}: refused, as the test wants it (${code}).`;
  return MAKE[code](message, { ...facts, retryAt, downstream, tool: ctx.tool, runId: ctx.runId }, phase);
}
