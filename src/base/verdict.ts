import type { ServerWord } from './alert.ts';
import type { Outcome } from './words.ts';

/** What a server says of one of its limits: of how much it counts, what is left of it, and for how long. */
export interface QuotaReading {
  /** Permits per window. */
  readonly limit?: number | undefined;
  /** Permits left, 0 or more. */
  readonly remaining?: number | undefined;
  /** Milliseconds from the answer until the window starts afresh, 0 or more. */
  readonly resetMs?: number | undefined;
  readonly windowMs?: number | undefined;
  /** What it counts: `requests` where the server names no other unit. */
  readonly unit?: string | undefined;
  /** The server's own name of the limit. */
  readonly policy?: string | undefined;
}

/** A call's outcome as `feedback/` reads it. `server.retryAfterMs` is the server's own word, uncapped. */
export interface Verdict {
  readonly outcome: Outcome;
  readonly server?: ServerWord | undefined;
  /** What the answer said of the server's limits, whatever the outcome. Never empty. */
  readonly quotas?: readonly QuotaReading[] | undefined;
}

/**
 * A function that reads an outcome first; `undefined` means "not mine". Of a refusal, what it leaves unsaid
 * (when to come back, what is left) is read from the value as without it.
 */
export type Classifier = (outcome: {
  readonly value: unknown;
  readonly thrown: boolean;
  readonly downstream: string;
}) => Verdict | undefined;

/** What the lane asks after every call. Never throws. */
export type Judge = (value: unknown, thrown: boolean) => Verdict;
