import { PolicyError, type PolicyProblem } from '../../base/errors.ts';
import { show } from '../../base/text.ts';
import type { Settings } from './settings.ts';

/** An option of Bottleneck that lives on in the policy. */
export interface Carried {
  readonly option: string;
  readonly value: unknown;
  /** What it is now, and what is different about it. */
  readonly as: string;
}

/** An option of Bottleneck that the policy does not say. */
export interface NotCarried {
  readonly option: string;
  /** What it was set to; `(not shown)` where it may hold a secret. */
  readonly value: unknown;
  readonly why: string;
  /** What to do in its place. */
  readonly instead: string;
}

/** One downstream of a policy, with the options that can come of a limiter. */
export interface BottleneckPolicy {
  quota?: { readonly limit: number; readonly per: number; readonly burst?: number; readonly providerBurst?: number };
  utilization?: number;
  maxConcurrent?: number;
  minInterval?: number;
  maxQueueDepth?: number;
  maxRun?: number;
  priority?: 'interactive' | 'batch';
}

/** What has been found out so far of one limiter's settings. */
export class Found {
  readonly settings: Settings;
  readonly policy: BottleneckPolicy = {};
  readonly carried: Carried[] = [];
  readonly notCarried: NotCarried[] = [];
  readonly problems: PolicyProblem[] = [];

  constructor(settings: Settings) {
    this.settings = settings;
  }

  carry(option: string, as: string): void {
    this.carried.push({ option, value: this.settings[option], as });
  }

  leave(option: string, why: string, instead: string, isSecret = false): void {
    this.notCarried.push({ option, value: isSecret ? '(not shown)' : this.settings[option], why, instead });
  }

  /** A setting that Bottleneck has to find a number in; undefined where it is not set. Infinity is kept. */
  number(option: string, least = 0): number | undefined {
    const value = this.settings[option];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'number' && value >= least) return value;
    this.fail(option, least === 0 ? 'a number, 0 or more, or null' : `a number, ${least} or more, or null`);
    return undefined;
  }

  boolean(option: string): boolean | undefined {
    const value = this.settings[option];
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'boolean') return value;
    this.fail(option, 'true, false or null');
    return undefined;
  }

  fail(option: string, expected: string): void {
    const found = this.settings[option];
    const message = `expected ${expected}, found ${show(found)}`;
    const isPlain = typeof found === 'number' || typeof found === 'string' || typeof found === 'boolean';
    this.problems.push({ path: option, message, expected, ...(isPlain ? { found } : {}) });
  }

  /** Whether an option says anything at all. */
  isSet(option: string): boolean {
    const value = this.settings[option];
    return value !== undefined && value !== null;
  }

  done(): void {
    if (this.problems.length > 0) throw new PolicyError(this.problems, 'policyFromBottleneck');
  }
}

/** The longest that a policy takes as a duration. */
export const LONGEST_MS = 366 * 86_400_000;
