import { looksSecret } from './secrets.ts';
import { show } from './text.ts';
import type { LimitedBy } from './words.ts';

/** Every code an `AdmissionError` can carry. */
export type ErrorCode =
  | 'DEADLINE_EXCEEDED'
  | 'RATE_LIMIT_QUEUE_FULL'
  | 'RATE_LIMIT_QUEUE_TIMEOUT'
  | 'RATE_LIMITED'
  | 'COST_EXCEEDS_QUOTA'
  | 'UNKNOWN_DOWNSTREAM'
  | 'INVALID_CALL'
  | 'DISPATCHER_CLOSED'
  | 'CANCELLED'
  | 'INVALID_POLICY';

/** Where a deadline was found to be missed. */
export type DeadlinePhase = 'entry' | 'admission' | 'waiting' | 'running';

/** What an error knows besides its message. Durations in milliseconds, instants in epoch milliseconds. */
export interface ErrorFacts {
  readonly downstream: string;
  readonly started?: boolean;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly retryAt?: number | undefined;
  readonly waitedMs?: number;
  readonly expectedWaitMs?: number | undefined;
  readonly limitedBy?: LimitedBy | undefined;
  readonly tool?: string | undefined;
  readonly runId?: string | undefined;
}

/** One problem of a policy. */
export interface PolicyProblem {
  /** `downstreams.carrier.quota`, or the name of an environment variable. */
  readonly path: string;
  readonly message: string;
  /** A text, a number, `true`, `false` or `null`; left out where it may be a secret. */
  readonly found?: unknown;
  readonly expected?: string;
  /** The nearest right key or value. */
  readonly nearest?: string;
}

const BRAND: unique symbol = Symbol.for('penstock.AdmissionError') as never;

/**
 * Penstock said no. Ordinary errors of `fn` are never of this class.
 *
 * `started` false means that `fn` never ran. `retryable` means that the same call, with a new
 * deadline, may succeed later and that repeating it is safe.
 */
export class AdmissionError extends Error {
  readonly code: ErrorCode;
  readonly downstream: string;
  readonly started: boolean;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly retryAt?: number;
  readonly waitedMs: number;
  readonly expectedWaitMs?: number;
  readonly limitedBy?: LimitedBy;
  readonly tool?: string;
  readonly runId?: string;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts) {
    super(message);
    this.code = code;
    this.downstream = facts.downstream;
    this.started = facts.started ?? false;
    this.retryable = facts.retryable ?? false;
    this.waitedMs = facts.waitedMs ?? 0;
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs;
    if (facts.retryAt !== undefined) this.retryAt = facts.retryAt;
    if (facts.expectedWaitMs !== undefined) this.expectedWaitMs = facts.expectedWaitMs;
    if (facts.limitedBy !== undefined) this.limitedBy = facts.limitedBy;
    if (facts.tool !== undefined) this.tool = facts.tool;
    if (facts.runId !== undefined) this.runId = facts.runId;
  }

  static {
    Object.defineProperty(this.prototype, BRAND, { value: true });
    Object.defineProperty(this.prototype, 'name', {
      value: 'AdmissionError',
      configurable: true,
      writable: true,
    });
  }

  /** Plain JSON: name, code, message and every fact that is known. */
  toJSON(): object {
    return Object.assign({}, this, { name: this.name, code: this.code, message: this.message });
  }
}

function named(type: { prototype: Error }, name: string): void {
  Object.defineProperty(type.prototype, 'name', { value: name, configurable: true, writable: true });
}

/** The deadline had passed, cannot be met, or passed while `fn` ran (`phase`). */
export class DeadlineExceeded extends AdmissionError {
  readonly phase: DeadlinePhase;
  constructor(message: string, facts: ErrorFacts & { readonly phase: DeadlinePhase }) {
    super('DEADLINE_EXCEEDED', message, facts);
    this.phase = facts.phase;
  }
  static {
    named(this, 'DeadlineExceeded');
  }
}

