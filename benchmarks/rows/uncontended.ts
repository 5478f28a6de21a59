import { counted, nsPerCall } from '../lib/measure.ts';
import { PLENTY, penstock } from '../lib/penstock.ts';
import { atMost, best, type Row, type Variant } from '../lib/row.ts';

const MANY = 1_000_000_000;

const floor: Variant = {
  name: 'bare await fn()',
  role: 'floor',
  note: 'the work itself',
  run: async (isQuick) => {
    const { fn, done } = counted();
    return nsPerCall(() => fn(), done, isQuick);
  },
};

const ours: Variant = {
  name: 'penstock',
  role: 'ours',
  note: 'one quota, no SDK registered',
  run: async (isQuick) => {
    const { createDispatcher } = await penstock();
    const { callDownstream } = createDispatcher({ downstreams: { carrier: { quota: PLENTY } } });
    const { fn, done } = counted();
    return nsPerCall(() => callDownstream('carrier', fn), done, isQuick);
  },
};

const rateLimiters: Variant[] = [
  {
    name: 'limiter',
    role: 'peer',
    note: 'removeTokens(1), then fn',
    run: async (isQuick) => {
      const { RateLimiter } = await import('limiter');
      const limiter = new RateLimiter({ tokensPerInterval: MANY, interval: 'second' });
      const { fn, done } = counted();
      const call = async () => {
        await limiter.removeTokens(1);
        return fn();
      };
      return nsPerCall(call, done, isQuick);
    },
  },
  {
    name: 'p-queue',
    role: 'peer',
    note: 'intervalCap, strict (dearer without), no cap on concurrency',
    run: async (isQuick) => {
      const { default: PQueue } = await import('p-queue');
      const queue = new PQueue({ intervalCap: MANY, interval: 1000, strict: true });
      const { fn, done } = counted();
      return nsPerCall(() => queue.add(fn), done, isQuick);
    },
  },
  {
    name: 'rate-limiter-flexible',
    role: 'peer',
    note: 'RateLimiterQueue over RateLimiterMemory, then fn',
    run: async (isQuick) => {
      const { RateLimiterMemory, RateLimiterQueue } = await import('rate-limiter-flexible');
      const queue = new RateLimiterQueue(new RateLimiterMemory({ points: MANY, duration: 1 }));
      const { fn, done } = counted();
      const call = async () => {
        await queue.removeTokens(1);
        return fn();
      };
      return nsPerCall(call, done, isQuick);
    },
  },
  {
    name: 'bottleneck',
    role: 'peer',
    note: 'reservoir that is never empty',
    run: async (isQuick) => {
      const { default: Bottleneck } = await import('bottleneck');
      const limiter = new Bottleneck({ reservoir: MANY });
      const { fn, done } = counted();
      return nsPerCall(() => limiter.schedule(fn), done, isQuick);
    },
  },
];

const others: Variant[] = [
  {
    name: 'p-throttle',
    role: 'beside',
    note: 'calls fn synchronously',
    run: async (isQuick) => {
      const { default: pThrottle } = await import('p-throttle');
      const { fn, done } = counted();
      const throttled = pThrottle({ limit: MANY, interval: 1000 })(fn);
      return nsPerCall(() => throttled(), done, isQuick);
    },
  },
  {
    name: 'p-limit',
    role: 'beside',
    note: 'limits concurrency, not a rate',
    run: async (isQuick) => {
      const { default: pLimit } = await import('p-limit');
      const limit = pLimit(1000);
      const { fn, done } = counted();
      return nsPerCall(() => limit(fn), done, isQuick);
    },
  },
  {
    name: 'cockatiel',
    role: 'beside',
    note: 'bulkhead: limits concurrency, not a rate',
    run: async (isQuick) => {
      const { bulkhead } = await import('cockatiel');
      const policy = bulkhead(1000);
      const { fn, done } = counted();
      return nsPerCall(() => policy.execute(fn), done, isQuick);
    },
  },
];

/** What passing the gate costs a call that need not wait. */
export const uncontended: Row = {
  id: 'uncontended',
  title: 'A call that need not wait',
  unit: 'ns per call',
  target: 'above bare: no more than the fastest peer that limits rates and yields before fn',
  rounds: 5,
  variants: [floor, ours, ...rateLimiters, ...others],
  judge: (medians) => {
    const bare = medians.get(floor.name)?.value;
    const own = medians.get(ours.name)?.value;
    const peer = best({ variants: rateLimiters }, medians);
    if (bare === undefined || own === undefined || peer === undefined) return [];
    return [atMost('time above bare', own - bare, peer.value - bare, 'ns', peer.name)];
  },
};
