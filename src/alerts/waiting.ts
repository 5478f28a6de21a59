import type { Alert } from '../base/alert.ts';
import { incidentKey } from './incidents.ts';

/** One entry per alert name and downstream; more than this many can only be a leak of names. */
export const MOST_ENTRIES = 1_000;

/** What waits to be told about one thing. */
export interface Entry {
  readonly key: string;
  /** Counts up from the first: what was put in earlier goes out earlier. */
  readonly order: number;
  /** The newest word; it takes the place of one that has not gone out. */
  alert: Alert;
  /** The sink has been told of this incident: nothing is lost that it does not hear again. */
  isUpdate: boolean;
  /** Not to be told any more, while it was under way: it is not put back. */
  isWithdrawn: boolean;
  /** Refused as part of a batch: goes by itself. */
  isAlone: boolean;
  /** Others went out while this one failed: it waits for itself, not for the sink. */
  isSuspect: boolean;
  failures: number;
  /** Monotonic. */
  notBefore: number;
}

/** What became of an alert that was put in. */
export type Put = 'added' | 'replaced' | 'evicted' | 'full';

/**
 * Alerts that wait for one sink, in the order in which the first word of each was put in. Full, it lets go of
 * an update before it turns away what is the only word about an incident.
 */
export class Waiting {
  #entries = new Map<string, Entry>();
  /** Keys of updates, oldest first: what may be let go. */
  readonly #updates = new Set<string>();
  #order = 0;

  get size(): number {
    return this.#entries.size;
  }

  /** `elsewhere`: entries that are being sent count against the bound as well. */
  put(alert: Alert, isUpdate: boolean, elsewhere: number): Put {
    const key = incidentKey(alert);
    const known = this.#entries.get(key);
    if (known !== undefined) {
      this.#replace(known, alert, isUpdate);
      return 'replaced';
    }
    let put: Put = 'added';
    if (this.#entries.size + elsewhere >= MOST_ENTRIES) {
      const [update] = this.#updates;
      if (update === undefined || isUpdate) return 'full';
      this.#remove(update);
      put = 'evicted';
    }
    const order = ++this.#order;
    this.#entries.set(key, {
      key,
      order,
      alert,
      isUpdate,
      isWithdrawn: false,
      isAlone: false,
      isSuspect: false,
      failures: 0,
      notBefore: 0,
    });
    if (isUpdate) this.#updates.add(key);
    return put;
  }

  /** A newer word for what waits; nothing where nothing waits. */
  refresh(alert: Alert): boolean {
    const known = this.#entries.get(incidentKey(alert));
    if (known !== undefined) this.#replace(known, alert, known.isUpdate);
    return known !== undefined;
  }

  /** Takes out what waits about one thing. */
  withdraw(key: string): Entry | undefined {
    const known = this.#entries.get(key);
    if (known !== undefined) this.#remove(key);
    return known;
  }

  /** Takes out the first entries that may go, at most `most`; one that goes alone is a batch of its own. */
  take(most: number, mayGo: (entry: Entry) => boolean): Entry[] {
    const batch: Entry[] = [];
    for (const entry of this.#entries.values()) {
      if (!mayGo(entry)) continue;
      if (entry.isAlone && batch.length > 0) break;
      batch.push(entry);
      if (entry.isAlone || batch.length >= most) break;
    }
    for (const { key } of batch) this.#remove(key);
    return batch;
  }

  /** Puts what did not go out back in its place. Returns how many give way to a newer word. */
  putBack(sent: readonly Entry[]): number {
    let replaced = 0;
    const batch = sent.filter(({ isWithdrawn }) => !isWithdrawn);
    for (const entry of batch) {
      const newer = this.#entries.get(entry.key);
      if (newer !== undefined) {
        this.#remove(entry.key);
        this.#replace(entry, newer.alert, newer.isUpdate);
        replaced += 1;
      }
      if (entry.isUpdate) this.#updates.add(entry.key);
    }
    const all = [...batch, ...this.#entries.values()].sort((a, b) => a.order - b.order);
    this.#entries = new Map(all.map((entry) => [entry.key, entry]));
    return replaced;
  }

  some(mayGo: (entry: Entry) => boolean): boolean {
    for (const entry of this.#entries.values()) if (mayGo(entry)) return true;
    return false;
  }

  /** When the first entry is due; `Infinity` where nothing waits. */
  dueAt(): number {
    let at = Number.POSITIVE_INFINITY;
    for (const { notBefore } of this.#entries.values()) at = Math.min(at, notBefore);
    return at;
  }

  clear(): void {
    this.#entries.clear();
    this.#updates.clear();
  }

  #replace(entry: Entry, alert: Alert, isUpdate: boolean): void {
    entry.alert = alert;
    entry.isAlone = false;
    entry.isUpdate &&= isUpdate;
    if (!entry.isUpdate) this.#updates.delete(entry.key);
  }

  #remove(key: string): void {
    this.#entries.delete(key);
    this.#updates.delete(key);
  }
}
