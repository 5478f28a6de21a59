/** A client that tells one listener of the end of its connection. */
export interface Closing {
  onclose?: (() => void) | undefined;
}

interface Watched {
  readonly listeners: Set<() => void>;
  readonly own: () => void;
  /** Whoever listened before. */
  before: (() => void) | undefined;
}

/** One for each client, however many gates it has: gates that hooked into each other could never all be unhooked. */
const WATCHED = new WeakMap<object, Watched>();

/**
 * Hears of the end of a connection that others have closed, or lost; returns what ends that. As long as somebody
 * watches, the client's one listener is this, which tells the one that was there.
 */
export function watchClose(client: Closing, closed: () => void): () => void {
  const watched = WATCHED.get(client) ?? hooked(client);
  watched.listeners.add(closed);
  if (client.onclose !== watched.own) {
    watched.before = client.onclose;
    // Not by assignment: a frozen client would throw, and has to do without.
    Reflect.set(client, 'onclose', watched.own);
  }
  return () => {
    watched.listeners.delete(closed);
    if (watched.listeners.size > 0) return;
    WATCHED.delete(client);
    if (client.onclose === watched.own) Reflect.set(client, 'onclose', watched.before);
  };
}

function hooked(client: Closing): Watched {
  let isTelling = false;
  const own = (): void => {
    // Somebody may have put a listener in this one's place that calls this one in turn.
    if (isTelling) return;
    isTelling = true;
    try {
      for (const closed of [...watched.listeners]) closed();
      watched.before?.call(client);
    } finally {
      isTelling = false;
    }
  };
  const watched: Watched = { listeners: new Set(), own, before: undefined };
  WATCHED.set(client, watched);
  return watched;
}
