import { watchUngated } from '../../../src/adapters/guard.ts';
import { answer429, type Process, startProcess } from './fleet.ts';
import { onStop } from './server.ts';

/** A process in which everything happens that a metric tells of, for as long as the test runs. */
export async function startTraffic(): Promise<Process> {
  const made = await startProcess({
    policy: {
      downstreams: {
        quick: { quota: '250/second', maxConcurrent: 20 },
        slow: { quota: ['3/second', '600 tokens/minute'], defaultCost: { tokens: 1 } },
        carrier: { quota: '60/minute' },
        mail: { quota: '12/second' },
        fickle: { quota: '12/second' },
        guessed: { quota: '3/second', mode: 'observe' },
      },
    },
    alertSinks: [{ name: 'pager', deliver: () => undefined }],
  });
  const { dispatcher } = made;
  // What the test itself asks of Prometheus goes to a host of no downstream.
  watchUngated(dispatcher);
  await answer429(dispatcher, 'carrier', '120');
  dispatcher.pause('mail', { for: '1h' });
  const stopped = new AbortController();
  const call = (downstream: string, ctx = {}): void => {
    dispatcher.callDownstream(downstream, () => 'done', { signal: stopped.signal, ...ctx }).catch(() => undefined);
  };
  const timer = setInterval(() => {
    call('quick');
    call('slow', { priority: 'batch' });
    call('slow', { deadline: Date.now() + 1 });
    call('mail');
    dispatcher.report('fickle', { status: 429, retryAfterMs: 1 });
    for (const deadline of [undefined, Date.now() + 1]) call('guessed', { deadline });
  }, 200);
  onStop(() => {
    clearInterval(timer);
    stopped.abort();
  });
  return made;
}
