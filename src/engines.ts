import { derivedEngine } from './adapters/bottleneck/derived.ts';
import { PolicyError, type PolicyProblem } from './base/errors.ts';
import { nearest } from './base/nearest.ts';
import type { DownstreamPlan, PolicyPlan } from './base/plan.ts';
import { show } from './base/text.ts';
import type { EngineMaker } from './dispatch/engine.ts';

type Makers = Readonly<Record<string, EngineMaker>>;

/** What hands out the turns of each downstream: an engine that was handed in, one that its policy names, or its own lane. */
export class Engines {
  readonly #makers: Makers;

  constructor(makers: Makers) {
    this.#makers = makers;
  }

  /** @throws {PolicyError} for what is no engine, and for one of a downstream that there is not. */
  check(plan: PolicyPlan): void {
    const names = [...plan.downstreams.keys()];
    const problems: PolicyProblem[] = [];
    if (typeof this.#makers !== 'object' || this.#makers === null) {
      throw new PolicyError(
        [{ path: 'options.engines', message: `expected engines by downstream, found ${show(this.#makers)}` }],
        'createDispatcher',
      );
    }
    for (const [name, maker] of Object.entries(this.#makers)) {
      const path = `options.engines.${name}`;
      const near = nearest(name, names);
      const one = plan.downstreams.get(name);
      if (!isMaker(maker)) {
        const message = `expected bottleneckEngine(limiter) of penstock/bottleneck, found ${show(maker)}`;
        problems.push({ path, message, found: maker });
      } else if (one === undefined) {
        const hint = near === undefined ? `declared are ${names.join(', ')}` : `did you mean ${near}?`;
        problems.push({ path, message: `unknown downstream; ${hint}`, found: name });
      } else if (one.unlimited) {
        problems.push({ path, message: 'the downstream is unlimited, nothing hands out turns there', found: name });
      }
    }
    if (problems.length > 0) throw new PolicyError(problems, 'createDispatcher');
  }

  /** Always the same one for the same downstream; undefined: its own lane. */
  for(plan: DownstreamPlan): EngineMaker | undefined {
    if (plan.unlimited || plan.engine === 'penstock') return undefined;
    if (Object.hasOwn(this.#makers, plan.name)) return this.#makers[plan.name];
    return plan.engine === 'bottleneck' ? derivedEngine : undefined;
  }
}

function isMaker(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, make } = value as Partial<EngineMaker>;
  return kind === 'bottleneck' && typeof make === 'function';
}
