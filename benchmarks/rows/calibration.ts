import { bytesInUse, counted, nsPerCall, spin, strainOf } from '../lib/measure.ts';
import type { Finding, Row } from '../lib/row.ts';

const SPIN_US = 10;
const BLOCK_MS = 80;
const OBJECTS = 1_000_000;
/** Three words of head, four of fields, one in the array that holds it. */
const OBJECT_BYTES = 64;

function near(what: string, ours: number, known: number, unit: string, off: number): Finding {
  return { what, ours, limit: known, unit, isMet: Math.abs(ours - known) <= off * known };
}

/** The instruments against things of known size. Where these are wrong, so is everything below. */
export const calibration: Row = {
  id: 'calibration',
  title: 'The instruments, against things of known size',
  unit: 'mixed',
  target: 'within a tenth',
  rounds: 3,
  variants: [
    {
      name: 'a call of 10 µs',
      role: 'ours',
      note: 'ns per call',
      run: async (isQuick) => {
        const { fn, done } = counted();
        const call = () => {
          spin(SPIN_US / 1000);
          return fn();
        };
        return nsPerCall(call, done, isQuick);
      },
    },
    {
      name: 'an object of four fields',
      role: 'ours',
      note: 'bytes, with its place in an array',
      run: async () => {
        const before = await bytesInUse();
        const kept = Array.from({ length: OBJECTS }, (_, at) => ({ a: at, b: at, c: at, d: at }));
        const after = await bytesInUse();
        return { value: (after - before) / OBJECTS, more: { kept: kept.length } };
      },
    },
    {
      name: 'a block of 80 ms',
      role: 'ours',
      note: 'longest block of the event loop, in ms',
      run: async () => {
        const { longestBlockMs } = await strainOf(async () => spin(BLOCK_MS));
        return { value: longestBlockMs };
      },
    },
  ],
  judge: (medians) => {
    const of = (name: string) => medians.get(name)?.value ?? Number.NaN;
    return [
      near('a call of 10 µs', of('a call of 10 µs'), SPIN_US * 1000, 'ns', 0.1),
      near('an object', of('an object of four fields'), OBJECT_BYTES, 'B', 0.1),
      near('a block', of('a block of 80 ms'), BLOCK_MS, 'ms', 0.1),
    ];
  },
};
