/** What an abort ends: a waiter or a running call. */
export interface Abortable {
  /** Marks it as ended; must not hand anything out yet. Returns what to do once all are marked. */
  readonly abortedBy: (reason: unknown) => (() => void) | undefined;
}

interface Group {
  readonly targets: Set<Abortable>;
  readonly listener: () => void;
}

/** One listener per distinct signal, however many calls share it; none once the last of them is over. */
export class SignalHub {
  readonly #groups = new Map<AbortSignal, Group>();

  add(signal: AbortSignal, target: Abortable): void {
    let group = this.#groups.get(signal);
    if (group === undefined) {
      const targets = new Set<Abortable>();
      group = { targets, listener: () => this.#abort(signal, targets) };
      this.#groups.set(signal, group);
      signal.addEventListener('abort', group.listener);
    }
    group.targets.add(target);
  }

  remove(signal: AbortSignal, target: Abortable): void {
    const group = this.#groups.get(signal);
    if (group === undefined || !group.targets.delete(target) || group.targets.size > 0) return;
    signal.removeEventListener('abort', group.listener);
    this.#groups.delete(signal);
  }

  /** Signals listened to. */
  get size(): number {
    return this.#groups.size;
  }

  /** First everybody leaves, then the lanes go on: none of those concerned can start any more. */
  #abort(signal: AbortSignal, targets: Set<Abortable>): void {
    const after = new Set<() => void>();
    for (const target of [...targets]) {
      const then = target.abortedBy(signal.reason);
      if (then !== undefined) after.add(then);
      this.remove(signal, target);
    }
    for (const then of after) then();
  }
}
