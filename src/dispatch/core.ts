import type { Gate } from '../model/gate.ts';
import type { Entering } from './entering.ts';
import type { Heard } from './heard.ts';
import type { Incidents } from './incidents.ts';
import type { Line } from './line.ts';
import type { LanePorts } from './ports.ts';
import type { Running } from './running.ts';
import type { Tally } from './tally.ts';

/** The parts that every piece of a lane works on. */
export interface LaneCore {
  /** The downstream's name, whatever the account. */
  readonly name: string;
  readonly ports: LanePorts;
  readonly gate: Gate;
  readonly line: Line;
  readonly entering: Entering;
  readonly running: Running;
  readonly tally: Tally;
  readonly incidents: Incidents;
  readonly heard: Heard;
  /** The last reading of the clock. */
  readonly lastNow: number;
  /** Reads the clock. */
  readonly readNow: () => number;
}

/** Places that are free, Infinity where none are counted. */
export function freePlaces(core: LaneCore): number {
  const { maxConcurrent } = core.gate.plan;
  if (maxConcurrent === undefined) return Number.POSITIVE_INFINITY;
  return maxConcurrent - core.running.places - core.entering.places;
}
