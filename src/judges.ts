import type { EventBus } from './base/bus.ts';
import { PolicyError } from './base/errors.ts';
import { fold, nearest } from './base/nearest.ts';
import type { DownstreamPlan, PolicyPlan } from './base/plan.ts';
import { messageOf, show } from './base/text.ts';
import type { Classifier, Judge } from './base/verdict.ts';
import { READY_MADE } from './feedback/classifiers.ts';
import { createJudge } from './feedback/judge.ts';
import { remembering } from './feedback/remembered.ts';

type Classifiers = Readonly<Record<string, Classifier>>;

/** Who reads what each downstream answers: a classifier that was passed or is ready-made first, then our own reading. */
export class Judges {
  readonly #classify: Classifiers;
  readonly #bus: EventBus;
  readonly #wallNow: () => number;

  constructor(classify: Classifiers, bus: EventBus, wallNow: () => number) {
    this.#classify = classify;
    this.#bus = bus;
    this.#wallNow = wallNow;
  }

  for(plan: DownstreamPlan): Judge {
    const judge = createJudge({
      downstream: plan.name,
      throttleStatuses: plan.throttleStatuses,
      classify: this.#classifier(plan),
      wallNow: this.#wallNow,
      onClassifierFailure: (error) => {
        const detail = messageOf(error);
        this.#bus.emit({ at: this.#wallNow(), downstream: plan.name, type: 'classifier-failed', detail });
      },
    });
    return remembering(judge);
  }

  /** @throws {PolicyError} where a policy names a classifier that there is not, or one was passed that only its spelling keeps from being asked for. */
  check(plan: PolicyPlan): void {
    const known = [...Object.keys(this.#classify), ...Object.keys(READY_MADE)];
    const problems = [...plan.downstreams.values()]
      .filter((one) => one.classify !== undefined && this.#classifier(one) === undefined)
      .map((one) => {
        const expected = `known: ${known.join(', ')}`;
        const near = nearest(one.classify ?? '', known);
        const hint = near === undefined ? '' : `did you mean ${show(near)}? `;
        const message = `unknown classifier ${show(one.classify)} (${hint}${expected})`;
        return { path: `downstreams.${one.name}.classify`, message, found: one.classify, expected };
      });
    const names = [...plan.downstreams.values()].flatMap(({ name, classify = name }) => [name, classify]);
    for (const key of Object.keys(this.#classify)) {
      // Another name may be one that is registered later; one that only its spelling tells apart is not.
      const near = names.find((name) => name !== key && fold(name) === fold(key));
      if (names.includes(key) || near === undefined) continue;
      const message = `no downstream asks for it (did you mean ${show(near)}?)`;
      problems.push({ path: `classify.${key}`, message, found: key, expected: near });
    }
    if (problems.length > 0) throw new PolicyError(problems);
  }

  /** One that was passed, by the name in the policy or else that of the downstream; a ready-made one only where it is named. */
  #classifier(plan: DownstreamPlan): Classifier | undefined {
    const key = plan.classify ?? plan.name;
    if (Object.hasOwn(this.#classify, key)) return this.#classify[key];
    const isNamed = plan.classify !== undefined && Object.hasOwn(READY_MADE, key);
    return isNamed ? READY_MADE[key]?.() : undefined;
  }
}
