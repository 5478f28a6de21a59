import type { DownstreamPlan } from '../../base/plan.ts';

type Scheme = 'http:' | 'https:';

/** One pattern of one downstream. */
interface Claim {
  readonly downstream: string;
  /** Of `*.suffix` with its dot; '' for `*`. */
  readonly text: string;
  readonly port: number | undefined;
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Which downstream a host belongs to, by the `hosts` of the plans: `api.example.com`, `*.example.com` (not the
 * suffix itself), `*`, each with or without a port. The longest pattern wins, then the one with a port.
 */
export class HostIndex {
  readonly #exact = new Map<string, Claim[]>();
  /** The longest first. */
  readonly #suffixes: Claim[] = [];

  constructor(plans: ReadonlyMap<string, Pick<DownstreamPlan, 'hosts'>>) {
    for (const [downstream, { hosts = [] }] of plans) for (const pattern of hosts) this.#add(downstream, pattern);
    this.#suffixes.sort((a, b) => b.text.length - a.text.length || rank(a) - rank(b));
  }

  /** `host` without port, brackets or upper case; `port` may be left out where it is the one of the scheme. */
  find(host: string, port?: number, protocol: Scheme = 'https:'): string | undefined {
    const at = port ?? DEFAULT_PORTS[protocol];
    const fits = (claim: Claim): boolean => claim.port === undefined || claim.port === at;
    const exact = this.#exact.get(host)?.find(fits);
    if (exact !== undefined) return exact.downstream;
    return this.#suffixes.find((claim) => host.endsWith(claim.text) && host.length > claim.text.length && fits(claim))
      ?.downstream;
  }

  #add(downstream: string, pattern: string): void {
    const [, name = '', port] = /^(.*?)(?::(\d+))?$/.exec(pattern) ?? [];
    const text = name.toLowerCase().replace(/^\[|\]$|\.$/g, '');
    const claim = { downstream, text: text.replace(/^\*/, ''), port: port === undefined ? undefined : Number(port) };
    if (text.startsWith('*')) {
      this.#suffixes.push(claim);
      return;
    }
    const claims = this.#exact.get(text) ?? [];
    this.#exact.set(
      text,
      [...claims, claim].sort((a, b) => rank(a) - rank(b)),
    );
  }
}

function rank({ port }: Claim): number {
  return port === undefined ? 1 : 0;
}
