import type { Snapshot } from '../base/snapshot.ts';
import type { Address } from './top-address.ts';
import { fetchSnapshots, Unreadable } from './top-fetch.ts';
import { type Fleet, fleetOf } from './top-fleet.ts';

interface Target extends Address {
  snapshots: readonly Snapshot[];
  readAt: number;
  problem: Unreadable | undefined;
  problemSince: number;
}

/** Reads addresses again and again, and keeps of each what it said last. */
export class Poller {
  readonly #targets: readonly Target[];
  readonly #token: string | undefined;

  constructor(addresses: readonly Address[], token: string | undefined) {
    this.#targets = addresses.map((address) => ({
      ...address,
      snapshots: [],
      readAt: 0,
      problem: undefined,
      problemSince: 0,
    }));
    this.#token = token;
  }

  /** Asks everybody once. */
  async poll(): Promise<void> {
    await Promise.all(this.#targets.map((target) => this.#read(target)));
  }

  /** Everybody has answered, and somebody is there. */
  get isWell(): boolean {
    const heard = this.#heard();
    return heard.length > 0 && heard.every(({ problem }) => problem === undefined);
  }

  fleet(): Fleet {
    const now = performance.now();
    const heard = this.#heard();
    // Of a range with nobody in it one speaks for all.
    const told = heard.length > 0 ? heard : this.#targets.slice(0, 1);
    return fleetOf(
      told.map(({ url, snapshots, readAt, problem, problemSince }) => ({
        url: url.replace(/\/snapshot$/, ''),
        snapshots,
        ageMs: now - readAt,
        ...(problem === undefined ? {} : { problem: { text: problem.message, forMs: now - problemSince } }),
      })),
    );
  }

  #heard(): readonly Target[] {
    return this.#targets.filter(({ isOptional, snapshots, problem }) => {
      return !(isOptional && snapshots.length === 0 && (problem === undefined || problem.isNobody));
    });
  }

  async #read(target: Target): Promise<void> {
    try {
      target.snapshots = await fetchSnapshots(target.url, this.#token);
      target.readAt = performance.now();
      target.problem = undefined;
    } catch (error) {
      if (target.problem === undefined) target.problemSince = performance.now();
      target.problem = error instanceof Unreadable ? error : new Unreadable('it cannot be read');
    }
  }
}
