import { InvalidCall } from '../../base/errors.ts';
import { portKey, readHostPattern } from '../../base/hosts.ts';
import type { Inside } from '../../base/inside.ts';
import type { DownstreamPlan } from '../../base/plan.ts';
import { show } from '../../base/text.ts';

/** A pattern, as it was last written, and the downstreams that claim it: one, unless the policy is wrong. */
export interface Claim {
  readonly pattern: string;
  readonly downstreams: readonly string[];
}

/** Where a request goes. */
export interface Place {
  /** As `URL` has it. */
  readonly hostname: string;
  /** '' for the scheme's own. */
  readonly port: string;
}

/**
 * Which downstream a host belongs to, by the `hosts` of the policy: an exact name before a suffix, a longer
 * suffix before a shorter one, and of the same name the one with the port.
 */
export class HostIndex {
  readonly #exact = new Map<string, Claim>();
  readonly #below = new Map<string, Claim>();

  constructor(plans: ReadonlyMap<string, DownstreamPlan>) {
    for (const [downstream, { hosts = [] }] of plans) for (const host of hosts) this.#claim(host, downstream);
  }

  /**
   * @throws {InvalidCall} where two downstreams claim one pattern: all such patterns, each with its downstreams.
   */
  check(where: string): this {
    const doubled = this.doubled();
    if (doubled.length > 0) throw new InvalidCall(`${where}: ${doubled.map(complaint).join('; ')}`, { downstream: '' });
    return this;
  }

  /** Every pattern that two downstreams claim. */
  doubled(): readonly Claim[] {
    return [...this.#exact.values(), ...this.#below.values()].filter(isDoubled);
  }

  /**
   * The downstream that claims a host; undefined where none does.
   *
   * @throws {InvalidCall} where two claim it with the same pattern.
   */
  find(place: Place): string | undefined {
    const claim = this.#claimOf(place);
    if (claim === undefined) return undefined;
    if (isDoubled(claim)) throw new InvalidCall(complaint(claim), { downstream: claim.downstreams[0] ?? '' });
    return claim.downstreams[0];
  }

  /** Every downstream that claims a host with the pattern that fits best: one, unless the policy is wrong. */
  claimants(place: Place): readonly string[] {
    return this.#claimOf(place)?.downstreams ?? [];
  }

  #claimOf({ hostname, port }: Place): Claim | undefined {
    const name = hostname.replace(/\.$/, '').toLowerCase();
    const key = portKey(port);
    return at(this.#exact, name, key) ?? this.#findBelow(name, key);
  }

  #findBelow(name: string, key: string): Claim | undefined {
    // An address has no names above it.
    if (!name.startsWith('[')) {
      for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
        const claim = at(this.#below, name.slice(dot + 1), key);
        if (claim !== undefined) return claim;
      }
    }
    return at(this.#below, '', key);
  }

  #claim(host: string, downstream: string): void {
    const pattern = readHostPattern(host);
    if (pattern === undefined) return;
    const claims = pattern.isSuffix ? this.#below : this.#exact;
    const key = keyOf(pattern.name, pattern.port);
    const downstreams = [...new Set([...(claims.get(key)?.downstreams ?? []), downstream])];
    claims.set(key, { pattern: host, downstreams });
  }
}

/** The index of what is in force now: another one when the policy has changed. */
export function hostIndexOf(inside: Inside, where: string): () => HostIndex {
  let plans = inside.plans();
  let index = new HostIndex(plans).check(where);
  return () => {
    const latest = inside.plans();
    // What is wrong with a policy that came later is said to those whose host it is about.
    if (latest !== plans) index = new HostIndex(latest);
    plans = latest;
    return index;
  };
}

function keyOf(name: string, port: string | undefined): string {
  return port === undefined ? name : `${name}:${port}`;
}

function at(claims: ReadonlyMap<string, Claim>, name: string, port: string): Claim | undefined {
  return claims.get(keyOf(name, port)) ?? claims.get(name);
}

function isDoubled({ downstreams }: Claim): boolean {
  return downstreams.length > 1;
}

function complaint({ pattern, downstreams }: Claim): string {
  return `hosts: ${show(pattern)} is claimed by ${downstreams.map(show).join(' and ')}; leave it to one of them`;
}
