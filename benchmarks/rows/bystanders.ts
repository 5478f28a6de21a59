import { AsyncLocalStorage } from 'node:async_hooks';
import { counted, nsPerCall } from '../lib/measure.ts';
import { PLENTY, penstock } from '../lib/penstock.ts';
import { atMost, type Row, type Variant } from '../lib/row.ts';

/** Two runs of the same code differ by as much on a quiet machine. */
const NOISE = 1.05;

const without: Variant = {
  name: 'no dispatcher',
  role: 'floor',
  note: 'bare await fn()',
  run: async (isQuick) => {
    const { fn, done } = counted();
    return nsPerCall(() => fn(), done, isQuick);
  },
};

const beside: Variant = {
  name: 'penstock in the process',
  role: 'ours',
  note: 'bare await fn() after 1,000 calls through a dispatcher, one of them still waiting',
  run: async (isQuick) => {
    const { createDispatcher } = await penstock();
    const downstreams = { carrier: { quota: PLENTY }, slow: { quota: '1/minute', utilization: 1 } };
    const { callDownstream } = createDispatcher({ downstreams });
    for (let left = 1000; left > 0; left -= 1) await callDownstream('carrier', async () => left);
    await callDownstream('slow', () => 0);
    const waiting = callDownstream('slow', () => 0);
    waiting.catch(() => {});
    const { fn, done } = counted();
    return nsPerCall(() => fn(), done, isQuick);
  },
};

const context: Variant = {
  name: 'AsyncLocalStorage in the process',
  role: 'beside',
  note: 'bare await fn() after one run() of it: what an async context would cost everybody',
  run: async (isQuick) => {
    const storage = new AsyncLocalStorage<number>();
    storage.run(1, () => storage.getStore());
    const { fn, done } = counted();
    return nsPerCall(() => fn(), done, isQuick);
  },
};

/** What code that never calls Penstock pays for having it in the process. */
export const bystanders: Row = {
  id: 'bystanders',
  title: 'Code that does not pass the gate',
  unit: 'ns per bare await',
  target: 'as fast with a dispatcher in the process as without',
  rounds: 5,
  variants: [without, beside, context],
  judge: (medians) => {
    const bare = medians.get(without.name)?.value;
    const own = medians.get(beside.name)?.value;
    if (bare === undefined || own === undefined) return [];
    return [atMost('time of a bare await, 5 % being noise', own, bare * NOISE, 'ns', without.name)];
  },
};
