import type { Evidence, Finding } from './evidence.ts';
import type { HoldCause, Mode } from './words.ts';

export type AlertName =
  | 'QuotaModelWrong'
  | 'QuotaExhausted'
  | 'QuotaDrift'
  | 'OtherConsumer'
  | 'LaneStalled'
  | 'UngatedRequest'
  | 'PolicyRejected'
  | 'SinkFailing';

export type AlertSeverity = 'info' | 'warning' | 'critical';

export type Hypothesis =
  | 'limit-changed'
  | 'other-consumer'
  | 'hidden-window'
  | 'policy-too-wide'
  | 'restart'
  | 'unknown';

/** Starts counted in one window that ends now. */
export interface WindowCount {
  readonly windowMs: number;
  readonly starts: number;
  /** What the downstream declares for this window (requests), where it declares one. */
  readonly declared?: number;
  /** What this process uses of it. */
  readonly sized?: number;
}

/** What the answer itself said, in numbers only: no URL, header text, argument or body. */
export interface ServerWord {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
  /** Where the time was read, e.g. `retry-after`. */
  readonly readFrom?: string | undefined;
  /** The provider's own name for what happened, where it is one that we know: `ThrottlingException`. */
  readonly code?: string | undefined;
  /** The server said longer than `maxHold`. */
  readonly capped?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly resetMs?: number | undefined;
}

/** A change of the policy, ready to paste: the value at `path` in the place of what is there. */
export interface Suggestion {
  /** `downstreams.carrier.quota`. */
  readonly path: string;
  /** What stands there in the policy; null where nothing does. */
  readonly from: unknown;
  readonly to: unknown;
  /** What is in force, where that is not `from`: a default, or what the environment says. */
  readonly inForce?: unknown;
  /** The environment variable that wins over what stands in the policy: there the change is to be made. */
  readonly variable?: string;
}

/** What a person is told. Schema 1. */
export interface Alert {
  readonly schema: 1;
  readonly id: string;
  readonly name: AlertName;
  readonly status: 'firing' | 'resolved';
  readonly severity: AlertSeverity;
  /** `sink:slack` in a `SinkFailing`, `policy` in a `PolicyRejected`: those are about no downstream. */
  readonly downstream: string;
  /** Which lane of it, where that is a host's (`host:api.example.com`). Accounts are never named. */
  readonly lane?: string;
  /** ISO 8601. */
  readonly at: string;
  readonly endsAt?: string;
  readonly origin: {
    readonly service?: string;
    readonly environment?: string;
    readonly instance: string;
    readonly version: string;
    readonly policyHash: string;
  };
  readonly incident: {
    readonly id: string;
    readonly startedAt: string;
    readonly throttles: number;
    readonly inARow: number;
  };
  /** What Penstock has done. */
  readonly action: {
    readonly kind: 'none' | 'hold' | 'pause';
    readonly cause?: HoldCause;
    /** ISO 8601. */
    readonly until?: string;
    readonly step?: number;
  };
  readonly impact: {
    readonly waiting: number;
    readonly refused: number;
    readonly inFlight: number;
    readonly oldestWaitMs: number;
    /** At most 5. */
    readonly tools: readonly string[];
  };
  readonly observed: {
    /** 1 s, 10 s and every declared window. */
    readonly windows: readonly WindowCount[];
    readonly sinceHoldMs?: number;
    readonly processUpMs: number;
  };
  readonly server: ServerWord;
  readonly hypothesis: Hypothesis;
  readonly explanation: string;
  readonly suggestion?: Suggestion;
  readonly owner?: string;
  readonly source?: string;
  /** What the policy names, else the section about this alert in the page that the package brings along. */
  readonly runbook?: string;
  readonly tool?: string;
  readonly runId?: string;
  readonly traceId?: string;
  readonly spanId?: string;
}

/**
 * What a lane knows at the moment something is worth an alert; `alerts/` turns it into an `Alert`.
 * Instants are epoch milliseconds.
 */
export interface AlertFacts {
  readonly name: AlertName;
  readonly downstream: string;
  readonly lane?: string;
  readonly at: number;
  readonly incident: {
    readonly id: string;
    readonly startedAt: number;
    readonly throttles: number;
    readonly inARow: number;
  };
  readonly action: {
    readonly kind: 'none' | 'hold' | 'pause';
    readonly cause?: HoldCause;
    readonly until?: number;
    readonly step?: number;
  };
  readonly impact: Alert['impact'];
  /** What the impact has come to by now: a pause refuses calls without another alert. */
  readonly impactNow?: () => Alert['impact'];
  readonly observed: Alert['observed'];
  readonly server: ServerWord;
  /** Without any there is no model to be wrong. */
  readonly declared: readonly {
    readonly text: string;
    readonly limit: number;
    readonly windowMs: number;
    readonly unit: string;
  }[];
  readonly longestWindowMs: number;
  /** The numbers from which a diagnosis is made. */
  readonly evidence?: Evidence;
  /** What they mean, best founded first. */
  readonly findings?: readonly Finding[];
  /** A change of the policy that fits them, checked and ready to paste. */
  readonly suggestion?: Suggestion;
  readonly owner?: string;
  readonly source?: string;
  readonly runbook?: string;
  readonly tool?: string;
  readonly runId?: string;
  readonly traceId?: string;
  readonly spanId?: string;
  /** For alerts that no 429 raised (`LaneStalled`, `SinkFailing`, `PolicyRejected`): what happened, in one sentence. */
  readonly detail?: string;
  /** Absent: `enforce`. Otherwise `action` is what enforcing would have done. */
  readonly mode?: Mode;
}

/**
 * Where incidents are delivered. `deliver` may be slow, reject, throw or hang: nothing of it
 * reaches a call. The signal fires when the attempt has taken too long or the dispatcher closes.
 */
export interface AlertSink {
  readonly name: string;
  readonly deliver: (alert: Alert, signal: AbortSignal) => void | PromiseLike<void>;
}
