import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CarrierEntry } from './carrier.ts';
import type { CarrierSettings } from './settings.ts';

export interface HostedCarrier {
  readonly url: string;
  /** The carrier's books so far. */
  readonly entries: () => Promise<readonly CarrierEntry[]>;
  readonly close: () => Promise<void>;
}

type Message = { url: string } | { entries: CarrierEntry[] };

/**
 * Starts a fresh carrier in a child process and talks to it a little, so that no contestant pays for
 * the first connections and for code that has not been compiled yet.
 */
export async function hostCarrier(settings: CarrierSettings): Promise<HostedCarrier> {
  const script = fileURLToPath(new URL('./carrier-process.ts', import.meta.url));
  const child = fork(script, [JSON.stringify(settings)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ready = await next(child);
  if (!('url' in ready)) throw new Error('the carrier did not say where it listens');
  for (let round = 0; round < 12; round += 1) {
    await Promise.all(Array.from({ length: 8 }, () => fetch(`${ready.url}/health`).then((r) => r.text())));
  }
  return {
    url: ready.url,
    async entries() {
      child.send('entries');
      const answer = await next(child);
      return 'entries' in answer ? answer.entries : [];
    },
    close: () =>
      new Promise((resolve) => {
        if (child.exitCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.disconnect();
      }),
  };
}

function next(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`the carrier ended with code ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as Message);
    });
  });
}
