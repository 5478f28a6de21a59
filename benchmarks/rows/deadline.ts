import { counted, nsPerCall } from '../lib/measure.ts';
import { PLENTY, penstock } from '../lib/penstock.ts';
import { atMost, type Row, type Variant } from '../lib/row.ts';

const FOR_MS = 30_000;
const MOST_NS = 3_000;

const floor: Variant = {
  name: 'bare await fn()',
  role: 'floor',
  note: 'no deadline, no signal',
  run: async (isQuick) => {
    const { fn, done } = counted();
    return nsPerCall(() => fn(), done, isQuick);
  },
};

const ours: Variant = {
  name: 'penstock',
  role: 'ours',
  note: 'deadline given, call.signal read',
  run: async (isQuick) => {
    const { createDispatcher } = await penstock();
    const { callDownstream } = createDispatcher({ downstreams: { carrier: { quota: PLENTY } } });
    const { fn, done } = counted();
    const call = () =>
      callDownstream('carrier', ({ signal }) => (signal.aborted ? undefined : fn()), {
        deadline: Date.now() + FOR_MS,
      });
    return nsPerCall(call, done, isQuick);
  },
};

const unread: Variant = {
  name: 'penstock, signal not read',
  role: 'beside',
  note: 'deadline given: what is left is ours',
  run: async (isQuick) => {
    const { createDispatcher } = await penstock();
    const { callDownstream } = createDispatcher({ downstreams: { carrier: { quota: PLENTY } } });
    const { fn, done } = counted();
    return nsPerCall(() => callDownstream('carrier', fn, { deadline: Date.now() + FOR_MS }), done, isQuick);
  },
};

const signalAlone: Variant = {
  name: 'new AbortController().signal',
  role: 'beside',
  note: 'what the platform takes for a signal, nothing else done',
  run: async (isQuick) => {
    const { fn, done } = counted();
    return nsPerCall(() => (new AbortController().signal.aborted ? Promise.resolve() : fn()), done, isQuick);
  },
};

const byHand: Variant = {
  name: 'AbortSignal.timeout(30_000)',
  role: 'beside',
  note: 'the usual way to write it by hand: one timer each',
  run: async (isQuick) => {
    const { fn, done } = counted();
    const call = () => (AbortSignal.timeout(FOR_MS).aborted ? Promise.resolve() : fn());
    return nsPerCall(call, done, isQuick);
  },
};

const peers: Variant[] = [
  {
    name: 'cockatiel',
    role: 'peer',
    note: 'timeout(30_000), cooperative, signal read; no rate',
    run: async (isQuick) => {
      const { timeout, TimeoutStrategy } = await import('cockatiel');
      const policy = timeout(FOR_MS, TimeoutStrategy.Cooperative);
      const { fn, done } = counted();
      const call = () => policy.execute(({ signal }) => (signal.aborted ? undefined : fn()));
      return nsPerCall(call, done, isQuick);
    },
  },
  {
    name: 'p-queue',
    role: 'peer',
    note: 'intervalCap, strict, timeout: 30_000; hands out no signal',
    run: async (isQuick) => {
      const { default: PQueue } = await import('p-queue');
      const queue = new PQueue({ intervalCap: 1_000_000_000, interval: 1000, strict: true, timeout: FOR_MS });
      const { fn, done } = counted();
      return nsPerCall(() => queue.add(fn), done, isQuick);
    },
  },
];

/** As in the README's first example. */
export const deadline: Row = {
  id: 'deadline',
  title: 'The same with a deadline, call.signal read',
  unit: 'ns per call',
  target: 'at most 3 µs above bare',
  rounds: 5,
  variants: [floor, signalAlone, byHand, ours, unread, ...peers],
  judge: (medians) => {
    const bare = medians.get(floor.name)?.value;
    const own = medians.get(ours.name)?.value;
    if (bare === undefined || own === undefined) return [];
    return [atMost('time above bare', own - bare, MOST_NS, 'ns')];
  },
};
