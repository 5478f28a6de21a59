import type { Counter } from '@opentelemetry/api';
import type { InventorySnapshot } from '../base/snapshot.ts';
import { ATTRIBUTE, OTHER } from './names.ts';
import { Tally } from './series.ts';

/** A process may talk to ever new hosts: those that come after so many add no series. */
const MOST_ADDRESSES = 50;

/** Requests to hosts that belong to no downstream, by host without its port. */
export class UnclaimedSeries {
  readonly #counter: Counter;
  readonly #tallies = new Map<string, Tally>();

  constructor(counter: Counter) {
    this.#counter = counter;
  }

  tell({ unclaimed, others }: InventorySnapshot): void {
    const counts = new Map<string, number>([[OTHER, others]]);
    for (const { host, requests } of unclaimed) {
      const address = this.#named(host.replace(/:\d+$/, ''));
      counts.set(address, (counts.get(address) ?? 0) + requests);
    }
    for (const [address, count] of counts) {
      if (address === OTHER && count === 0) continue;
      const tally = this.#tally(address);
      tally.count = count;
      tally.tell(this.#counter);
    }
  }

  #named(address: string): string {
    if (this.#tallies.has(address)) return address;
    const named = this.#tallies.size - (this.#tallies.has(OTHER) ? 1 : 0);
    if (named >= MOST_ADDRESSES) return OTHER;
    this.#tally(address);
    return address;
  }

  #tally(address: string): Tally {
    let tally = this.#tallies.get(address);
    if (tally === undefined) {
      tally = new Tally({ [ATTRIBUTE.serverAddress]: address });
      this.#tallies.set(address, tally);
    }
    return tally;
  }
}
