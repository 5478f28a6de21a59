/** The parts of the host that a turn can be made of. */
export interface TurnHost {
  readonly setImmediate?: ((run: () => void) => unknown) | undefined;
  readonly MessageChannel?: (new () => MessageChannel) | undefined;
}

/**
 * Makes a function that waits for one turn of the event loop: every promise chain that can settle
 * has settled by then, however long it is. A counted number of microtasks would be a guess.
 */
export function turnOf(host: TurnHost): () => Promise<void> {
  const { setImmediate: immediate, MessageChannel: Channel } = host;
  if (typeof immediate === 'function') {
    return () =>
      new Promise((resolve) => {
        immediate(resolve);
      });
  }
  if (Channel === undefined) throw new Error('this runtime has neither setImmediate nor MessageChannel');
  return () =>
    new Promise((resolve) => {
      const { port1, port2 } = new Channel();
      port1.onmessage = () => {
        port1.close();
        resolve();
      };
      port2.postMessage(undefined);
    });
}

/** One turn of this event loop. Taken at import, so that a test that fakes timers does not stop it. */
export const turn: () => Promise<void> = turnOf(globalThis);
