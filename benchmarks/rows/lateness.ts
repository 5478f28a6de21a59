import { penstock } from '../lib/penstock.ts';
import { atMost, percentile, type Row, type Sample, type Variant } from '../lib/row.ts';

const EVERY_MS = 10;
const STARTS = 500;
const MOST_ABOVE_MS = 0.5;

/** Calls that start ten milliseconds apart, one after the other: how late is each? */
async function late(call: (fn: () => void) => PromiseLike<unknown>, isQuick: boolean): Promise<Sample> {
  const starts: number[] = [];
  for (let left = isQuick ? 30 : STARTS; left >= 0; left -= 1) await call(() => starts.push(performance.now()));
  const lateness = starts.slice(1).map((at, index) => at - (starts[index] ?? at) - EVERY_MS);
  return {
    value: percentile(lateness, 0.99),
    more: {
      p50Ms: percentile(lateness, 0.5),
      worstMs: Math.max(...lateness),
      earliestMs: Math.min(...lateness),
    },
  };
}

const floor: Variant = {
  name: 'bare setTimeout',
  role: 'floor',
  note: 'set for 10 ms from the last start',
  run: (isQuick) =>
    late(
      (fn) =>
        new Promise<void>((resolve) => {
          setTimeout(() => {
            fn();
            resolve();
          }, EVERY_MS);
        }),
      isQuick,
    ),
};

const ours: Variant = {
  name: 'penstock',
  role: 'ours',
  note: 'quota: 100/second, utilization 1, burst 1',
  run: async (isQuick) => {
    const { createDispatcher } = await penstock();
    const { callDownstream } = createDispatcher({
      downstreams: { carrier: { quota: '100/second', utilization: 1, burst: 1 } },
    });
    return late((fn) => callDownstream('carrier', fn), isQuick);
  },
};

const peers: Variant[] = [
  {
    name: 'p-throttle',
    role: 'peer',
    note: 'limit: 1, interval: 10, strict',
    run: async (isQuick) => {
      const { default: pThrottle } = await import('p-throttle');
      const throttled = pThrottle({ limit: 1, interval: EVERY_MS, strict: true })((fn: () => void) => fn());
      return late((fn) => Promise.resolve(throttled(fn)), isQuick);
    },
  },
  {
    name: 'p-queue',
    role: 'peer',
    note: 'intervalCap: 1, interval: 10, strict',
    run: async (isQuick) => {
      const { default: PQueue } = await import('p-queue');
      const queue = new PQueue({ intervalCap: 1, interval: EVERY_MS, strict: true });
      return late((fn) => queue.add(async () => fn()), isQuick);
    },
  },
  {
    name: 'limiter',
    role: 'peer',
    note: 'one token per 10 ms',
    run: async (isQuick) => {
      const { RateLimiter } = await import('limiter');
      const limiter = new RateLimiter({ tokensPerInterval: 1, interval: EVERY_MS });
      const call = async (fn: () => void) => {
        await limiter.removeTokens(1);
        fn();
      };
      return late(call, isQuick);
    },
  },
  {
    name: 'bottleneck',
    role: 'peer',
    note: 'minTime: 10',
    run: async (isQuick) => {
      const { default: Bottleneck } = await import('bottleneck');
      const limiter = new Bottleneck({ minTime: EVERY_MS });
      return late((fn) => limiter.schedule(async () => fn()), isQuick);
    },
  },
];

/** How long a permit lies there before its call is started. */
export const lateness: Row = {
  id: 'lateness',
  title: 'From the instant a permit is due to the start of fn, idle loop',
  unit: 'ms, 99th percentile',
  target: 'at most 0.5 ms above a bare setTimeout',
  rounds: 3,
  variants: [floor, ours, ...peers],
  judge: (medians) => {
    const bare = medians.get(floor.name)?.value;
    const own = medians.get(ours.name)?.value;
    if (bare === undefined || own === undefined) return [];
    return [atMost('99th percentile above bare setTimeout', own - bare, MOST_ABOVE_MS, 'ms')];
  },
};
