import type { Call, Lease } from '../../../src/dispatch/context.ts';
import type { TestPolicy } from './policies.ts';
import type { CallSpec, End } from './steps.ts';

/** Rounding of instants: 1 µs is forgiven, as by the dispatcher's own rule of what is due. */
export const ROUND_MS = 1e-3 + 1e-6;

/** What a test knows of one call, from the outside only. */
export interface ShadowCall {
  readonly id: number;
  readonly lane: ShadowLane;
  readonly spec: CallSpec;
  readonly isNested: boolean;
  readonly madeAt: number;
  readonly deadlineAt: number;
  readonly deadlineWall: number;
  readonly maxWaitAt: number;
  state: 'waiting' | 'running' | 'over';
  /** It was over a turn ago: by now its lane knows that too. */
  isKnownOver: boolean;
  /** Whether the caller has its answer. */
  isAnswered: boolean;
  error: unknown;
  runs: number;
  startedAt: number;
  /** What it takes, as far as anybody knows by now. */
  costs: { requests: number; tokens: number };
  /** Units that were declared when it started: only these can be corrected. */
  units: ReadonlySet<string>;
  lateSettles: number;
  /** From then on it no longer holds its place. */
  orphanAt: number;
  call: Call | Lease | undefined;
  finish: ((end: End) => void) | undefined;
  callId: number | undefined;
  /** Its place among those that came into line, while it stands there; else 0. */
  queuedAs: number;
}

interface Declaration {
  readonly windowMs: number;
  readonly unit: string;
  /** Declared without a gap since so many starts: instants alone could not tell what came first. */
  readonly since: number;
  /** Each in force from its instant until that of the next; Infinity where the provider runs the bucket. */
  readonly limits: { from: number; limit: number }[];
}

/** One lane as the rules say it must be, kept from what went in and what came out. */
export class ShadowLane {
  readonly key: string;
  readonly generation: number;
  readonly account: string | undefined;
  readonly starts: ShadowCall[] = [];
  hintedUntil = 0;
  operatorUntil = 0;
  /** A start after this instant belongs to no incident that is known. */
  lastIncidentAt = Number.NEGATIVE_INFINITY;
  lastStartAt = Number.NEGATIVE_INFINITY;
  /** The largest depth of the line that any of its policies has allowed. */
  deepest = 0;
  #declared = new Map<string, Declaration>();

  constructor(key: string, generation: number, account: string | undefined, policy: TestPolicy, now: number) {
    this.key = key;
    this.generation = generation;
    this.account = account;
    this.replan(policy, now);
  }

  get heldUntil(): number {
    return Math.max(this.hintedUntil, this.operatorUntil);
  }

  /** A quota is known by unit and window; one that comes back after it was gone counts afresh. */
  replan(policy: TestPolicy, now: number): void {
    this.deepest = Math.max(this.deepest, policy.input.maxQueueDepth ?? Number.POSITIVE_INFINITY);
    const next = new Map<string, Declaration>();
    for (const { unit, windowMs, limit, providerBurst } of policy.quotas) {
      const key = `${unit}/${windowMs}`;
      const known = this.#declared.get(key) ?? { unit, windowMs, since: this.starts.length, limits: [] };
      known.limits.push({ from: now, limit: providerBurst === undefined ? limit : Number.POSITIVE_INFINITY });
      next.set(key, known);
    }
    this.#declared = next;
  }

  /**
   * The window rule at the instant of a start: what the last window has started, each call at its actual
   * cost if that is known by now, else at what it reserved. A debit that comes later is not held against
   * the starts before it: the work was done before anybody could know. A call of cost 0 ignores a quota.
   */
  overfull({ costs }: ShadowCall, now: number): string | undefined {
    for (const { unit, windowMs, since, limits } of this.#declared.values()) {
      if ((unit === 'requests' ? costs.requests : costs.tokens) === 0) continue;
      const most = this.#mostAllowed(limits, now - windowMs);
      const used = this.used(unit, now - windowMs, since);
      if (used > most + 1e-6) return `${used} ${unit} in ${windowMs} ms at ${now}, where ${most} are allowed`;
    }
    return undefined;
  }

  /** What started after the instant `from`, the first `since` starts left out. */
  used(unit: string, from: number, since: number): number {
    let sum = 0;
    for (let i = this.starts.length - 1; i >= since; i--) {
      const start = this.starts[i]!;
      if (start.startedAt <= from + ROUND_MS) break;
      sum += unit === 'requests' ? start.costs.requests : start.costs.tokens;
    }
    return sum;
  }

  /** Whether every declared quota has room for so much more in its window. */
  hasRoom(costs: ShadowCall['costs'], now: number): boolean {
    for (const { unit, windowMs, limits } of this.#declared.values()) {
      const cost = unit === 'requests' ? costs.requests : costs.tokens;
      const used = this.used(unit, now - windowMs - 1, 0);
      if (cost > 0 && used + cost > limits.at(-1)!.limit) return false;
    }
    return true;
  }

  #mostAllowed(limits: Declaration['limits'], from: number): number {
    let most = 0;
    for (const [i, { limit }] of limits.entries()) {
      const until = limits[i + 1]?.from ?? Number.POSITIVE_INFINITY;
      if (until > from) most = Math.max(most, limit);
    }
    return most;
  }

  /** Places that are held now, as far as can be told from outside. */
  places(calls: readonly ShadowCall[], now: number): number {
    let held = 0;
    for (const call of calls) {
      if (call.lane === this && call.state === 'running' && !call.isNested && now < call.orphanAt - ROUND_MS) held++;
    }
    return held;
  }
}
