import type { DownstreamPlan } from '../../base/plan.ts';
import type { ClaimedHost, InventorySnapshot, SeenHost } from '../../base/snapshot.ts';
import { HostIndex } from '../support/hosts.ts';
import { type Address, readOrigin } from './address.ts';

/** Origins are remembered so that an address is read once; a process that talks to ever new ones begins anew. */
const MOST_ORIGINS = 2_000;

/** Stands for hosts that are not listed. */
const REST: Address = { hostname: '*', port: '', protocol: 'https:', text: 'other hosts' };

/** What was seen of one host. */
export class Row {
  readonly address: Address;
  /** The downstreams whose pattern fits best: more than one only where the policy has a host twice. */
  claimants: readonly string[] = [];
  requests = 0;
  gated = 0;
  ungated = 0;
  allowed = 0;
  retries = 0;
  unattributed = 0;
  firstAt = 0;
  lastAt = 0;

  constructor(address: Address) {
    this.address = address;
  }

  get downstream(): string | undefined {
    return this.claimants[0];
  }
}

/** The hosts that a process sends requests to, and whose they are. */
export class Inventory {
  readonly #plans: () => ReadonlyMap<string, DownstreamPlan>;
  readonly #most: number;
  readonly #since: number;
  readonly #rows = new Map<string, Row>();
  readonly #byOrigin = new Map<string, Row>();
  /** Of each downstream, and of none: all hosts together that are not listed. */
  readonly #rest = new Map<string | undefined, Row>();
  readonly #listed = { claimed: 0, unclaimed: 0 };
  #seen: ReadonlyMap<string, DownstreamPlan> | undefined;
  #index = new HostIndex(new Map());

  /** `since`: epoch milliseconds; at most `most` hosts of downstreams are listed, and as many that belong to none. */
  constructor(plans: () => ReadonlyMap<string, DownstreamPlan>, most: number, since: number) {
    this.#plans = plans;
    this.#most = most;
    this.#since = since;
  }

  /** The row of an origin. `name`: what its `host` header says in the place of the origin's own. */
  row(origin: string, name: unknown): Row | undefined {
    this.#follow();
    const key = typeof name === 'string' ? `${origin} ${name}` : origin;
    return this.#byOrigin.get(key) ?? this.#read(key, origin, name);
  }

  count(row: Row, at: number): void {
    row.requests++;
    row.lastAt = at;
    if (row.firstAt === 0) row.firstAt = at;
  }

  /** Those of a downstream that are listed. */
  rowsOf(downstream: string): Row[] {
    return [...this.#all()].filter((row) => row.downstream === downstream);
  }

  read(): InventorySnapshot {
    this.#follow();
    const plans = this.#plans();
    const claimed: ClaimedHost[] = [];
    const unclaimed: SeenHost[] = [];
    for (const row of this.#all()) {
      const { downstream, requests, gated, ungated, allowed, retries, unattributed, firstAt, lastAt } = row;
      const seen = { host: row.address.text, requests, firstAt, lastAt };
      const retriesOff = retries === 0 ? undefined : plans.get(downstream ?? '')?.retriesOff;
      if (row === this.#rest.get(undefined)) continue;
      if (downstream === undefined) unclaimed.push(seen);
      else {
        const off = retriesOff === undefined ? {} : { retriesOff };
        claimed.push({ ...seen, downstream, gated, ungated, allowed, retries, unattributed, ...off });
      }
    }
    claimed.sort((a, b) => b.ungated - a.ungated || byRequests(a, b));
    const others = this.#rest.get(undefined)?.requests ?? 0;
    return { since: this.#since, claimed, unclaimed: unclaimed.sort(byRequests), others };
  }

  /** A policy was changed: hosts may belong to another downstream, or to none any more. */
  #follow(): void {
    const plans = this.#plans();
    if (plans === this.#seen) return;
    this.#seen = plans;
    this.#index = new HostIndex(plans);
    this.#byOrigin.clear();
    this.#listed.claimed = 0;
    for (const row of this.#rows.values()) {
      row.claimants = this.#claimants(row.address);
      if (row.downstream !== undefined) this.#listed.claimed++;
    }
    this.#listed.unclaimed = this.#rows.size - this.#listed.claimed;
    for (const name of this.#rest.keys()) if (name !== undefined && !plans.has(name)) this.#rest.delete(name);
  }

  #read(key: string, origin: string, name: unknown): Row | undefined {
    const own = readOrigin(origin);
    if (own === undefined) return undefined;
    // A client that has resolved the name itself sends to an address, and names the host in its header.
    const named =
      typeof name === 'string' && this.#claimants(own).length === 0
        ? readOrigin(`${own.protocol}//${name}`)
        : undefined;
    const address = named !== undefined && this.#claimants(named).length > 0 ? named : own;
    const row = this.#rows.get(idOf(address)) ?? this.#list(address);
    if (this.#byOrigin.size >= MOST_ORIGINS) this.#byOrigin.clear();
    this.#byOrigin.set(key, row);
    return row;
  }

  #list(address: Address): Row {
    const claimants = this.#claimants(address);
    const [downstream] = claimants;
    const kind = downstream === undefined ? 'unclaimed' : 'claimed';
    const isFull = this.#listed[kind] >= this.#most;
    const rest = isFull ? this.#rest.get(downstream) : undefined;
    if (rest !== undefined) return rest;
    const row = new Row(isFull ? REST : address);
    row.claimants = claimants;
    if (isFull) {
      this.#rest.set(downstream, row);
    } else {
      this.#rows.set(idOf(address), row);
      this.#listed[kind]++;
    }
    return row;
  }

  *#all(): IterableIterator<Row> {
    yield* this.#rows.values();
    yield* this.#rest.values();
  }

  #claimants(address: Address): readonly string[] {
    return this.#index.claimants(address);
  }
}

function idOf({ text }: Address): string {
  return text;
}

function byRequests(a: SeenHost, b: SeenHost): number {
  return b.requests - a.requests || (a.host < b.host ? -1 : 1);
}
