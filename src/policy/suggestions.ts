import type { Suggestion } from '../base/alert.ts';
import type { Wish } from '../base/evidence.ts';
import { applyEnvironment, type Environment } from './environment.ts';
import type { DownstreamPolicyInput } from './input.ts';
import { isObject } from './paths.ts';
import { suggestChange } from './suggest.ts';

/** In a storm of 429s many alerts wish for the same; each answer is worked out once. */
const MOST_KEPT = 64;

/** What changes of a policy would look like: it knows in what form each downstream was written. */
export class Suggestions {
  readonly #defaults: DownstreamPolicyInput;
  readonly #own = new Map<string, DownstreamPolicyInput>();
  readonly #kept = new Map<string, Suggestion | undefined>();

  /** `input`: a policy that was accepted; `defaults`: those of it, with the environment's overrides. */
  constructor(input: unknown, defaults: DownstreamPolicyInput, env?: Environment) {
    this.#defaults = defaults;
    const { policy } = applyEnvironment(input, env);
    const downstreams = isObject(policy) && isObject(policy.downstreams) ? policy.downstreams : {};
    for (const [name, own] of Object.entries(downstreams)) this.write(name, own as DownstreamPolicyInput);
  }

  /** A downstream has been written anew. */
  write(name: string, own: DownstreamPolicyInput): void {
    // Not `structuredClone`: it throws on a proxy, which is a policy like any other.
    this.#own.set(name, JSON.parse(JSON.stringify(own)) as DownstreamPolicyInput);
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
    const found = own === undefined ? undefined : suggestChange(name, { own, defaults: this.#defaults }, wish);
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear();
    this.#kept.set(key, found);
    return found;
  }
}
