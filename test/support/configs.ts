import type { DownstreamPolicyInput } from '../../src/policy/input.ts';

/** A downstream's policy as a test writes it, with what it declares in numbers for the checks. */
export interface Config {
  readonly policy: DownstreamPolicyInput;
  readonly declares: readonly Declared[];
}

export interface Declared {
  readonly limit: number;
  readonly windowMs: number;
  readonly unit: string;
  /** Exempt from the window rule: the provider runs a bucket of its own. */
  readonly isBucket?: boolean;
}

type More = DownstreamPolicyInput;

/** 75 calls / 60 s declared: 60 used, one permit per 1,000 ms; a burst of 7. */
export function configS(more: More = {}): Config {
  return quotaOf(75, 60_000, more);
}

/** 10 / 1 s declared: 8 used, one permit per 125 ms; a burst of 1. */
export function configF(more: More = {}): Config {
  return quotaOf(10, 1_000, more);
}

/** 75,000 model tokens / 60 s declared: 60,000 used, one per millisecond; a burst of 7,500, or as given. */
export function configM(more: More = {}, providerBurst?: number): Config {
  const quota = { limit: 75_000, per: '1m', unit: 'tokens', ...(providerBurst && { providerBurst }) };
  const isBucket = providerBurst !== undefined;
  return {
    policy: { quota, defaultCost: { tokens: 1_000 }, ...more },
    declares: [{ limit: 75_000, windowMs: 60_000, unit: 'tokens', isBucket }],
  };
}

/** Any one quota of requests. */
export function quotaOf(limit: number, windowMs: number, more: More = {}): Config {
  return {
    policy: { quota: { limit, per: windowMs }, ...more },
    declares: [{ limit, windowMs, unit: 'requests' }],
  };
}

/** A quota whose whole share may be used at once: the provider runs a bucket of its own. */
export function bucketOf(limit: number, windowMs: number, size: number, more: More = {}): Config {
  return {
    policy: { quota: { limit, per: windowMs, providerBurst: size }, ...more },
    declares: [{ limit, windowMs, unit: 'requests', isBucket: true }],
  };
}

/** No quota declared. */
export function bare(more: More = {}): Config {
  return { policy: more, declares: [] };
}
