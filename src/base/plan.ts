import type { AlertName, AlertSeverity } from './alert.ts';
import type { EngineName, HoldCause, Mode, Priority } from './words.ts';

/**
 * A policy, resolved: every default filled in, every duration in milliseconds, every share computed.
 * `policy/` makes it, `model/` and `dispatch/` obey it, nobody changes it (it is deep-frozen).
 */
export interface PolicyPlan {
  readonly downstreams: ReadonlyMap<string, DownstreamPlan>;
  /** Short hash of the resolved policy; goes into alerts. */
  readonly hash: string;
  /** Where incidents are delivered, as the policy names it; absent where it says nothing. */
  readonly alerts?: readonly SinkPlan[];
}

export type SinkKind = 'stderr' | 'jsonl' | 'webhook' | 'alertmanager' | 'pagerduty' | 'slack' | 'otel';

/** One sink that a policy names. Secrets are references (`SLACK_WEBHOOK_URL`, `file:/run/secrets/slack`), never values. */
export interface SinkPlan {
  /** Unique in its policy: the kind, or what the policy calls it. */
  readonly name: string;
  readonly kind: SinkKind;
  readonly options: Readonly<Record<string, unknown>>;
  readonly only?: SinkFilter;
}

/** Which alerts a sink gets: those that match every list that is there. */
export interface SinkFilter {
  readonly severity?: readonly AlertSeverity[];
  readonly owner?: readonly string[];
  readonly downstream?: readonly string[];
  readonly name?: readonly AlertName[];
}

/** One declared quota and what this process makes of it. */
export interface QuotaPlan {
  /** As a person would write it: `60/minute`, `200000 tokens/minute`. */
  readonly text: string;
  /** `requests` unless declared otherwise. */
  readonly unit: string;
  /** What the downstream declares, whole, per window. */
  readonly limit: number;
  readonly windowMs: number;
  /** This worker's whole part of `limit`: ⌊limit / workers⌋; `limit` itself for one worker. */
  readonly share: number;
  /** Permits per window that this worker uses: utilization · limit / workers, at most `share`. May be fractional. */
  readonly sized: number;
  /** Bucket size, whole, at least 1. */
  readonly burst: number;
  /** The provider's own bucket size, where it runs one; the window rule then gives way. */
  readonly providerBurst?: number;
}

export interface CooldownPlan {
  readonly baseMs: number;
  readonly maxMs: number;
  /** Explicit steps instead of doubling. */
  readonly ladderMs?: readonly number[];
}

export interface WarmPlan {
  readonly forMs: number;
  /** (0, 1] */
  readonly rateFactor: number;
  readonly spacingMs: number;
}

/** `Infinity` in `leaseGraceMs` means never. An absent limit is no limit. */
export interface DownstreamPlan {
  readonly name: string;
  /** Absent: `enforce`. */
  readonly mode?: Mode;
  /** No sink hears of this downstream until then (epoch milliseconds); metrics, events and `onAlert` go on. */
  readonly mute?: { readonly until: number; readonly reason: string };
  readonly quotas: readonly QuotaPlan[];
  readonly utilization: number;
  readonly maxConcurrent?: number;
  readonly minIntervalMs?: number;
  readonly maxQueueDepth?: number;
  readonly maxWaitMs?: number;
  readonly pauseAboveMs: number;
  readonly whilePaused: 'refuse' | 'wait';
  readonly cooldown: CooldownPlan;
  readonly warm: WarmPlan;
  readonly throttleStatuses: readonly number[];
  readonly priority: Priority;
  readonly lowerShare: number;
  readonly fairness: 'runs' | 'off';
  /** Permits per declared unit for a call that does not say; `requests` is always present. */
  readonly defaultCost: Readonly<Record<string, number>>;
  readonly maxRunMs?: number;
  readonly leaseGraceMs: number;
  readonly maxHoldMs: number;
  readonly idempotent: boolean;
  readonly maxAccounts: number;
  readonly unlimited: boolean;
  /** What hands out turns, where the policy says it; absent: an engine that the program hands in, else our own. */
  readonly engine?: EngineName;
  readonly workers: number;
  /** False: nothing is said of headers before a 429. */
  readonly earlyAlerts?: boolean;
  /** The profile that it stands on. */
  readonly profile?: string;
  readonly hosts?: readonly string[];
  readonly requiresUserAgent?: string;
  readonly retriesOff?: string;
  readonly owner?: string;
  readonly source?: string;
  readonly runbook?: string;
  /** Name of a ready-made or passed-in classifier. */
  readonly classify?: string;
}

/**
 * One changed option of a downstream, as events and `apply` report it. A downstream that is new or gone is one
 * change with the path `''`. Where alerts are sent is no downstream's: then `downstream` is `''`, the path `alerts`.
 */
export interface PolicyChange {
  readonly downstream: string;
  readonly path: string;
  readonly from: unknown;
  readonly to: unknown;
  /** What is to be known of it, where it is not simply in force now. */
  readonly note?: string;
}

/** A hold in force. */
export interface HoldState {
  readonly cause: HoldCause;
  /** Milliseconds left. */
  readonly leftMs: number;
  /** Epoch milliseconds at which it ends. */
  readonly until: number;
}
