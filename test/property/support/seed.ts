import fc from 'fast-check';

/** The seed of this run: `PROPERTY_SEED`, or a fixed one, so that a red run is red again. */
export const SEED = Number(process.env.PROPERTY_SEED ?? 20_260_101);
/** `PROPERTY_RUNS=0.1` makes a tenth of the usual number of runs, `PROPERTY_RUNS=10` ten times as many. */
const SHARE = Number(process.env.PROPERTY_RUNS ?? 1);
/** Replays one counterexample: the path that a failure prints. */
const PATH = process.env.PROPERTY_PATH;

/** For the title of a suite. */
export const SEEDED = `seed ${SEED}`;

/** fast-check prints seed and path of a failure; both can be given back by the environment. */
export function runs(usual: number): fc.Parameters<unknown> {
  const numRuns = Math.max(1, Math.round(usual * SHARE));
  return PATH === undefined ? { seed: SEED, numRuns } : { seed: SEED, path: PATH, numRuns };
}

/** A number of the grid `from`, `from + step`, ... `to`: few values, so that coincidences are frequent. */
export function grid(from: number, to: number, step: number): fc.Arbitrary<number> {
  const steps = Math.round((to - from) / step);
  return fc.integer({ min: 0, max: steps }).map((n) => from + n * step);
}

/** Mostly absent. */
export function sometimes<T>(arbitrary: fc.Arbitrary<T>, oneIn = 3): fc.Arbitrary<T | undefined> {
  return fc
    .option(arbitrary, { nil: undefined, freq: 1 })
    .chain((value) =>
      value === undefined
        ? fc.constant<T | undefined>(undefined)
        : fc.integer({ min: 1, max: oneIn }).map((n) => (n === 1 ? value : undefined)),
    );
}
