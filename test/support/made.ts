import { type AdmissionError, isAdmissionError } from '../../src/base/errors.ts';

/** One call that a test has made, and what became of it. */
export class Made {
  readonly downstream: string;
  readonly account: string | undefined;
  readonly cost: Readonly<Record<string, number>>;
  /** Made to prepare the scene: not among `starts()`. */
  readonly isSetup: boolean;
  /** Monotonic milliseconds, and what the rig subtracts from them. */
  madeAtMs = 0;
  startedAtMs: number | undefined;
  endedAtMs: number | undefined;
  readonly #zeroMs: () => number;
  promise: Promise<unknown> = Promise.resolve();
  /** How often `fn` was invoked. */
  runs = 0;
  state: 'waiting' | 'running' | 'fulfilled' | 'rejected' = 'waiting';
  value: unknown;
  error: unknown;

  constructor(
    downstream: string,
    cost: Readonly<Record<string, number>>,
    rig: { readonly isSetup: boolean; readonly zeroMs: () => number; readonly account?: string | undefined },
  ) {
    this.downstream = downstream;
    this.cost = cost;
    this.account = rig.account;
    this.isSetup = rig.isSetup;
    this.#zeroMs = rig.zeroMs;
  }

  /** Milliseconds from the rig's zero until `fn` was invoked; `undefined` if it never was. */
  get startedMs(): number | undefined {
    return this.startedAtMs === undefined ? undefined : round(this.startedAtMs - this.#zeroMs());
  }

  /** Milliseconds from the rig's zero until the promise settled. */
  get endedMs(): number | undefined {
    return this.endedAtMs === undefined ? undefined : round(this.endedAtMs - this.#zeroMs());
  }

  /** Milliseconds from the call to its start. */
  get waitedMs(): number | undefined {
    return this.startedAtMs === undefined ? undefined : round(this.startedAtMs - this.madeAtMs);
  }

  get isSettled(): boolean {
    return this.state === 'fulfilled' || this.state === 'rejected';
  }

  /** The error of a call that Penstock refused; a failure of the test otherwise. */
  get refusal(): AdmissionError {
    if (!isAdmissionError(this.error)) {
      throw new Error(`expected a refusal, the call is ${this.state} with ${this.error ?? this.value}`);
    }
    return this.error;
  }

  /** The code of a refusal, or the state. */
  get result(): string {
    return isAdmissionError(this.error) ? this.error.code : this.state;
  }
}

/** To the microsecond, which is what counts as the same instant. */
function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** When they started, in order; those that did not are left out. */
export function startsOf(calls: readonly Made[]): number[] {
  return calls.flatMap((call) => (call.startedMs === undefined ? [] : [call.startedMs])).sort((a, b) => a - b);
}

/** How many came to which end. */
export function tally(calls: readonly Made[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const call of calls) counts[call.result] = (counts[call.result] ?? 0) + 1;
  return counts;
}
