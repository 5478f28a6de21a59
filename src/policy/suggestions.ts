import type { Suggestion } from '../base/alert.ts';
import type { Wish } from '../base/evidence.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import type { DownstreamPolicyInput } from './input.ts';
import { isObject, pathText } from './paths.ts';
import { suggestChange, type Written } from './suggest.ts';

/** In a storm of 429s many alerts wish for the same; each answer is worked out once. */
const MOST_KEPT = 64;

/** What changes of a policy would look like: it knows in what form each downstream was written. */
export class Suggestions {
  readonly #defaults: DownstreamPolicyInput;
  readonly #own = new Map<string, Omit<Written, 'defaults'>>();
  readonly #kept = new Map<string, Suggestion | undefined>();

  /** `input`: a policy that was accepted; `defaults`: those of it, with the environment's overrides. */
  constructor(input: unknown, defaults: DownstreamPolicyInput, env?: Environment) {
    this.#defaults = defaults;
    const { policy, sources } = applyEnvironment(input, env);
    const [raw, all] = [input, policy].map((one) =>
      isObject(one) && isObject(one.downstreams) ? one.downstreams : {},
    );
    for (const [name, options] of Object.entries(all!)) {
      const own = copied(raw?.[name] ?? {});
      this.#own.set(name, { own, ...overrides(name, copied(options), sources) });
    }
  }

  /** A downstream has been written anew. */
  write(name: string, own: DownstreamPolicyInput): void {
    this.#own.set(name, { own: copied(own) });
    this.#kept.clear();
  }

  /** A downstream is gone. */
  erase(name: string): void {
    this.#own.delete(name);
    this.#kept.clear();
  }

  /** The change that grants a wish; undefined where none does. */
  for(name: string, wish: Wish): Suggestion | undefined {
    const key = JSON.stringify([name, wish]);
    if (this.#kept.has(key)) return this.#kept.get(key);
    const own = this.#own.get(name);
    const found = own === undefined ? undefined : suggestChange(name, { ...own, defaults: this.#defaults }, wish);
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(key, found);
    return found;
  }
}

/** Not `structuredClone`: it throws on a proxy, which is a policy like any other. */
function copied(options: unknown): DownstreamPolicyInput {
  return JSON.parse(JSON.stringify(options)) as DownstreamPolicyInput;
}

/** The options that variables have set, whole or in part. */
function overrides(
  name: string,
  all: DownstreamPolicyInput,
  sources: ReadonlyMap<string, string>,
): Pick<Written, 'environment'> {
  const variables: Record<string, string> = {};
  for (const key of Object.keys(all)) {
    const path = pathText(['downstreams', name, key]);
    const [, variable] = [...sources].find(([at]) => at === path || at.startsWith(`${path}.`)) ?? [];
    if (variable !== undefined) variables[key] = variable;
  }
  const options = Object.fromEntries(Object.entries(all).filter(([key]) => variables[key] !== undefined));
  return Object.keys(options).length === 0
    ? {}
    : { environment: { options: options as DownstreamPolicyInput, variables } };
}
