import { cpus, loadavg, totalmem } from 'node:os';

/** What the figures depend on. */
export interface Machine {
  readonly at: string;
  readonly node: string;
  readonly platform: string;
  readonly cpu: string;
  readonly cpus: number;
  readonly memoryGb: number;
  /** Of the last minute, before the first measurement. */
  readonly load: number;
}

export function machine(): Machine {
  const all = cpus();
  return {
    at: new Date().toISOString(),
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    cpu: all[0]?.model.trim() ?? 'unknown',
    cpus: all.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    load: load(),
  };
}

export function load(): number {
  return Math.round((loadavg()[0] ?? 0) * 100) / 100;
}
