import type { Cost, Duration, EngineName, Mode, Priority } from '../base/words.ts';
import type { AlertSinkInput } from './alerts-input.ts';

/**
 * A quota as the downstream declares it: `"60/minute"`, `"1/3s"`, `"200000 tokens/minute"`, or in parts
 * where it needs a bucket size of its own.
 */
export type QuotaInput =
  | string
  | {
      /** Units per window; a whole number, 1 or more. */
      readonly limit: number;
      /** Length of the window: `minute`, `3s`, or milliseconds. */
      readonly per: Duration;
      /** What is counted. Default `requests`. */
      readonly unit?: string | undefined;
      /** Size of our bucket; a whole number, 1 or more. */
      readonly burst?: number | undefined;
      /** Size of the bucket that the provider itself runs; the window rule then gives way. */
      readonly providerBurst?: number | undefined;
    };

/** The options of one downstream. An omitted dimension is unlimited. */
export interface DownstreamPolicyInput {
  /** One or several declared quotas. Omitted: no rate limit. */
  readonly quota?: QuotaInput | readonly QuotaInput[] | undefined;
  /** Share of every declared quota that is used, (0, 1]. Default 0.8. */
  readonly utilization?: number | undefined;
  /** Bucket size, for the request quota with the shortest window. Default: half of what `utilization` leaves. */
  readonly burst?: number | undefined;
  /** Most calls in flight. */
  readonly maxConcurrent?: number | undefined;
  /** Least time between two starts. */
  readonly minInterval?: Duration | undefined;
  /** Most waiters; 0 refuses whatever cannot start at once. */
  readonly maxQueueDepth?: number | undefined;
  /** Longest wait in the lane. Omitted: the deadline alone decides. */
  readonly maxWait?: Duration | undefined;
  /** A hold with more than this left is a pause. Default 5 m; never less than `cooldown.max`. */
  readonly pauseAbove?: Duration | undefined;
  /** What happens to calls that do not say how long they can wait. Default `refuse`. */
  readonly whilePaused?: 'refuse' | 'wait' | undefined;
  /** Holds for a 429 that carries no hint. Default `{ base: '2s', max: '60s' }`. */
  readonly cooldown?:
    | {
        readonly base?: Duration | undefined;
        readonly max?: Duration | undefined;
        /** Explicit steps instead of doubling. */
        readonly ladder?: readonly Duration[] | undefined;
      }
    | undefined;
  /** Gentler pace after a hold. Default: half the rate for the longest request window, at most 120 s. */
  readonly warm?:
    | {
        readonly for?: Duration | undefined;
        readonly rateFactor?: number | undefined;
        readonly spacing?: Duration | undefined;
      }
    | undefined;
  /** Statuses that mean throttled. Default `[429]`. */
  readonly throttleStatuses?: readonly number[] | undefined;
  /** Class of calls that name none. Default `normal`. */
  readonly priority?: Priority | undefined;
  /** Share of starts that go to the longest waiter of all, [0, 1]. Default 0.2. */
  readonly lowerShare?: number | undefined;
  /** Whether runs take turns within a class. Default `runs`. */
  readonly fairness?: 'runs' | 'off' | undefined;
  /** What a call takes that does not say. Default one request; needed for every other unit that is declared. */
  readonly defaultCost?: Cost | undefined;
  /** Longest run of `fn`. Default 10 m where `maxConcurrent` is set. */
  readonly maxRun?: Duration | undefined;
  /** How long an unsettled call keeps its place after its end, or `never`. Default 30 s. */
  readonly leaseGrace?: Duration | 'never' | undefined;
  /** Longest hold taken from a hint. Default 24 h. */
  readonly maxHold?: Duration | undefined;
  /** Repeating a call that may have run is safe. Default false. */
  readonly idempotent?: boolean | undefined;
  /** What Penstock does with the calls of this downstream. Default `enforce`. */
  readonly mode?: Mode | undefined;
  /** Lanes kept for `ctx.account`. Default 10000. */
  readonly maxAccounts?: number | undefined;
  /** No admission control at all; calls are still measured. Default false. */
  readonly unlimited?: boolean | undefined;
  /** What hands out turns: our own lane, or a Bottleneck limiter. Default `penstock`, unless the program hands in an engine. */
  readonly engine?: EngineName | undefined;
  /** Processes or threads that share the quota without a shared store. Default 1. */
  readonly workers?: number | undefined;
  /** Tell what headers show before any 429: a limit that is not the declared one, somebody else on the quota. Default true. */
  readonly earlyAlerts?: boolean | undefined;
  /** What is known of a public API, by the name of its profile: `arxiv`. Own options beat it, and it beats `defaults`. */
  readonly profile?: string | undefined;
  /** Hosts that belong to this downstream: `api.example.com`, `*.example.com`, with a port or without. */
  readonly hosts?: readonly string[] | undefined;
  /** Why a request to these hosts must carry a `User-Agent`; HTTP adapters refuse one that does not. */
  readonly requiresUserAgent?: string | undefined;
  /** The option that switches off the retries of this downstream's client: `maxRetries: 0`. */
  readonly retriesOff?: string | undefined;
  /** Who is told, for alerts. */
  readonly owner?: string | undefined;
  /** Where the quota was read, for alerts. */
  readonly source?: string | undefined;
  /** What to do, for alerts. */
  readonly runbook?: string | undefined;
  /** No sink hears of this downstream until then, at most 90 days ahead: a day (to its end, UTC) or an instant with its zone. */
  readonly mute?: { readonly until: string; readonly reason: string } | undefined;
  /** A classifier that `createDispatcher` is given, by name. */
  readonly classify?: string | undefined;
}

/** A whole policy, as a file or an object says it. */
export interface PolicyInput {
  /** Options of every downstream that does not set its own. */
  readonly defaults?: DownstreamPolicyInput | undefined;
  readonly downstreams: { readonly [name: string]: DownstreamPolicyInput };
  /** Where incidents are delivered. Omitted: stderr; an empty list is silence. */
  readonly alerts?: readonly AlertSinkInput[] | undefined;
  /** The mode of every downstream that has none of its own or from `defaults`. Default `enforce`. */
  readonly mode?: Mode | undefined;
  /** For editors. */
  readonly $schema?: string | undefined;
}

/** What `loadPolicy` returns: checked, deep-frozen, the environment's overrides in place. */
export interface Policy<Name extends string = string> extends PolicyInput {
  readonly downstreams: { readonly [name in Name]: DownstreamPolicyInput };
}
