import type { Inside, WatchedCall, Watcher } from '../../base/inside.ts';
import type { InventorySnapshot } from '../../base/snapshot.ts';
import { permitsOf, stand } from '../support/around.ts';
import { type Listening, listen, type Seen } from './channels.ts';
import { Findings } from './findings.ts';
import { Inventory, type Row } from './inventory.ts';
import { isLate, whose } from './late.ts';
import {
  allowing,
  close,
  current,
  type Held,
  hasEnded,
  heldOf,
  isAllowed,
  ofOneCall,
  open,
  routing,
  within,
} from './scope.ts';

/** Calls that ran before anybody watched have no async context of ours: for so long at most they are given the benefit of the doubt. */
const MOST_DOUBT_MS = 600_000;

/** With more than that waiting, those whose calls have settled are forgotten. */
const MOST_ROUTED = 256;

export interface WatchSettings {
  readonly hiddenRetries: boolean;
  readonly mostHosts: number;
}

/** Watches the requests of a process for one dispatcher. */
export class Watch implements Watcher {
  readonly #inside: Inside;
  readonly #settings: WatchSettings;
  readonly #inventory: Inventory;
  readonly #findings: Findings;
  /** Whose request an answer is for. */
  readonly #sent = new WeakMap<object, Held>();
  /** Downstreams with calls that began before this did. */
  readonly #unknown = new Set<string>();
  /** Requests that a gate has routed by its own lights, and that may wait in a pool. */
  readonly #routed = new Set<Held>();
  readonly #doubtUntil: number;
  #listening: Listening | undefined;

  constructor(inside: Inside, settings: WatchSettings) {
    const { clock, plans, inFlight } = inside;
    this.#inside = inside;
    this.#settings = settings;
    this.#inventory = new Inventory(plans, settings.mostHosts, clock.wallNow());
    this.#findings = new Findings(inside);
    this.#doubtUntil = clock.now() + MOST_DOUBT_MS;
    for (const name of plans().keys()) if (inFlight(name) > 0) this.#unknown.add(name);
    open();
    this.#listening = listen({
      sent: (request, seen) => this.#seen(request, seen),
      redirected: (request) => this.#redirected(request),
    });
    stand(inside.watching, 'watcher', this);
  }

  run<C extends WatchedCall>(call: C, fn: (call: C) => unknown): unknown {
    return within(this, call, fn);
  }

  inventory(): InventorySnapshot {
    return this.#inventory.read();
  }

  allow<T>(fn: () => T): T {
    return allowing(this, fn);
  }

  routed<T>(hasGate: boolean, fn: () => T): T {
    if (!hasGate) return allowing(this, fn);
    return routing(this, (held) => {
      if (held !== undefined) this.#await(held);
      return fn();
    });
  }

  /** Twice is once. */
  stop(): void {
    if (this.#listening === undefined) return;
    this.#listening.stop();
    this.#listening = undefined;
    close();
    const { watching } = this.#inside;
    if (watching.watcher === this) stand(watching, 'watcher', undefined);
  }

  #seen(request: object, { origin, name, method, isUndici }: Seen): void {
    const row = this.#inventory.row(origin, name);
    if (row === undefined) return;
    this.#inventory.count(row, this.#inside.clock.wallNow());
    // A tunnel to a proxy is no request yet: what goes through it is told by itself.
    if (row.downstream === undefined || method === 'CONNECT') return;
    const from = current();
    const downstream = row.claimants.find((name) => heldOf(from, this, name) !== undefined) ?? row.downstream;
    const held = heldOf(from, this, downstream);
    if (held !== undefined && held.requests === 0) this.#take(row, held, request);
    // Without a context and with nothing in flight it can be nobody's.
    else if (isUndici && (from !== undefined || this.#inside.inFlight(downstream) > 0))
      this.#look(row, downstream, method, request);
    else this.#judge(row, downstream, method, request, from);
  }

  /** It does not go without saying whose it is: the context may be somebody else's. */
  #look(row: Row, downstream: string, method: unknown, request: object): void {
    const is = whose(request);
    if (is.kind === 'known') {
      // A handler that was made outside of `allow` may be sent inside of it.
      const isMeant = isAllowed(current(), this) && !isLate();
      this.#judge(row, downstream, method, request, isMeant ? current() : is.held);
    } else if (this.#inside.inFlight(downstream) === 0 && !this.#isRouting()) {
      this.#ungated(row, downstream, method, undefined);
    } else if (is.kind === 'retry' && !this.#inside.isLeased(downstream)) {
      row.gated++;
      this.#retry(row, downstream, 2, 1);
    } else {
      row.unattributed++;
    }
  }

  #judge(row: Row, downstream: string, method: unknown, request: object, from: Held | undefined): void {
    const held = heldOf(from, this, downstream);
    const permits = held === undefined ? 0 : permitsOf(held.call);
    if (held !== undefined && held.requests < permits + held.redirects) {
      this.#take(row, held, request);
    } else if (this.#inside.isLeased(downstream)) {
      row.gated++;
    } else if (held !== undefined) {
      this.#take(row, held, request);
      this.#retry(row, downstream, held.requests - held.redirects, permits);
    } else if (this.#isDoubtful(downstream)) {
      row.unattributed++;
    } else {
      this.#ungated(row, downstream, method, from);
    }
  }

  #take(row: Row, held: Held, request: object): void {
    for (const one of ofOneCall(held)) one.requests++;
    this.#routed.delete(held);
    row.gated++;
    this.#sent.set(request, held);
  }

  #retry(row: Row, downstream: string, requests: number, permits: number): void {
    row.retries++;
    if (this.#settings.hiddenRetries) this.#findings.retries(row, downstream, requests, permits);
  }

  #ungated(row: Row, downstream: string, method: unknown, from: Held | undefined): void {
    if (isAllowed(from, this)) {
      row.allowed++;
      return;
    }
    row.ungated++;
    const isAfter = hasEnded(from, this, downstream);
    this.#findings.ungated(row, downstream, method, isAfter, () => this.#inventory.rowsOf(downstream));
  }

  #redirected(request: object): void {
    const held = this.#sent.get(request);
    if (held !== undefined) for (const one of ofOneCall(held)) one.redirects++;
  }

  #await(held: Held): void {
    // What has no channel of ours, such as a fetch of a test, is never seen.
    if (this.#routed.size >= MOST_ROUTED) this.#isRouting();
    this.#routed.add(held);
  }

  /** Whether a request may be one that a gate has sent on its way, to whatever host. */
  #isRouting(): boolean {
    for (const held of this.#routed) if (held.call.state === 'settled') this.#routed.delete(held);
    return this.#routed.size > 0;
  }

  #isDoubtful(downstream: string): boolean {
    if (!this.#unknown.has(downstream)) return false;
    const { clock, inFlight } = this.#inside;
    if (clock.now() < this.#doubtUntil && inFlight(downstream) > 0) return true;
    this.#unknown.delete(downstream);
    return false;
  }
}
