import type { DownstreamPlan } from './base/plan.ts';
import type { Mode } from './base/words.ts';

/** What was said of modes outside the policy, the more specific first: at run time, and by the environment for all. */
export class Modes {
  readonly #environment: Mode | undefined;
  #all: Mode | 'policy' = 'policy';
  readonly #byName = new Map<string, Mode | 'policy'>();

  /** `environment`: what `PENSTOCK_MODE` says. */
  constructor(environment: Mode | undefined) {
    this.#environment = environment;
  }

  /** The last word counts: one about all takes the place of what was said of each. */
  say(mode: Mode | 'policy', only: string | undefined): void {
    if (only !== undefined) {
      this.#byName.set(only, mode);
      return;
    }
    this.#all = mode;
    this.#byName.clear();
  }

  saidOf(name: string): Mode | 'policy' {
    return this.#byName.get(name) ?? this.#all;
  }

  /** The plan of a downstream that is registered at run time: the operator's variable wins over what its policy says. */
  planned(plan: DownstreamPlan): DownstreamPlan {
    const mode = this.#environment;
    if (mode === undefined || mode === (plan.mode ?? 'enforce')) return plan;
    const { mode: _, ...rest } = plan;
    return Object.freeze(mode === 'enforce' ? rest : { ...rest, mode });
  }
}
