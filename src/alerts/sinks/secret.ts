import { PolicyError, type PolicyProblem } from '../../base/errors.ts';
import { addressProblem, isReference, REFERENCE_FORM, readReference } from '../../base/secrets.ts';
import type { SecretFrom } from '../../base/sink-options.ts';
import { DeliveryFailed } from '../sink.ts';
import type { SinkHost } from './host.ts';

/** Reads a secret at the moment it is used; rejects with `DeliveryFailed`. Holds none in between. */
export type Secret = () => Promise<string>;

/** Which values a secret may have; a problem says what was expected and never what was found. */
export type SecretRule = (value: string) => string | undefined;

/** Goes into a header: what a header cannot carry would be quoted in the error that `fetch` throws. */
export const headerRule: SecretRule = (value) =>
  /^[\x20-\x7e]+$/.test(value) ? undefined : 'holds characters that a header cannot carry';

export const urlRule: SecretRule = (value) => {
  try {
    const { protocol } = new URL(value);
    return protocol === 'http:' || protocol === 'https:' ? undefined : 'holds no http or https address';
  } catch {
    return 'holds no http or https address';
  }
};

/** The options of one sink while it is made: every problem is collected, then thrown at once. */
export class SinkOptions {
  readonly #host: SinkHost;
  readonly #where: string;
  readonly #problems: PolicyProblem[] = [];

  constructor(kind: string, host: SinkHost) {
    this.#host = host;
    this.#where = host.where ?? `${kind}Sink`;
  }

  complain(option: string, message: string): void {
    this.#problems.push({ path: `${this.#where}.${option}`, message });
  }

  /** A secret that must be there. */
  secret(option: string, from: SecretFrom | undefined, rule: SecretRule): Secret {
    const found = this.optionalSecret(option, from, rule);
    if (from === undefined) this.complain(option, `missing; expected ${REFERENCE_FORM}`);
    return found ?? (() => Promise.reject(unusable('a secret is missing')));
  }

  optionalSecret(option: string, from: SecretFrom | undefined, rule: SecretRule): Secret | undefined {
    if (from === undefined) return undefined;
    if (typeof from === 'function') return async () => checked(await called(from), rule, 'a secret');
    if (typeof from !== 'string' || !isReference(from)) {
      this.complain(option, `expected ${REFERENCE_FORM}; the value is not shown, for it may be the secret itself`);
      return undefined;
    }
    const read = (): string => {
      const found = readReference(from, environmentOf(this.#host));
      if ('missing' in found) throw unusable(found.missing);
      return checked(found.value, rule, from);
    };
    try {
      read();
    } catch (error) {
      this.complain(option, (error as Error).message);
    }
    return async () => read();
  }

  /** An address that may stand in a policy. */
  address(option: string, url: unknown, instead: string): string {
    const problem = typeof url === 'string' ? addressProblem(url) : 'expected an address';
    if (problem === undefined) return url as string;
    this.complain(option, `${problem}${problem.includes('secret') ? `; ${instead}` : ''}`);
    return '';
  }

  /** Throws a `PolicyError` that lists all problems, where there are any. */
  done(): void {
    if (this.#problems.length > 0)
      throw new PolicyError(this.#problems, this.#host.where === undefined ? this.#where : 'alerts');
  }
}

export function environmentOf(host: SinkHost): Readonly<Record<string, string | undefined>> {
  if (host.env !== undefined) return host.env;
  const { process } = globalThis as { process?: { env?: Readonly<Record<string, string | undefined>> } };
  return process?.env ?? {};
}

async function called(from: () => string | PromiseLike<string>): Promise<string> {
  try {
    const value: unknown = await from();
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
  } catch {
    // What it threw may hold the secret, or where it is kept.
  }
  throw unusable('the function that gives a secret gave none');
}

function checked(value: string, rule: SecretRule, name: string): string {
  const problem = rule(value);
  if (problem !== undefined) throw unusable(`${name} ${problem}`);
  return value;
}

/** A secret that is not there now may be there in a minute: files are exchanged. */
function unusable(message: string): DeliveryFailed {
  return new DeliveryFailed(message, { isRetryable: true });
}
