import { setMaxListeners } from 'node:events';
import { gate, strainOf } from '../lib/measure.ts';
import { penstock } from '../lib/penstock.ts';
import { atMost, type Row, type Sample, type Variant } from '../lib/row.ts';

const CROWD = 100_000;
/** With the whole crowd these would not end: one takes time with its square, one a millisecond for each. */
const FEWER = 5_000;
const MOST_BLOCK_MS = 50;
const MOST_CPU_MS = 2_000;

type Call = (fn: () => Promise<void>) => Promise<unknown>;

/** A crowd behind a call that does not end; then everybody is sent home, and each caller is told. */
async function dismissed(call: Call, dismiss: () => unknown, isQuick: boolean, crowd = CROWD): Promise<Sample> {
  const size = isQuick ? 2_000 : crowd;
  const all = gate();
  let runs = 0;
  let told = 0;
  call(() => new Promise(() => {})).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 20));
  const tell = () => {
    told += 1;
    if (told === size) all.open();
  };
  const fn = async () => {
    runs += 1;
  };
  for (let left = size; left > 0; left -= 1) call(fn).then(undefined, tell);
  await new Promise((resolve) => setTimeout(resolve, 50));
  if (told > 0) throw new Error(`${told} were told before anybody was dismissed`);
  const strain = await strainOf(async () => {
    await dismiss();
    await all.promise;
  });
  if (runs > 0) throw new Error(`${runs} ran all the same`);
  return {
    value: strain.longestBlockMs,
    more: { ...strain, waiters: size },
  };
}

async function lane() {
  const { createDispatcher } = await penstock();
  return createDispatcher({ downstreams: { carrier: { maxConcurrent: 1, maxRun: '1h' } } });
}

const aborted: Variant[] = [
  {
    name: 'penstock',
    role: 'ours',
    note: 'one signal shared by all',
    run: async (isQuick) => {
      const { callDownstream } = await lane();
      const controller = new AbortController();
      const { signal } = controller;
      let isFirst = true;
      const call: Call = (fn) => {
        const ctx = isFirst ? {} : { signal };
        isFirst = false;
        return callDownstream('carrier', fn, ctx);
      };
      return dismissed(call, () => controller.abort(), isQuick);
    },
  },
  {
    name: 'p-queue',
    role: 'peer',
    note: 'one signal shared by all; 5,000 waiters only: it takes time with the square of them',
    run: async (isQuick) => {
      const { default: PQueue } = await import('p-queue');
      const queue = new PQueue({ concurrency: 1 });
      const controller = new AbortController();
      const { signal } = controller;
      setMaxListeners(0, signal);
      let isFirst = true;
      const call: Call = (fn) => {
        const options = isFirst ? {} : { signal };
        isFirst = false;
        return queue.add(fn, options);
      };
      return dismissed(call, () => controller.abort(), isQuick, FEWER);
    },
  },
];

/** Long enough for the whole crowd to arrive on a busy machine. */
const EXPIRE_MS = 8_000;

const expired: Variant[] = [
  {
    name: 'penstock',
    role: 'ours',
    note: 'one deadline for all',
    run: async (isQuick) => {
      const { callDownstream } = await lane();
      const deadline = Date.now() + (isQuick ? 2_000 : EXPIRE_MS);
      let isFirst = true;
      const call: Call = (fn) => {
        const ctx = isFirst ? {} : { deadline };
        isFirst = false;
        return callDownstream('carrier', fn, ctx);
      };
      return dismissed(call, () => {}, isQuick);
    },
  },
  {
    name: 'rate-limiter-flexible',
    role: 'peer',
    note: 'RateLimiterQueue, expiresUnixAt; looks only when the next permit comes',
    run: async (isQuick) => {
      const { RateLimiterMemory, RateLimiterQueue } = await import('rate-limiter-flexible');
      const forMs = isQuick ? 2_000 : EXPIRE_MS;
      const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 1, duration: forMs / 1000 + 1 }));
      const expiresAt = Math.floor((Date.now() + forMs) / 1000);
      let isFirst = true;
      const call: Call = async (fn) => {
        const taken = queue.removeTokens(1, undefined, isFirst ? 0 : expiresAt);
        isFirst = false;
        await taken;
        return fn();
      };
      return dismissed(call, () => {}, isQuick);
    },
  },
];

const drained: Variant[] = [
  {
    name: 'penstock',
    role: 'ours',
    note: 'close({ drain: false })',
    run: async (isQuick) => {
      const dispatcher = await lane();
      const close = () => {
        dispatcher.close({ drain: false, within: 0 }).catch(() => {});
      };
      return dismissed((fn) => dispatcher.callDownstream('carrier', fn), close, isQuick);
    },
  },
  {
    name: 'p-limit',
    role: 'peer',
    note: 'rejectOnClear, clearQueue()',
    run: async (isQuick) => {
      const { default: pLimit } = await import('p-limit');
      const limit = pLimit({ concurrency: 1, rejectOnClear: true });
      return dismissed(
        (fn) => limit(fn),
        () => limit.clearQueue(),
        isQuick,
      );
    },
  },
  {
    name: 'bottleneck',
    role: 'peer',
    note: 'stop({ dropWaitingJobs: true }); 5,000 waiters only',
    run: async (isQuick) => {
      const { default: Bottleneck } = await import('bottleneck');
      const limiter = new Bottleneck({ maxConcurrent: 1 });
      const stop = () => {
        limiter.stop({ dropWaitingJobs: true }).catch(() => {});
      };
      return dismissed((fn) => limiter.schedule(fn), stop, isQuick, FEWER);
    },
  },
];

function ending(id: string, title: string, variants: readonly Variant[]): Row {
  return {
    id,
    title,
    unit: 'ms, longest block of the event loop',
    target: 'no block over 50 ms, at most 2 s of CPU',
    rounds: 3,
    variants,
    judge: (medians) => {
      const own = medians.get('penstock');
      if (own === undefined) return [];
      return [
        atMost('longest block', own.value, MOST_BLOCK_MS, 'ms'),
        atMost('processor time', own.more?.cpuMs ?? Number.NaN, MOST_CPU_MS, 'ms'),
      ];
    },
  };
}

/** 100,000 waiters that leave at once, in three ways. */
export const endings: readonly Row[] = [
  ending('abort', '100,000 waiters aborted by one shared signal', aborted),
  ending('expire', '100,000 waiters whose deadline passes', expired),
  ending('drain', '100,000 waiters refused because the gate closes', drained),
];
