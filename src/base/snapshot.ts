import type { ErrorCode } from './errors.ts';
import type { HoldState } from './plan.ts';
import type { QuotaReading } from './verdict.ts';
import type { LimitedBy, Mode, Outcome, Priority } from './words.ts';

/** The state of one bucket. */
export interface QuotaSnapshot {
  /** `60/minute`. */
  readonly quota: string;
  readonly unit: string;
  /** Permits in the bucket now; negative while a debt is repaid; never above `burst`. */
  readonly permits: number;
  readonly burst: number;
  /** What the server's own counter leaves us, where that binds, and until when (epoch milliseconds). */
  readonly counted?: { readonly left: number; readonly until: number };
  readonly declaredPerSecond: number;
  readonly sizedPerSecond: number;
}

/** How many wait in one class, and for how long the oldest of them. */
export interface ClassSnapshot {
  readonly length: number;
  readonly oldestMs: number;
}

export interface LaneTotals {
  /** Calls that came in, refused ones included. */
  readonly calls: number;
  readonly started: number;
  readonly refused: Readonly<Partial<Record<ErrorCode, number>>>;
  /** Aborted by the caller, before or after the start. */
  readonly aborted: number;
  readonly settled: Readonly<Record<Outcome, number>>;
  /** 429s, those of `report()` included. */
  readonly throttled: number;
}

/** One downstream: its own lane, with the lanes of its accounts added to the counts. */
export interface DownstreamSnapshot {
  readonly downstream: string;
  readonly mode: Mode;
  readonly queued: number;
  readonly classes: Readonly<Record<Priority, ClassSnapshot>>;
  readonly oldestWaitMs: number;
  readonly running: number;
  /** Most calls in flight: of one lane, accounts have as many each; absent where they are not limited. */
  readonly maxConcurrent?: number;
  /** Past their end and still holding their place. */
  readonly overdue: number;
  /** Past their grace: the place was given back, the call has still not settled. */
  readonly orphaned: number;
  readonly isPaused: boolean;
  /** Epoch milliseconds at which the latest hold ends. */
  readonly heldUntil?: number;
  readonly holds: readonly HoldState[];
  /** What the operator gave as the reason of the pause in force. */
  readonly pauseReason?: string;
  /** Milliseconds of gentler pace left after a hold. */
  readonly warmLeftMs: number;
  /** What a new call of the default class and cost would wait, as it would be told. */
  readonly expectedWaitMs: number;
  readonly limitedBy?: LimitedBy;
  readonly quotas: readonly QuotaSnapshot[];
  /** 429s in a row: incidents without a success that began after the hold. */
  readonly inARow: number;
  readonly incidentId?: string;
  readonly lastThrottledAt?: number;
  /** What the server said of its limits last; absent as long as it has said nothing. */
  readonly heard?: HeardSnapshot;
  /** Lanes kept for `ctx.account`. */
  readonly accounts: number;
  readonly recent: RecentSnapshot;
  readonly top: TopSnapshot;
  readonly totals: LaneTotals;
}

/** What the last minute of the process's running time was like; a second that has begun counts, so that it is up to one shorter. */
export interface RecentSnapshot {
  /** Calls that started in it, divided by 60. */
  readonly startsPerSecond: number;
  /**
   * Quantiles in milliseconds, to 5 %, of what callers waited: of the calls that started in it, 0 for those that
   * need not wait and 1 for waits of less, and of those that waited and were then refused or aborted. Absent where there were none.
   */
  readonly waitP50Ms?: number;
  readonly waitP95Ms?: number;
  readonly refused: number;
  readonly throttled: number;
}

/**
 * Who uses a downstream most, accounts included: at most ten each of those that took most permits in the last window
 * and of those that wait most, the most permits first, then the most waiters.
 */
export interface TopSnapshot {
  /** The longest window of a request quota, an hour at most; a minute without one. */
  readonly windowMs: number;
  readonly runs: readonly TopEntry[];
  readonly tools: readonly TopEntry[];
}

export interface TopEntry {
  /** A `runId` or a `tool`. */
  readonly name: string;
  /** Exact. */
  readonly waiting: number;
  /**
   * Permits of requests taken in the last window, what was taken in its later half for certain. Where more than 128
   * names take part, at least so many.
   */
  readonly permits: number;
}

/** The server's own counters, as an answer told them last. */
export interface HeardSnapshot {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly quotas: readonly QuotaReading[];
}

/** How a sink fares. Every alert it was given is pending, delivered, replaced by a newer one, or dropped. */
export interface SinkSnapshot {
  readonly sink: string;
  readonly pending: number;
  readonly delivered: number;
  readonly replaced: number;
  /** Refused for good, without room, or left at the end. */
  readonly dropped: number;
  /** Since when, how often and with what it has failed, where its last delivery did; instants are epoch milliseconds. */
  readonly failing?: {
    readonly since: number;
    readonly attempts: number;
    /** `status 500`, `TypeError ECONNREFUSED`. */
    readonly kind: string;
    readonly nextAt?: number;
  };
}

/** Plain JSON: no NaN, no Infinity, no side effect of reading it. */
export interface Snapshot {
  readonly schema: 1;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly name?: string;
  readonly policyHash: string;
  readonly isClosed: boolean;
  readonly alerts: {
    readonly pending: number;
    /** By name of sink, with a number where another has it: `slack`, `slack#2`. */
    readonly dropped: Readonly<Record<string, number>>;
    readonly sinks?: readonly SinkSnapshot[];
  };
  readonly downstreams: readonly DownstreamSnapshot[];
  /** What the process sends requests to, while somebody watches (`watchUngated`). */
  readonly inventory?: InventorySnapshot;
}

/** The hosts that this process sends requests to, whoever sends them. Instants are epoch milliseconds. */
export interface InventorySnapshot {
  /** Since when they are counted. */
  readonly since: number;
  /** Hosts that belong to a downstream: those with ungated requests first, then the most requests. */
  readonly claimed: readonly ClaimedHost[];
  /** Hosts that belong to none, the most requests first. */
  readonly unclaimed: readonly SeenHost[];
  /** Requests to hosts that belong to none and came after so many others that they are not listed. */
  readonly others: number;
}

export interface SeenHost {
  /** `api.example.com`, `127.0.0.1:8080`, `[::1]:8080`: with its port where that is not the one of its scheme. */
  readonly host: string;
  /** All of them. */
  readonly requests: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Hosts of a downstream that came after too many others are one line: `other hosts`. */
export interface ClaimedHost extends SeenHost {
  readonly downstream: string;
  /** Made within a call or a lease of the downstream. */
  readonly gated: number;
  /** Made outside any. */
  readonly ungated: number;
  /** Likewise, and meant to be: made within `allow`. */
  readonly allowed: number;
  /** Of `gated`, those that a call made beyond what its permits are for. */
  readonly retries: number;
  /** Of which it cannot be told whose they were. */
  readonly unattributed: number;
  /** How the downstream's client is kept from retrying by itself, where the policy says so and it does. */
  readonly retriesOff?: string;
}
