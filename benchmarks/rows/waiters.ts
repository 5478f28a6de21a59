import { bytesInUse, gate } from '../lib/measure.ts';
import { penstock } from '../lib/penstock.ts';
import { atMost, best, type Finding, type Row, type Sample, type Variant } from '../lib/row.ts';

const MILLION = 1_000_000;
/** Bottleneck takes milliseconds to accept a job and again to start it: a million would take more than an hour. */
const FEW = 3_000;
const MOST_BYTES = 400;
const MOST_OF_BEST_TIME = 0.6;
const DEADLINE_MS = 3_600_000;

type Call = (fn: () => Promise<void>) => unknown;

/**
 * One place, taken by a call that does not end; then the crowd arrives; then the place is given
 * back and the whole crowd runs. Time counts from the first arrival to the last, and from the
 * opening to the last run; reading the memory in between does not count.
 */
async function crowd(call: Call, size: number, isAccepted = () => true): Promise<Sample> {
  const door = gate();
  const end = gate();
  let runs = 0;
  const fn = async () => {
    runs += 1;
    if (runs === size) end.open();
  };
  call(() => door.promise);
  await new Promise((resolve) => setTimeout(resolve, 20));
  const before = await bytesInUse();
  const arrivalAt = performance.now();
  for (let left = size; left > 0; left -= 1) call(fn);
  const arrivedMs = performance.now() - arrivalAt;
  do await new Promise((resolve) => setTimeout(resolve, 50));
  while (!isAccepted());
  const bytes = (await bytesInUse()) - before;
  if (runs > 0) throw new Error(`${runs} ran before the door was opened`);
  const openedAt = performance.now();
  door.open();
  await end.promise;
  const ranMs = performance.now() - openedAt;
  const us = (ms: number) => (ms * 1000) / size;
  const more = { waiters: size, totalUs: us(arrivedMs + ranMs), arrivalUs: us(arrivedMs), runUs: us(ranMs) };
  return { value: bytes / size, more };
}

const size = (isQuick: boolean, full: number) => (isQuick ? Math.min(full, 2_000) : full);

const plain: Variant = {
  name: 'penstock',
  role: 'ours',
  note: 'maxConcurrent: 1',
  run: async (isQuick) => {
    const { createDispatcher } = await penstock();
    const { callDownstream } = createDispatcher({ downstreams: { carrier: { maxConcurrent: 1 } } });
    return crowd((fn) => callDownstream('carrier', fn), size(isQuick, MILLION));
  },
};

const dated: Variant = {
  name: 'penstock, with a deadline',
  role: 'ours',
  note: 'maxConcurrent: 1, each call with a deadline in an hour',
  run: async (isQuick) => {
    const { createDispatcher } = await penstock();
    const { callDownstream } = createDispatcher({ downstreams: { carrier: { maxConcurrent: 1 } } });
    const deadline = Date.now() + DEADLINE_MS;
    return crowd((fn) => callDownstream('carrier', fn, { deadline }), size(isQuick, MILLION));
  },
};

const peers: Variant[] = [
  {
    name: 'p-queue',
    role: 'peer',
    note: 'concurrency: 1',
    run: async (isQuick) => {
      const { default: PQueue } = await import('p-queue');
      const queue = new PQueue({ concurrency: 1 });
      return crowd((fn) => queue.add(fn), size(isQuick, MILLION));
    },
  },
  {
    name: 'p-limit',
    role: 'peer',
    note: 'concurrency 1',
    run: async (isQuick) => {
      const { default: pLimit } = await import('p-limit');
      const limit = pLimit(1);
      return crowd((fn) => limit(fn), size(isQuick, MILLION));
    },
  },
  {
    name: 'bottleneck',
    role: 'peer',
    note: 'maxConcurrent: 1; 3,000 waiters only',
    run: async (isQuick) => {
      const { default: Bottleneck } = await import('bottleneck');
      const limiter = new Bottleneck({ maxConcurrent: 1 });
      const few = isQuick ? 200 : FEW;
      return crowd(
        (fn) => limiter.schedule(fn),
        few,
        () => limiter.counts().QUEUED === few,
      );
    },
  },
];

/** A crowd that waits. */
export const waiters: Row = {
  id: 'waiters',
  title: 'One million waiters in one lane',
  unit: 'bytes per waiter',
  target: 'at most 400 bytes, and at most 0.6 of the best peer’s time',
  rounds: 3,
  variants: [plain, dated, ...peers],
  judge: (medians) => [plain, dated].flatMap(({ name }) => judgeOne(name, medians.get(name), medians)),
};

function judgeOne(name: string, own: Sample | undefined, medians: ReadonlyMap<string, Sample>): Finding[] {
  const timeOf = (sample: Sample) => sample.more?.totalUs ?? Number.NaN;
  const fastest = best({ variants: peers }, medians, timeOf);
  if (own === undefined || fastest === undefined) return [];
  return [
    atMost(`${name}: memory per waiter`, own.value, MOST_BYTES, 'B'),
    atMost(`${name}: time per waiter`, timeOf(own), fastest.value * MOST_OF_BEST_TIME, 'µs', fastest.name),
  ];
}
