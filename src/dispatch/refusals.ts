import { formatDuration } from '../base/duration.ts';
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
  QueueFull,
  QueueTimeout,
} from '../base/errors.ts';
import { messageOf } from '../base/text.ts';
import type { LimitedBy } from '../base/words.ts';
import type { Request } from './request.ts';

/** What a refusal is made of. Durations in milliseconds; `wallNow` in epoch milliseconds. */
export interface RefusalFacts {
  readonly downstream: string;
  readonly request: Request;
  readonly wallNow: number;
  readonly waitedMs: number;
  /** How long the call would have to wait from now. */
  readonly expectedMs?: number | undefined;
  /** How long it could have waited from now. */
  readonly affordMs?: number | undefined;
  readonly limitedBy?: LimitedBy | undefined;
  readonly limit?: string | undefined;
}

/** One way to refuse: its code, and its error from facts gathered when it was decided. */
export interface Refusal {
  readonly code: ErrorCode;
  readonly make: (facts: RefusalFacts) => AdmissionError;
}

function refusal(code: ErrorCode, make: Refusal['make']): Refusal {
  return { code, make };
}

function factsOf(facts: RefusalFacts, retryAfterMs: number | undefined): ErrorFacts {
  const { request } = facts;
  return {
    downstream: facts.downstream,
    retryable: true,
    waitedMs: facts.waitedMs,
    expectedWaitMs: facts.expectedMs === undefined ? undefined : facts.waitedMs + facts.expectedMs,
    retryAfterMs,
    retryAt: retryAfterMs === undefined ? undefined : facts.wallNow + retryAfterMs,
    limitedBy: facts.limitedBy,
    tool: request.tool,
    runId: request.runId,
  };
}

/** How much later the same call, with the same time to spare, could be made. */
function comeBackIn(facts: RefusalFacts): number | undefined {
  if (facts.expectedMs === undefined) return undefined;
  return Math.max(0, facts.expectedMs - Math.max(0, facts.affordMs ?? 0));
}

function because(facts: RefusalFacts): string {
  return facts.limit === undefined || facts.limit === 'queue' ? '' : ` (limited by ${facts.limit})`;
}

function later(retryAfterMs: number | undefined): string {
  return retryAfterMs === undefined ? '' : ` Come back in ${formatDuration(Math.ceil(retryAfterMs))}.`;
}

export function deadlineMissed(phase: DeadlinePhase): Refusal {
  return refusal('DEADLINE_EXCEEDED', (facts) => {
    const retryAfterMs = phase === 'entry' ? undefined : comeBackIn(facts);
    const { downstream, expectedMs, affordMs = 0, waitedMs } = facts;
    const past = affordMs < 0 ? `passed ${formatDuration(-affordMs)} ago` : 'has passed';
    const message =
      phase === 'waiting' && expectedMs === undefined
        ? `${downstream}: refused after waiting ${formatDuration(waitedMs)}: its deadline passed before it could start${because(facts)}.`
        : phase === 'entry' || expectedMs === undefined
          ? `${downstream}: refused, the deadline ${past}. Give a deadline in the future.`
          : `${downstream}: refused, the call would have to wait ${formatDuration(expectedMs)}${because(facts)} and its deadline allows ${formatDuration(Math.max(0, affordMs))}.${later(retryAfterMs)}`;
    return new DeadlineExceeded(message, { ...factsOf(facts, retryAfterMs), phase });
  });
}

export const waitTooLong: Refusal = refusal('RATE_LIMIT_QUEUE_TIMEOUT', (facts) => {
  const { downstream, expectedMs, affordMs = 0, waitedMs } = facts;
  const retryAfterMs = comeBackIn(facts);
  const message =
    expectedMs === undefined
      ? `${downstream}: refused after waiting ${formatDuration(waitedMs)}, the longest wait allowed (maxWait).${later(retryAfterMs)}`
      : `${downstream}: refused, the call would have to wait ${formatDuration(expectedMs)}${because(facts)} and maxWait allows ${formatDuration(Math.max(0, affordMs))}.${later(retryAfterMs)}`;
  return new QueueTimeout(message, factsOf(facts, retryAfterMs));
});

/** Every place is held, nothing settles, and this call would wait for ever. */
export const laneStalled: Refusal = refusal('RATE_LIMIT_QUEUE_TIMEOUT', (facts) => {
  const message = `${facts.downstream}: refused after waiting ${formatDuration(facts.waitedMs)}: every place is held and no call has settled for the whole lease grace. A nested call belongs into call.run(...); a call without an end needs a deadline.`;
  return new QueueTimeout(message, factsOf(facts, undefined));
});

