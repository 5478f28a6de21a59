import fc from 'fast-check';
import { Player } from './play.ts';
import type { TestPolicy } from './policies.ts';
import type { Step } from './steps.ts';
import { World } from './world.ts';

const LAST_LOOKS = 150;

/** When and how the dispatcher is closed. */
export interface Closing {
  readonly drain: boolean;
  readonly within: number;
  /** After so many steps; beyond the last: once everything has come to rest by itself. */
  readonly after: number;
}

export const closings: fc.Arbitrary<Closing> = fc.record({
  drain: fc.boolean(),
  within: fc.constantFrom(0, 1_000, 60_000),
  after: fc.integer({ min: 0, max: 200 }),
});

/** Whatever still runs or waits comes to its end: by itself, then by closing. */
async function end(world: World, closing: Closing): Promise<void> {
  await world.advance(1);
  for (let i = 0; i < LAST_LOOKS; i++) {
    for (const call of world.calls) call.finish?.({ how: 'value' });
    await world.settle();
    const nextMs = world.clock.nextTimerInMs;
    const isOver = world.calls.every((call) => call.state === 'over' || (call.state === 'waiting' && call.isAnswered));
    if (nextMs === undefined || isOver) break;
    await world.advance(nextMs, 1);
  }
  await close(world, { ...closing, drain: false });
  for (const call of world.calls) call.finish?.({ how: 'value' });
  await world.advance(60_001, 1);
  for (const call of world.calls) call.finish?.({ how: 'value' });
  await world.settle();
  atRest(world);
}

async function close(world: World, { drain, within }: Closing): Promise<void> {
  if (world.isClosing) return;
  world.isClosing = true;
  void world.dispatcher.close({ drain, within }).then(() => {
    world.isClosed = true;
    if (world.clock.pendingTimers > 0) world.fault(`closed, and ${world.clock.pendingTimers} timers are left`);
  });
  await world.settle();
}

function atRest(world: World): void {
  const { record, clock, calls } = world;
  for (const call of calls) {
    if (!call.isAnswered) world.fault(`call ${call.id} was never answered`);
    if (call.runs === 0 && call.error === undefined) world.fault(`call ${call.id} had an answer without running`);
  }
  if (!world.isClosed) world.fault('it never closed');
  if (record.ends.length !== calls.length) world.fault(`${calls.length} calls, ${record.ends.length} ends`);
  if (clock.pendingTimers !== 0) world.fault(`${clock.pendingTimers} timers are left`);
  if (world.listeners !== 0) world.fault(`${world.listeners} listeners are left on signals`);
  const one = world.dispatcher.snapshot().downstreams[0];
  if (one !== undefined && (one.queued > 0 || one.running > 0 || one.overdue > 0 || one.orphaned > 0))
    world.fault(`${one.queued} queued, ${one.running} running, ${one.orphaned} orphaned at rest`);
}

/** Plays a schedule to its very end, or to its first fault. */
export async function play(plans: readonly TestPolicy[], schedule: readonly Step[], closing: Closing): Promise<World> {
  const world = new World(plans[0]!);
  const player = new Player(world, plans);
  for (const [i, step] of schedule.entries()) {
    if (i === closing.after) await close(world, closing);
    await player.step(step);
    if (world.faults.length > 0) return world;
  }
  await end(world, closing);
  return world;
}
