type Penstock = typeof import('../../src/index.ts');

/**
 * The built package (`dist/`), as a user gets it. Measured is what is shipped, not what a loader
 * compiles on the fly. `PENSTOCK_ENTRY` is set by the runner.
 */
export async function penstock(): Promise<Penstock> {
  const entry = process.env.PENSTOCK_ENTRY;
  if (entry === undefined) throw new Error('PENSTOCK_ENTRY is not set');
  return (await import(entry)) as Penstock;
}

/** A quota that is never reached: all that remains is what a call itself costs. */
export const PLENTY = '1000000000/second';
