/**
 * `npx tsx scripts/bottleneck-facts.ts`: the figures of docs/decisions/0001, measured here and now,
 * Bottleneck beside Penstock. Takes about ten seconds.
 */
import { pathToFileURL } from 'node:url';
import Bottleneck from 'bottleneck';
import { createDispatcher } from '../src/index.ts';

export interface Facts {
  readonly bottleneck: number;
  readonly penstock: number;
}

const fn = async (): Promise<void> => undefined;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type Call = (fn: () => Promise<unknown>) => Promise<unknown>;

/** Timers that one call sets which need not wait. */
export async function timersPerCall(): Promise<Facts> {
  return { bottleneck: await timersOf(viaBottleneck()), penstock: await timersOf(viaPenstock()) };
}

async function timersOf(call: Call): Promise<number> {
  await call(fn);
  const real = globalThis.setTimeout;
  let count = 0;
  globalThis.setTimeout = ((...args: Parameters<typeof setTimeout>) => {
    count += 1;
    return real(...args);
  }) as typeof setTimeout;
  try {
    await call(fn);
  } finally {
    globalThis.setTimeout = real;
  }
  return count;
}

/** Milliseconds of one call that need not wait, one after the other; ours a hundred times as often, to be measurable. */
export async function msPerCall(calls: number): Promise<Facts> {
  return { bottleneck: await msOf(viaBottleneck(), calls), penstock: await msOf(viaPenstock(), calls * 100) };
}

async function msOf(call: Call, calls: number): Promise<number> {
  for (let left = calls / 5; left > 0; left -= 1) await call(fn);
  const from = performance.now();
  for (let left = calls; left > 0; left -= 1) await call(fn);
  return (performance.now() - from) / calls;
}

/** Calls a second with eight in flight and nothing else to wait for; of ours ten times as many. */
export async function callsPerSecond(calls: number): Promise<Facts> {
  return { bottleneck: await rateOf(viaBottleneck(8), calls), penstock: await rateOf(viaPenstock(8), calls * 10) };
}

async function rateOf(call: Call, calls: number): Promise<number> {
  const from = performance.now();
  await Promise.all(Array.from({ length: calls }, () => call(fn)));
  return (calls / (performance.now() - from)) * 1_000;
}

/**
 * Of ten calls that wait behind a slow one, how many still run although their callers' signal has
 * fired while they waited. Bottleneck takes no signal: its callers can only stop listening.
 */
export async function runsAfterAbort(): Promise<Facts> {
  const run = async (call: (fn: () => Promise<unknown>, signal: AbortSignal) => Promise<unknown>): Promise<number> => {
    const controller = new AbortController();
    let runs = 0;
    const slow = call(() => sleep(60), new AbortController().signal);
    const waiting = Array.from({ length: 10 }, () =>
      call(async () => {
        runs += 1;
      }, controller.signal).catch(() => undefined),
    );
    await sleep(20);
    controller.abort();
    await Promise.all([slow, ...waiting]);
    return runs;
  };
  const limiter = new Bottleneck({ maxConcurrent: 1 });
  const { callDownstream } = penstock(1);
  return {
    bottleneck: await run((job) => limiter.schedule(job)),
    penstock: await run((job, signal) => callDownstream('carrier', job, { signal })),
  };
}

/**
 * Of ten calls that may take 30 ms in all and wait behind one of 150 ms, how many still run.
 * Bottleneck's `expiration` counts from the start of the job, not from its arrival.
 */
export async function runsAfterExpiry(): Promise<Facts> {
  const run = async (call: Call, slow: Promise<unknown>): Promise<number> => {
    let runs = 0;
    const job = async (): Promise<void> => {
      runs += 1;
    };
    const waiting = Array.from({ length: 10 }, () => call(job).catch(() => undefined));
    await Promise.all([slow, ...waiting]);
    return runs;
  };
  const limiter = new Bottleneck({ maxConcurrent: 1 });
  const { callDownstream } = penstock(1);
  const theirs = limiter.schedule(() => sleep(150));
  await sleep(20);
  const first = await run((job) => limiter.schedule({ expiration: 30 }, job), theirs);
  const ours = callDownstream('carrier', () => sleep(150));
  const deadline = Date.now() + 30;
  const second = await run((job) => callDownstream('carrier', job, { deadline }), ours);
  return { bottleneck: first, penstock: second };
}

function viaBottleneck(maxConcurrent: number | null = null): Call {
  const limiter = new Bottleneck({ maxConcurrent, reservoir: 1_000_000 });
  return (job) => limiter.schedule(job);
}

function viaPenstock(maxConcurrent?: number): Call {
  const { callDownstream } = penstock(maxConcurrent);
  return (job) => callDownstream('carrier', job);
}

function penstock(maxConcurrent?: number) {
  return createDispatcher(
    { downstreams: { carrier: { quota: { limit: 1_000_000_000, per: 'second' }, maxConcurrent } } },
    { alertSinks: [], env: {} },
  );
}

async function print(): Promise<void> {
  const rows: [string, Facts, number][] = [
    ['timers set by one call that need not wait', await timersPerCall(), 0],
    ['ms of one call that need not wait', await msPerCall(500), 3],
    ['calls a second, eight in flight', await callsPerSecond(2_000), 0],
    ['of 10 aborted waiters, still run', await runsAfterAbort(), 0],
    ['of 10 expired waiters, still run', await runsAfterExpiry(), 0],
  ];
  process.stdout.write(`${'Bottleneck'.padStart(54)}${'Penstock'.padStart(12)}\n`);
  for (const [what, { bottleneck, penstock: ours }, digits] of rows) {
    const cells = [bottleneck, ours].map((value) => value.toFixed(digits).padStart(12)).join('');
    process.stdout.write(`${what.padEnd(42)}${cells}\n`);
  }
  process.stdout.write(`Node ${process.version}\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await print();
