type Penstock = typeof import('../../src/index.ts');

/**
 * Penstock as `tsc` builds it for the package: measured is what users run, not what a loader compiles
 * on the fly. `PENSTOCK_ENTRY` is set by the runner.
 */
export async function penstock(): Promise<Penstock> {
  const entry = process.env.PENSTOCK_ENTRY;
  if (entry === undefined) throw new Error('PENSTOCK_ENTRY is not set');
  return (await import(entry)) as Penstock;
}

/** A quota that is never reached: all that remains is what a call itself costs. */
export const PLENTY = '1000000000/second';
