import { durationMs } from './base/duration.ts';
import type { Composition } from './composition.ts';
import type { ClosingReport } from './contract.ts';
import type { Lane } from './dispatch/lane.ts';
import { closed } from './dispatch/refusals.ts';

const WITHIN_MS = 10_000;
/** A refusal that was handed out passes through so many promises at most before its caller hears of it. */
const MICROTASKS = 8;

/** Closes every lane, waits for what still runs, and reports; bounded by `within`. */
export async function closeAll(
  composition: Composition,
  options: { readonly drain?: boolean | undefined; readonly within?: number | string | undefined },
): Promise<ClosingReport> {
  const { clock, registry, desk, telemetry } = composition;
  const within = options.within === undefined ? WITHIN_MS : durationMs(options.within);
  const from = clock.now();
  // Those of downstreams that are gone are let go of when they come to rest; they count all the same.
  const lanes = [...composition.lanes()];
  const before = count(lanes);
  composition.isClosed = true;
  const refusal = closed('dispatcher');
  for (const downstream of [...registry.everyDownstream()]) downstream.shut(refusal, options.drain !== true);
  // Calls that settle late must not take the time of the alerts that wait already.
  if (within > 0) void desk.flush();
  await atRest(composition, within);
  // Not a timer: a close must come to its end on a clock that stands still.
  for (let n = 0; n < MICROTASKS; n++) await undefined;
  for (const lane of lanes) lane.shut(refusal, true, true);
  const after = count(lanes);
  for (const lane of lanes) lane.dispose();
  // Very many take their time to leave; none of them starts any more.
  let leaving = composition.slices.letGo;
  for (const { line } of lanes) leaving += line.length;
  await desk.close(Math.max(0, within - (clock.now() - from)));
  composition.watching.watcher?.stop();
  telemetry.close();
  return {
    settled: after.settled - before.settled,
    refused: after.refused - before.refused + leaving,
    abandoned: after.running,
    alertsDropped: { ...desk.dropped },
    tookMs: clock.now() - from,
  };
}

/** Resolves when nothing waits or runs any more and every caller that was refused has been told, or when the time is up. */
function atRest(composition: Composition, within: number): Promise<void> {
  const isAtRest = (): boolean => {
    for (const lane of composition.lanes()) if (!lane.isAtRest) return false;
    // Left their lines long ago; whoever ends the process after the close would never let them hear of it.
    return composition.slices.isIdle;
  };
  if (isAtRest() || within === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const cancel = composition.clock.setTimer(Math.max(within, 1), resolve);
    composition.onRest = () => {
      if (!isAtRest()) return;
      cancel();
      resolve();
    };
  });
}

function count(lanes: readonly Lane[]): { settled: number; refused: number; running: number } {
  const sums = { settled: 0, refused: 0, running: 0 };
  for (const { tally, running } of lanes) {
    sums.refused += tally.refused.get('DISPATCHER_CLOSED') ?? 0;
    sums.running += running.inFlight + running.orphaned;
    for (const settled of Object.values(tally.settled)) sums.settled += settled;
  }
  return sums;
}