/** `maxQueueDepth` calls wait already. */
export class QueueFull extends AdmissionError {
  constructor(message: string, facts: ErrorFacts) {
    super('RATE_LIMIT_QUEUE_FULL', message, { retryable: true, ...facts });
  }
  static {
    named(this, 'QueueFull');
  }
}

/** `maxWait` cannot be met or was reached. */
export class QueueTimeout extends AdmissionError {
  constructor(message: string, facts: ErrorFacts) {
    super('RATE_LIMIT_QUEUE_TIMEOUT', message, { retryable: true, ...facts });
  }
  static {
    named(this, 'QueueTimeout');
  }
}

/** The lane is paused; `retryAfterMs` is when a new call could start. */
export class DownstreamPaused extends AdmissionError {
  constructor(message: string, facts: ErrorFacts) {
    super('RATE_LIMITED', message, { retryable: true, ...facts });
  }
  static {
    named(this, 'DownstreamPaused');
  }
}

/** More than the quota's whole window: can never fit. */
export class CostExceedsQuota extends AdmissionError {
  constructor(message: string, facts: ErrorFacts) {
    super('COST_EXCEEDS_QUOTA', message, facts);
  }
  static {
    named(this, 'CostExceedsQuota');
  }
}

/** No downstream of that name. */
export class UnknownDownstream extends AdmissionError {
  constructor(message: string, facts: ErrorFacts) {
    super('UNKNOWN_DOWNSTREAM', message, facts);
  }
  static {
    named(this, 'UnknownDownstream');
  }
}

/** A bad `ctx`: the message names the field, what was found and what was expected. */
export class InvalidCall extends AdmissionError {
  constructor(message: string, facts: ErrorFacts) {
    super('INVALID_CALL', message, facts);
  }
  static {
    named(this, 'InvalidCall');
  }
}

/** The dispatcher is closed, or the lane was unregistered. */
export class DispatcherClosed extends AdmissionError {
  constructor(message: string, facts: ErrorFacts) {
    super('DISPATCHER_CLOSED', message, facts);
  }
  static {
    named(this, 'DispatcherClosed');
  }
}

/** The operator has cancelled what waited of a run or a tool (`cancel`); `fn` never ran. */
export class CallCancelled extends AdmissionError {
  /** What the operator gave as the reason. */
  readonly reason: string;
  constructor(message: string, facts: ErrorFacts & { readonly reason: string }) {
    super('CANCELLED', message, facts);
    this.reason = facts.reason;
  }
  static {
    named(this, 'CallCancelled');
  }
}

/** Every problem of a policy at once, each with its path. */
export class PolicyError extends AdmissionError {
  readonly problems: readonly PolicyProblem[];
  constructor(problems: readonly PolicyProblem[], where = 'policy') {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    const lines = problems.map((problem) => `  ${problem.path}: ${problem.message}`);
    super('INVALID_POLICY', `${where}: ${count}\n${lines.join('\n')}`, { downstream: '' });
    this.problems = problems.map(withoutSecret);
  }

  /** Plain JSON: what was found is shown, not copied. */
  override toJSON(): object {
    const problems = this.problems.map((problem) =>
      'found' in problem ? { ...problem, found: show(problem.found) } : problem,
    );
    return { ...super.toJSON(), problems };
  }
  static {
    named(this, 'PolicyError');
  }
}

/** Errors are logged whole, and a secret is easily written in a wrong place: what may be one, or hold one, is left out. */
function withoutSecret(problem: PolicyProblem): PolicyProblem {
  const { found, ...rest } = problem;
  const mayHoldOne = typeof found === 'string' ? looksSecret(found) : typeof found === 'object' && found !== null;
  return mayHoldOne ? rest : problem;
}

/**
 * Whether Penstock itself refused. Works across two copies of the package.
 *
 * @example
 * try { await callDownstream('carrier', fn) } catch (error) {
 *   if (isAdmissionError(error) && error.retryable) scheduleAgain(error.retryAfterMs)
 * }
 */
export function isAdmissionError(value: unknown): value is AdmissionError {
  try {
    return typeof value === 'object' && value !== null && (value as { [BRAND]?: unknown })[BRAND] === true;
  } catch {
    // A revoked proxy is nobody's error.
    return false;
  }
}
