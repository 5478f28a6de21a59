import { setTimeout as sleep } from 'node:timers/promises';
import { median, type Sample } from './row.ts';

const WARM_UP_MS = 300;
const BATCH_MS = 40;
const BATCHES = 25;

/**
 * Nanoseconds per sequential call: the median of batches of equal length, after a warm-up. `done`
 * counts what was really run: a loop that was optimised away, or a refused call, is an error.
 */
export async function nsPerCall(call: () => Promise<unknown>, done: () => number, isQuick: boolean): Promise<Sample> {
  const shrink = isQuick ? 10 : 1;
  let calls = 0;
  const batch = async (size: number): Promise<number> => {
    const from = performance.now();
    for (let left = size; left > 0; left -= 1) await call();
    calls += size;
    return ((performance.now() - from) * 1e6) / size;
  };
  const warmUp: number[] = [];
  for (const end = performance.now() + WARM_UP_MS / shrink; performance.now() < end; ) {
    warmUp.push(await batch(10));
  }
  // The last ones alone: the first are not compiled yet. Their median: one may have met the collector.
  const size = Math.max(10, Math.round((BATCH_MS * 1e6) / shrink / median(warmUp.slice(-15))));
  const batches: number[] = [];
  const before = calls;
  const cpu = cpuMs();
  for (let left = Math.ceil(BATCHES / shrink); left > 0; left -= 1) batches.push(await batch(size));
  if (done() !== calls) throw new Error(`${calls} calls were made, ${done()} were run`);
  const cpuNs = ((cpuMs() - cpu) * 1e6) / (calls - before);
  const more = { cpuNs, calls, fastestNs: Math.min(...batches), slowestNs: Math.max(...batches) };
  return { value: median(batches), more };
}

/** A function that counts its runs. */
export function counted(): { readonly fn: () => Promise<void>; readonly done: () => number } {
  let runs = 0;
  return {
    fn: async () => {
      runs += 1;
    },
    done: () => runs,
  };
}

/** A promise and what settles it. */
export function gate(): { readonly promise: Promise<void>; readonly open: () => void } {
  let open = () => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

/** Bytes in use after everything unreachable is gone. Needs `--expose-gc`. */
export async function bytesInUse(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error('needs --expose-gc');
  for (let round = 0; round < 3; round += 1) {
    globalThis.gc();
    await sleep(5);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export interface Strain extends Readonly<Record<string, number>> {
  readonly longestBlockMs: number;
  /** Processor time in the block that took most of it: what a busy machine does not lengthen. */
  readonly longestBlockCpuMs: number;
  readonly cpuMs: number;
  readonly tookMs: number;
}

/** Runs something while a timer of 1 ms ticks beside it: the longest gap is the longest block. */
export async function strainOf(run: () => Promise<unknown>): Promise<Strain> {
  let longest = 0;
  let longestCpu = 0;
  let last = performance.now();
  let lastCpu = cpuMs();
  const tick = () => {
    const now = performance.now();
    const nowCpu = cpuMs();
    longest = Math.max(longest, now - last - 1);
    longestCpu = Math.max(longestCpu, nowCpu - lastCpu);
    last = now;
    lastCpu = nowCpu;
    timer = setTimeout(tick, 1);
  };
  let timer = setTimeout(tick, 1);
  await sleep(20);
  longest = 0;
  longestCpu = 0;
  const cpu = cpuMs();
  const from = performance.now();
  await run();
  const tookMs = performance.now() - from;
  await sleep(5);
  clearTimeout(timer);
  return {
    longestBlockMs: Math.max(0, longest),
    longestBlockCpuMs: longestCpu,
    cpuMs: cpuMs() - cpu,
    tookMs,
  };
}

/** Processor time of this process so far. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Keeps the processor busy. */
export function spin(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}
