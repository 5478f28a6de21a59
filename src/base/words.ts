/** What a call's outcome meant, as read from the value it returned or threw. */
export type Outcome = 'success' | 'throttled' | 'overloaded' | 'exhausted' | 'failed' | 'cancelled';

/** What makes a call wait. `queue` means: only those that are ahead of it. */
export type LimitedBy = 'quota' | 'concurrency' | 'interval' | 'hold' | 'queue';

/** Why no call may start before an instant. */
export type HoldCause = 'retry-after' | 'quota-reset' | 'cooldown' | 'operator';

/**
 * What Penstock does with a downstream's calls. `enforce`: they wait or are refused. `observe`: every call starts
 * at once, the lane keeps its books as if it enforced and reports what it would have done. `off`: neither.
 */
export type Mode = 'enforce' | 'observe' | 'off';

/** All of them, as they are listed. */
export const MODES: readonly Mode[] = ['enforce', 'observe', 'off'];

/** What hands out a lane's turns: its own reckoning, or a Bottleneck limiter. */
export type EngineName = 'penstock' | 'bottleneck';

/** Classes of service, highest first. */
export type Priority = 'interactive' | 'normal' | 'batch';

/** The classes in the order in which they are served. */
export const PRIORITIES: readonly Priority[] = ['interactive', 'normal', 'batch'];

/** Milliseconds, or a text such as `250ms`, `30s`, `5m`, `1h`, `1d`. */
export type Duration = number | string;

/** Permits that a call takes: of requests, or per unit. Whole numbers, 0 or more. */
export type Cost = number | { readonly [unit: string]: number };

/** The unit that a bare number of permits means. */
export const REQUESTS = 'requests';
