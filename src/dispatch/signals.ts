/** Whose calls an abort ends: a lane's waiters, or its running calls. */
export interface AbortOwner<T> {
  /** All of these end now, with the signal's reason. Returns what to do once everybody has left. */
  readonly aborted: (items: ReadonlySet<T>, signal: AbortSignal) => () => void;
}

interface Group {
  readonly owners: Map<AbortOwner<never>, Set<unknown>>;
  readonly listener: () => void;
}

/** One listener per distinct signal, however many calls share it; none once the last of them is over. */
export class SignalHub {
  readonly #groups = new Map<AbortSignal, Group>();

  add<T>(signal: AbortSignal, owner: AbortOwner<T>, item: T): void {
    let group = this.#groups.get(signal);
    if (group === undefined) {
      group = { owners: new Map(), listener: () => this.#abort(signal) };
      this.#groups.set(signal, group);
      signal.addEventListener('abort', group.listener);
    }
    const items = group.owners.get(owner);
    if (items === undefined) group.owners.set(owner, new Set([item]));
    else items.add(item);
  }

  remove<T>(signal: AbortSignal, owner: AbortOwner<T>, item: T): void {
    const group = this.#groups.get(signal);
    const items = group?.owners.get(owner);
    if (group === undefined || items === undefined) return;
    items.delete(item);
    if (items.size > 0) return;
    group.owners.delete(owner);
    if (group.owners.size > 0) return;
    signal.removeEventListener('abort', group.listener);
    this.#groups.delete(signal);
  }

  /** First everybody leaves, then the lanes go on: none of those concerned can start any more. */
  #abort(signal: AbortSignal): void {
    const group = this.#groups.get(signal);
    if (group === undefined) return;
    signal.removeEventListener('abort', group.listener);
    this.#groups.delete(signal);
    const after = [...group.owners].map(([owner, items]) => owner.aborted(items as never, signal));
    for (const then of after) then();
  }
}
