import { penstock } from '../lib/penstock.ts';
import { atLeast, atMost, type Row, type Variant } from '../lib/row.ts';
import { type Call, pressed } from './pressed.ts';

const UTILIZATION = 0.8;
const LEAST_SHARE = 99;
const SECOND = 1_000;

type At = (rate: number, quota: number) => Variant;

const ours: At = (rate, quota) => ({
  name: 'penstock',
  role: 'ours',
  note: `quota: ${quota}/second, utilization 0.8, default burst`,
  run: async (isQuick) => {
    const { createDispatcher } = await penstock();
    const carrier = { quota: `${quota}/second`, utilization: UTILIZATION };
    const { callDownstream } = createDispatcher({ downstreams: { carrier } });
    return pressed((fn) => callDownstream('carrier', fn), rate, isQuick);
  },
});

const pThrottle: At = (rate) => ({
  name: 'p-throttle',
  role: 'peer',
  note: `limit: ${rate}, interval: 1000, strict`,
  run: async (isQuick) => {
    const { default: create } = await import('p-throttle');
    const throttle = create({ limit: rate, interval: SECOND, strict: true });
    const throttled = throttle((fn: () => Promise<void>) => fn());
    return pressed((fn) => throttled(fn), rate, isQuick);
  },
});

const pQueue: At = (rate) => ({
  name: 'p-queue',
  role: 'peer',
  note: `intervalCap: ${rate}, interval: 1000, strict`,
  run: async (isQuick) => {
    const { default: PQueue } = await import('p-queue');
    const queue = new PQueue({ intervalCap: rate, interval: SECOND, strict: true });
    return pressed((fn) => queue.add(fn), rate, isQuick);
  },
});

const limiter: At = (rate) => ({
  name: 'limiter',
  role: 'peer',
  note: `tokensPerInterval: ${rate} a second`,
  run: async (isQuick) => {
    const { RateLimiter } = await import('limiter');
    const bucket = new RateLimiter({ tokensPerInterval: rate, interval: 'second' });
    const call: Call = async (fn) => {
      await bucket.removeTokens(1);
      return fn();
    };
    return pressed(call, rate, isQuick);
  },
});

const flexible: At = (rate) => ({
  name: 'rate-limiter-flexible',
  role: 'peer',
  note: `RateLimiterQueue, ${rate} points a second`,
  run: async (isQuick) => {
    const { RateLimiterMemory, RateLimiterQueue } = await import('rate-limiter-flexible');
    const queue = new RateLimiterQueue(new RateLimiterMemory({ points: rate, duration: 1 }));
    const call: Call = async (fn) => {
      await queue.removeTokens(1);
      return fn();
    };
    return pressed(call, rate, isQuick);
  },
});

const REFILL_MS = 250;

const bottleneck: At = (rate) => ({
  name: 'bottleneck',
  role: 'peer',
  note: `reservoir that gains ${rate / 4} every ${REFILL_MS} ms`,
  run: async (isQuick) => {
    const { default: Bottleneck } = await import('bottleneck');
    const amount = rate / 4;
    const queue = new Bottleneck({
      reservoir: amount,
      reservoirIncreaseAmount: amount,
      reservoirIncreaseInterval: REFILL_MS,
      reservoirIncreaseMaximum: amount,
    });
    return pressed((fn) => queue.schedule(fn), rate, isQuick);
  },
});

const spaced: At = (rate) => ({
  name: 'bottleneck, spaced',
  role: 'peer',
  note: `minTime: ${SECOND / rate}`,
  run: async (isQuick) => {
    const { default: Bottleneck } = await import('bottleneck');
    const queue = new Bottleneck({ minTime: SECOND / rate });
    return pressed((fn) => queue.schedule(fn), rate, isQuick);
  },
});

const ALL = [ours, pThrottle, pQueue, limiter, flexible, bottleneck, spaced];

function saturated(rate: number): Row {
  const quota = rate / UTILIZATION;
  return {
    id: `saturated-${rate}`,
    title: `A saturated lane at ${rate.toLocaleString('en')}/s over 10 s`,
    unit: '% of the sized rate',
    target: `at least 99 %, and never more than the quota of ${quota.toLocaleString('en')} in any second`,
    rounds: 2,
    isLong: rate !== 1_000,
    variants: ALL.map((variant) => variant(rate, quota)),
    judge: (medians) => {
      const own = medians.get('penstock');
      if (own === undefined) return [];
      return [
        atLeast('share of the sized rate', own.value, LEAST_SHARE, '%'),
        atMost('starts in the fullest second', own.more?.mostInOneSecond ?? Number.NaN, quota, ''),
      ];
    },
  };
}

/** The sized rate is to be reached and the quota never passed, in real time. */
export const saturation: readonly Row[] = [200, 1_000, 5_000].map(saturated);