export function queueFull(depth: number, isDisplaced = false): Refusal {
  return refusal('RATE_LIMIT_QUEUE_FULL', (facts) => {
    const full =
      depth === 0 ? 'nothing may wait here (maxQueueDepth: 0)' : `${depth} calls wait already (maxQueueDepth)`;
    const why = isDisplaced ? 'displaced by a call of a higher class' : full;
    const message = `${facts.downstream}: refused, ${why}.${later(facts.expectedMs)}`;
    return new QueueFull(message, factsOf(facts, facts.expectedMs));
  });
}

/** The lane's engine has thrown the call out of its queue, or takes none any more. */
export function turnDropped(why: unknown): Refusal {
  return refusal('RATE_LIMIT_QUEUE_FULL', (facts) => {
    const message = `${facts.downstream}: refused, the limiter that hands out turns has dropped the call: ${messageOf(why)}`;
    return new QueueFull(message, factsOf(facts, undefined));
  });
}

export function tooManyAccounts(most: number): Refusal {
  return refusal('RATE_LIMIT_QUEUE_FULL', (facts) => {
    const message = `${facts.downstream}: refused, ${most} accounts are in use (maxAccounts) and none of them is idle.`;
    return new QueueFull(message, factsOf(facts, undefined));
  });
}

export const paused: Refusal = refusal('RATE_LIMITED', (facts) => {
  const message = `${facts.downstream}: refused, the lane is paused${because(facts)}; a call could start in ${formatDuration(facts.expectedMs ?? 0)}.${later(facts.expectedMs)} Give a deadline beyond that to wait for it.`;
  return new DownstreamPaused(message, factsOf(facts, facts.expectedMs));
});

export function costTooLarge(cost: number, largest: number, quota: string, workers: number): Refusal {
  return refusal('COST_EXCEEDS_QUOTA', (facts) => {
    const share = workers > 1 ? `, of which this worker has ${largest}` : '';
    const message = `${facts.downstream}: refused, the call costs ${cost} and ${quota} is declared${share}: it can never fit. Split it, or declare a larger quota.`;
    return new CostExceedsQuota(message, { ...factsOf(facts, undefined), retryable: false });
  });
}

export function closed(what: 'dispatcher' | 'lane'): Refusal {
  return refusal('DISPATCHER_CLOSED', (facts) => {
    const why = what === 'lane' ? 'the downstream was unregistered' : 'the dispatcher is closed';
    return new DispatcherClosed(`${facts.downstream}: refused, ${why}.`, {
      ...factsOf(facts, undefined),
      retryable: false,
    });
  });
}

/** The operator wants what waits of a run or a tool gone. */
export function cancelled(reason: string): Refusal {
  return refusal('CANCELLED', (facts) => {
    const { downstream, waitedMs } = facts;
    const message = `${downstream}: cancelled by the operator after ${formatDuration(waitedMs)} in line: ${reason}. It never ran. Do not repeat it unless it is still wanted.`;
    return new CallCancelled(message, { ...factsOf(facts, undefined), retryable: false, reason });
  });
}

/** The caller's answer when its call still runs at its end. */
export function ranTooLong(
  facts: RefusalFacts & { readonly ranMs: number; readonly isDeadline: boolean },
): DeadlineExceeded {
  const { request } = facts;
  const end = facts.isDeadline ? 'its deadline passed' : 'it reached maxRun';
  const repeat = request.isIdempotent ? 'Repeating it is safe.' : 'Whether it took effect is unknown.';
  const message = `${facts.downstream}: the call had run for ${formatDuration(facts.ranMs)} when ${end}. ${repeat}`;
  return new DeadlineExceeded(message, {
    ...factsOf(facts, undefined),
    started: true,
    retryable: request.isIdempotent,
    phase: 'running',
  });
}

/** The caller's answer when its call still runs and the dispatcher has been closed. */
export function abandoned(facts: RefusalFacts): DispatcherClosed {
  const { isIdempotent } = facts.request;
  const repeat = isIdempotent ? 'Repeating it is safe.' : 'Whether it took effect is unknown.';
  const message = `${facts.downstream}: the call still ran when the time for closing was up. ${repeat}`;
  return new DispatcherClosed(message, { ...factsOf(facts, undefined), started: true, retryable: false });
}
