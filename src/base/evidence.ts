/** One declared quota, and what this process made of it. */
export interface QuotaEvidence {
  /** `60/minute`. */
  readonly text: string;
  readonly unit: string;
  readonly limit: number;
  readonly windowMs: number;
  /** This worker's whole part of `limit`. */
  readonly share: number;
  /** Permits per window that this worker uses. */
  readonly sized: number;
  readonly burst: number;
  readonly providerBurst?: number;
  /** Permits that started in the last window. */
  readonly taken: number;
}

/** What the server said last of one of its limits, beside our own use of it. */
export interface CounterEvidence {
  /** Which declared quota it is about: an index into `Evidence.quotas`; absent for a limit that nobody declared. */
  readonly quota?: number;
  readonly unit: string;
  readonly limit?: number | undefined;
  readonly remaining?: number | undefined;
  readonly resetMs?: number | undefined;
  readonly windowMs?: number | undefined;
  /** That this is the window of its limit was told, or has been seen: it has begun anew in time. */
  readonly isWindowSeen?: boolean;
  /** The server's own name of it. */
  readonly policy?: string | undefined;
  /** Milliseconds since it was heard; 0 for the answer that the alert is about. */
  readonly ageMs: number;
  /** What of it is known to be used, whoever used it, in permits. */
  readonly used?: number;
  /** What this process used of that, as near as can be told while calls are in flight. */
  readonly ours?: number;
  /** The same if all that were in flight had been counted already. */
  readonly oursAtMost?: number;
  /** The time in which that was used: since the server's window began, or a whole window. */
  readonly spanMs?: number;
  /** The server runs a bucket: `used` is what was taken out of it in that time, and this is what flowed in. */
  readonly filled?: number;
  /** What others had used when this process first heard of it, as long as that still counts. */
  readonly before?: number;
}

/** Starts that came close together, up to the one that was refused. */
export interface BunchEvidence {
  readonly windowMs: number;
  /** The refused one included. */
  readonly starts: number;
  /** Of these, those that were refused. */
  readonly throttled: number;
  /** Of these, those without an answer yet. */
  readonly unanswered: number;
  /** The most that were let through in such a window before. */
  readonly most: number;
}

/** The numbers behind a diagnosis, as they were when something was worth an alert. */
export interface Evidence {
  readonly workers: number;
  readonly quotas: readonly QuotaEvidence[];
  readonly counters: readonly CounterEvidence[];
  /** Shortest window first; none where nobody knows which start was refused. */
  readonly bunches: readonly BunchEvidence[];
}

/** A hypothesis with the numbers that it rests on. Counts are permits. */
export type Finding =
  | {
      readonly hypothesis: 'limit-changed';
      readonly declared: string;
      /** The same quota with the server's limit: `40/minute`. */
      readonly told: string;
      readonly isLower: boolean;
      /** It is the size of the provider's bucket that differs. */
      readonly isBucket: boolean;
    }
  | {
      readonly hypothesis: 'other-consumer';
      readonly limit: number;
      readonly used: number;
      readonly ours: number;
      readonly others: number;
      /** Of `others`, what the other workers of this policy may have used. */
      readonly workers: number;
      readonly spanMs: number;
      readonly windowMs: number;
      /** `others` as a rate: per window. */
      readonly perWindow: number;
      /** They are too few, or the time is too short, to call that more than a guess. */
      readonly isRateKnown: boolean;
      /** Out of a bucket of the server's, into which so much flowed meanwhile. */
      readonly filled?: number;
    }
  | {
      readonly hypothesis: 'hidden-window';
      /** Absent where it is not known in which window it is counted. */
      readonly bunch?: BunchEvidence;
      /** The limit that fits the evidence: `5/second`. */
      readonly limit?: string;
      /** Headers that name a limit which nobody declared. */
      readonly undeclared?: { readonly text: string; readonly remaining: number };
      /** What was left, by the server's own count, of the limit that is declared. */
      readonly left?: { readonly remaining: number; readonly limit: number };
    }
  | {
      readonly hypothesis: 'policy-too-wide';
      readonly quota: string;
      readonly taken: number;
      readonly share: number;
      /** What this policy lets start in one window at most. */
      readonly worst: number;
    }
  | {
      readonly hypothesis: 'restart';
      /** What had been used before this process first heard of it; absent without headers. */
      readonly before?: number;
      readonly limit?: number;
    }
  | {
      readonly hypothesis: 'unknown';
      /** Whether headers told how much the server counts. */
      readonly isCounted: boolean;
    };

/** A change of the policy that fits the evidence; `policy/` writes it in the user's own form. */
export type Wish =
  | { readonly kind: 'limit'; readonly quota: string; readonly limit: number }
  | { readonly kind: 'bucket'; readonly quota: string; readonly size: number }
  | { readonly kind: 'add'; readonly quota: string }
  | { readonly kind: 'utilization'; readonly factor: number }
  | { readonly kind: 'narrow'; readonly quota: string }
  | { readonly kind: 'declare'; readonly quota: string };

/** What the evidence says, best founded first. */
export interface Diagnosis {
  readonly findings: readonly Finding[];
  readonly wish?: Wish;
}
